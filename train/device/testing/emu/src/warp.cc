// What the lanes of a warp do together.
#include "codes.h"
#include "count.h"
#include "launch.h"
#include "race.h"
#include "tensorcore.h"

#include <cstdio>

namespace hg_emu {

static const char *const vote_names[] = {"__syncwarp",      "a vote (__ballot_sync)", "__shfl_sync",
                                         "__shfl_xor_sync", "__shfl_down_sync",       "__shfl_up_sync",
                                         "mma.sync",        "ldmatrix.sync"};

// refuse ends the kernel with what its warp operation did wrong.
[[noreturn]] static void refuse(Vote vote, const char *format, u32 a, u32 b) {
  char text[256];
  snprintf(text, sizeof text, format, a, b);
  launch_fail(error_launch_failed, std::string(vote_names[vote]) + ": " + text);
}

// refuse_mask ends the kernel where its mask names lanes that can never come.
[[noreturn]] static void refuse_mask(const Warp &w, u32 mask, u32 own, Vote vote) {
  u32 absent = mask & w.absent;
  if (!(mask >> own & 1)) refuse(vote, "lane %u is not in its mask 0x%08x", own, mask);
  u32 lane = (u32)__builtin_ctz(absent);
  if ((place.number & ~31u) + lane < (u32)block.count)
    refuse(vote, "mask 0x%08x names lane %u, which has exited", mask, lane);
  refuse(vote, "mask 0x%08x names lane %u, which lies past the end of the block", mask, lane);
}

// complete reports whether all lanes of the mask wait for this vote; complete_apart
// does where lanes of the warp came to several.
static __attribute__((noinline)) bool complete_apart(const Warp &w, u32 mask, Vote vote) {
  for (u32 left = mask; left != 0; left &= left - 1) {
    int i = __builtin_ctz(left);
    if (w.masks[i] != mask || w.votes[i] != vote) return false;
  }
  return true;
}

static inline bool complete(const Warp &w, u32 mask, Vote vote) {
  if ((w.waiting & mask) != mask) return false;
  return (w.mask == mask && w.vote == vote && w.arrived == mask) || complete_apart(w, mask, vote);
}

// settle gives every lane of the mask its result.
static inline void settle(Warp &w, int number, u32 mask, Vote vote) {
  if (vote == vote_sync) return;
  if (vote == vote_mma) return mma_multiply(number);
  if (vote == vote_ldmatrix) return ldmatrix_read(number);
  if (vote == vote_ballot) {
    u64 ballot = w.ballot & mask;
    for (int i = 0; i < 32; i++) w.result[i] = mask >> i & 1 ? ballot : w.result[i];
    return;
  }
  if (mask == ~0u) {
    for (int i = 0; i < 32; i++) w.result[i] = w.value[w.source[i]];
    return;
  }
  for (u32 left = mask; left != 0; left &= left - 1) {
    int i = __builtin_ctz(left);
    if (!(mask >> w.source[i] & 1)) refuse(vote, "lane %u reads lane %u, which its mask does not name", i, w.source[i]);
    w.result[i] = w.value[w.source[i]];
  }
}

// release settles a vote that is complete, and lets the other lanes go on.
static __attribute__((noinline)) void release(Warp &w, int number, u32 mask, Vote vote, u32 bit) {
  settle(w, number, mask, vote);
  if (vote == vote_sync && (mask | w.absent) == ~0u) {
    race_warp(number);
    if (counting) count_warp(number);
  }
  w.waiting &= ~mask;
  w.arrived &= ~mask;
  make_ready(number, mask & ~bit);
}

u64 warp(u32 mask, Vote vote, u64 value, u32 source) {
  u32 own = lane(), bit = 1u << own;
  int number = (int)(place.number / 32);
  Warp &w = block.warp[number];
  if (!(mask >> own & 1) || (mask & w.absent)) refuse_mask(w, mask, own, vote);
  if (w.waiting == 0) {
    w.mask = mask;
    w.vote = vote;
    w.arrived = 0;
  }
  w.value[own] = value;
  w.source[own] = (u8)source;
  w.masks[own] = mask;
  w.votes[own] = (u8)vote;
  w.ballot = value ? w.ballot | bit : w.ballot & ~bit;
  w.waiting |= bit;
  if (w.mask == mask && w.vote == vote) w.arrived |= bit;
  if (complete(w, mask, vote)) {
    release(w, number, mask, vote, bit);
  } else {
    wait_now(at_vote);
  }
  return w.result[own];
}

std::string divergence() {
  int votes = 0, example = -1;
  for (int i = 0; i < block.count; i++) {
    if (block.state[i] != at_vote) continue;
    votes++;
    if (example < 0) example = i;
  }
  char text[256];
  snprintf(text, sizeof text,
           "divergent barrier: of %d threads %d wait at __syncthreads, %d at a warp operation, %d have exited",
           block.count, block.barrier_count, votes, block.done_count);
  std::string all = text;
  if (example >= 0) {
    const Warp &w = block.warp[example / 32];
    snprintf(text, sizeof text, "; thread %d waits at %s for the lanes of mask 0x%08x", example,
             vote_names[w.votes[example % 32]], w.masks[example % 32]);
    all += text;
  }
  return all;
}

} // namespace hg_emu
