#include "launch.h"
#include "codes.h"
#include "count.h"
#include "options.h"
#include "race.h"

#include <cstdio>
#include <numeric>

namespace hg_emu {

Place place;
u64 launch_number;
Kernel *kernels;
Block block;

static Fiber caller; // of launch_run
static Failure failure;
static bool in_kernel;

static Dim coordinates[most_threads]; // of each thread of the block
static int turns[most_threads];       // threads in the order in which they run
static int turn;                      // next in turns

// A group of turns is a warp, which goes on until no lane of it can: its stacks then
// stay in the nearest cache. In shuffled order the group is the whole block.
static int group_ends[most_warps];
static int group, group_start;

bool launch_in_kernel() { return in_kernel; }

static inline void set_current(int thread) {
  place.number = (u32)thread;
  block.state[thread] = running;
  place.thread = coordinates[thread];
}

// pick returns the next thread in turn that can run, or −1 at the end of the pass.
static inline int pick() {
  for (;;) {
    if (turn == group_ends[group]) {
      if (order != order_shuffled && block.warp[turns[group_start] / 32].ready > 0) {
        turn = group_start;
      } else if (turn == block.count) {
        return -1;
      } else {
        group++;
        group_start = turn;
      }
    }
    int t = turns[turn++];
    if (block.state[t] <= ready) return t;
  }
}

static void begin_pass() { turn = group = group_start = 0; }

// form_groups fills group_ends for the order.
static void form_groups() {
  int n = 0;
  for (int i = 1; i <= block.count; i++)
    if (i == block.count || (order != order_shuffled && turns[i] / 32 != turns[i - 1] / 32)) group_ends[n++] = i;
}

static void runner();

// resume is the fiber that continues a thread; −1 stands for launch_run. A fresh
// thread gets a stack.
static inline const Fiber &resume(int thread) {
  if (thread < 0) return caller;
  if (block.state[thread] == fresh) {
    fiber_start(block.fiber[thread], stack_take(), runner);
  } else {
    block.ready_count--;
    block.warp[thread / 32].ready--;
  }
  set_current(thread);
  return block.fiber[thread];
}

// runner is the entry of a stack. It runs fresh threads one after the other, so a
// thread that never waits costs a function call. A thread that waits keeps the stack.
static void runner() {
  fiber_entered();
  Stack *own = block.fiber[place.number].stack;
  for (;;) {
    stack_reuse(own);
    block.launch->kernel->call(block.launch->kernel->function, block.launch->arguments.data());
    block.state[place.number] = done;
    block.done_count++;
    block.warp[place.number / 32].absent |= 1u << lane();
    int next = pick();
    if (next >= 0 && block.state[next] == fresh) {
      set_current(next);
      block.fiber[next].stack = own;
      continue;
    }
    stack_free(own);
    Fiber ended = {nullptr, own};
    fiber_switch(ended, resume(next));
  }
}

void wait_now(State state) {
  u32 own = place.number;
  block.state[own] = state;
  fiber_switch(block.fiber[own], resume(pick()));
}

void barrier() {
  block.barrier_count++;
  wait_now(at_barrier);
}

void launch_fail(int code, const std::string &text) {
  char where[256];
  const Dim &b = place.block, &t = place.thread;
  snprintf(where, sizeof where, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u): ", block.launch->kernel->name, b.x,
           b.y, b.z, t.x, t.y, t.z);
  failure = {code, where + text};
  Fiber abandoned = block.fiber[place.number];
  fiber_switch(abandoned, caller);
  __builtin_unreachable();
}

// fail_block is launch_fail for what no single thread did.
static void fail_block(int code, const std::string &text) {
  char where[256];
  const Dim &b = place.block;
  snprintf(where, sizeof where, "kernel %s, block (%u,%u,%u): ", block.launch->kernel->name, b.x, b.y, b.z);
  failure = {code, where + text};
}

static void shuffle_turns() {
  for (int i = block.count - 1; i > 0; i--) std::swap(turns[i], turns[random_below(i + 1)]);
}

// open_barrier lets all threads of the block go on where all have arrived.
static bool open_barrier() {
  if (block.barrier_count != block.count) return false;
  block.barrier_count = 0;
  race_barrier();
  if (counting) count_barrier();
  for (int w = 0; w * 32 < block.count; w++) make_ready(w, ~block.warp[w].absent);
  return true;
}

static void run_block() {
  for (int i = 0; i < block.count; i++) block.state[i] = fresh;
  for (int w = 0; w * 32 < block.count; w++) {
    int lanes = block.count - w * 32;
    Warp &warp = block.warp[w];
    warp.waiting = warp.ballot = warp.arrived = 0;
    warp.ready = 0;
    warp.absent = lanes < 32 ? ~0u << lanes : 0;
  }
  block.ready_count = block.barrier_count = block.done_count = 0;
  shared_poison();
  copies_begin(block.count);
  race_begin_block();
  do {
    if (order == order_shuffled) shuffle_turns();
    begin_pass();
    int first = pick();
    in_kernel = true;
    if (first >= 0) fiber_switch(caller, resume(first));
    in_kernel = false;
    if (failure.code != 0) return;
  } while (block.ready_count > 0 || open_barrier());
  if (block.done_count < block.count) return fail_block(error_launch_failed, divergence());
  if (counting) count_end();
  std::string overrun = shared_check();
  if (!overrun.empty()) fail_block(error_illegal_address, overrun);
}

// free_waiting gives back the stacks of threads that a failure left waiting.
static void free_waiting(Stack *current) {
  for (int i = 0; i < block.count; i++)
    if (block.state[i] == ready || block.state[i] == at_barrier || block.state[i] == at_vote)
      stack_free(block.fiber[i].stack);
  if (current) stack_free(current);
}

static void begin(Launch &launch) {
  failure = {};
  launch_number++;
  block.launch = &launch;
  Dim n = launch.threads;
  block.count = (int)(n.x * n.y * n.z);
  place.threads = n;
  place.blocks = launch.blocks;
  for (int i = 0; i < block.count; i++) {
    coordinates[i] = {i % n.x, i / n.x % n.y, i / (n.x * n.y)};
    turns[i] = order == order_reversed ? block.count - 1 - i : i;
  }
  form_groups();
  shared_begin(launch.shared, launch.shared_limit);
  race_begin_launch();
}

Failure launch_run(Launch &launch) {
  begin(launch);
  Dim n = launch.blocks;
  u64 total = (u64)n.x * n.y * n.z;
  // Shuffled blocks are visited at first + i·step modulo their number.
  u64 first = 0, step = 1;
  if (order == order_reversed) first = total - 1, step = total - 1;
  if (order == order_shuffled) {
    first = random_below((u32)(total < 0xffffffffu ? total : 0xffffffffu));
    do step = random_below(0xffffffffu) % total + 1;
    while (std::gcd(step, total) != 1);
  }
  u64 at = first;
  for (u64 i = 0; i < total; i++) {
    place.block = {(u32)(at % n.x), (u32)(at / n.x % n.y), (u32)(at / n.x / n.y)};
    run_block();
    if (failure.code != 0) {
      bool inside = block.state[place.number] == running;
      free_waiting(inside ? block.fiber[place.number].stack : nullptr);
      break;
    }
    at = (at + step) % total;
  }
  return failure;
}

} // namespace hg_emu
