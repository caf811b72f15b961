// What the lanes of a warp do together.
#include "codes.h"
#include "launch.h"

#include <cstdio>

namespace hg_emu {

static const char *const vote_names[] = {"__syncwarp",      "a vote (__ballot_sync)", "__shfl_sync",
                                         "__shfl_xor_sync", "__shfl_down_sync",       "__shfl_up_sync"};

// refuse ends the kernel with what its warp operation did wrong.
[[noreturn]] static void refuse(Vote vote, const char *format, u32 a, u32 b) {
  char text[256];
  snprintf(text, sizeof text, format, a, b);
  launch_fail(error_launch_failed, std::string(vote_names[vote]) + ": " + text);
}

// check_mask ends the kernel where its mask names lanes that can never come.
static void check_mask(u32 mask, int first, u32 own, Vote vote) {
  u32 absent = mask & block.absent[first / 32];
  if ((mask >> own & 1) && !absent) return;
  if (!(mask >> own & 1)) refuse(vote, "lane %u is not in its mask 0x%08x", own, mask);
  u32 lane = (u32)__builtin_ctz(absent);
  if (first + (int)lane < block.count) refuse(vote, "mask 0x%08x names lane %u, which has exited", mask, lane);
  refuse(vote, "mask 0x%08x names lane %u, which lies past the end of the block", mask, lane);
}

// complete reports whether all lanes of the mask wait for this vote.
static bool complete(u32 mask, int first, Vote vote) {
  for (u32 left = mask; left != 0; left &= left - 1) {
    const Thread &t = block.thread[first + __builtin_ctz(left)];
    if (t.mask != mask || t.vote != vote) return false;
  }
  return true;
}

// settle gives every lane of the mask its result.
static void settle(u32 mask, int first, Vote vote) {
  u32 ballot = 0;
  for (u32 left = mask; left != 0; left &= left - 1) {
    int i = __builtin_ctz(left);
    if (block.thread[first + i].value != 0) ballot |= 1u << i;
  }
  for (u32 left = mask; left != 0; left &= left - 1) {
    int i = __builtin_ctz(left);
    Thread &t = block.thread[first + i];
    if (vote <= vote_ballot) {
      t.result = ballot;
    } else if (mask >> t.source & 1) {
      t.result = block.thread[first + t.source].value;
    } else {
      refuse(vote, "lane %u reads lane %u, which its mask does not name", i, t.source);
    }
  }
}

u64 warp(u32 mask, Vote vote, u64 value, u32 source) {
  u32 own = lane();
  int first = block.current - (int)own;
  u32 &waiting = block.waiting[first / 32];
  check_mask(mask, first, own, vote);
  Thread &t = block.thread[block.current];
  t.value = value;
  t.mask = mask;
  t.source = (u8)source;
  t.vote = (u8)vote;
  waiting |= 1u << own;
  if ((waiting & mask) != mask || !complete(mask, first, vote)) {
    wait_now(at_vote);
    return t.result;
  }
  settle(mask, first, vote);
  waiting &= ~mask;
  for (u32 left = mask & ~(1u << own); left != 0; left &= left - 1) make_ready(first + __builtin_ctz(left));
  return t.result;
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
    const Thread &t = block.thread[example];
    snprintf(text, sizeof text, "; thread %d waits at %s for the lanes of mask 0x%08x", example, vote_names[t.vote],
             t.mask);
    all += text;
  }
  return all;
}

} // namespace hg_emu
