// A launch: the blocks of a kernel, run one after the other.
#pragma once

#include "emu.h"
#include "fiber.h"

#include <memory>
#include <string>
#include <vector>

namespace hg_emu {

// Launch is a call of cuLaunchKernel with a copy of the arguments.
struct Launch {
  const Kernel *kernel;
  Dim blocks, threads;
  u32 shared;       // bytes of dynamic shared memory
  u32 shared_limit; // of static and dynamic together
  std::unique_ptr<u8[]> storage;
  std::vector<void *> arguments; // into storage
};

// Failure is why a kernel ended: a code of CUDA and a text with the kernel, the
// block and the thread.
struct Failure {
  int code = 0;
  std::string text;
};

// launch_run runs all blocks of a kernel, or those up to the first failure.
Failure launch_run(Launch &launch);

// launch_in_kernel reports whether a kernel's code is running now.
bool launch_in_kernel();

// launch_fail ends the kernel that is running and does not return. The text is put
// behind the names of kernel, block and thread.
[[noreturn]] void launch_fail(int code, const std::string &text);

// ---- between the files of a launch

enum State : u8 { fresh, ready, running, at_barrier, at_vote, done };

const int most_threads = 1024;

// Warp is what the lanes of one have brought to their votes.
struct Warp {
  u32 waiting; // lanes at a vote
  u32 absent;  // lanes that have exited, or lie past the block's end
  u32 ballot;  // lanes whose value is not 0
  int ready;   // lanes in state ready

  // The vote that lanes came to first while none waited, and the lanes at it.
  u32 mask, arrived;
  Vote vote;

  u64 value[32], result[32]; // brought by each lane, and found by it
  u8 source[32];             // the lane whose value it is to find
  u32 masks[32];             // the mask and the vote that each gave
  u8 votes[32];
};

const int most_warps = most_threads / 32;

// Block is the one that is running. place.number is its running thread.
struct Block {
  Launch *launch;
  int count;         // threads
  int ready_count;   // in state ready
  int barrier_count; // in state at_barrier
  int done_count;
  State state[most_threads];
  Fiber fiber[most_threads];
  Warp warp[most_warps];
};
extern Block block;

// wait_now leaves the running thread in a state until someone makes it ready.
void wait_now(State state);

// make_ready lets lanes of a warp run again.
inline void make_ready(int warp, u32 lanes) {
  State *state = block.state + warp * 32;
  int n = __builtin_popcount(lanes);
  for (u32 left = lanes; left != 0; left &= left - 1) state[__builtin_ctz(left)] = ready;
  block.ready_count += n;
  block.warp[warp].ready += n;
}

// copies_begin forgets the asynchronous copies of the last block.
void copies_begin(int threads);

// divergence describes the threads of a block none of which can run.
std::string divergence();

// ---- shared memory

// shared_begin makes room for a launch; shared_poison fills what it uses with NaN
// before each block; shared_check finds bytes written between declarations.
void shared_begin(u32 dynamic_bytes, u32 limit);
void shared_poison();
std::string shared_check();

// shared_guards reports whether an address lies in the guard pages of shared memory.
bool shared_guards(const void *address);

// shared_holds reports whether the bytes lie in the running block's shared memory.
bool shared_holds(const void *address, u32 bytes);

} // namespace hg_emu
