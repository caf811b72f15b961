// scan.h: prefix sums of integers over a block.
#pragma once
#include "hg.h"

// block_scan returns the sum of v over the threads before this one, and in total the
// sum over all. Every thread of a block of whole warps calls it. room holds an element a
// thread and one more of shared memory; calls may follow one another without a barrier
// between them.
HG_DEVICE u32 block_scan(u32 v, u32 *room, u32 *total) {
  int t = threadIdx.x, threads = blockDim.x, each = threads / 32;
  room[t] = v;
  __syncthreads();
  if (t < 32) { // the lanes of one warp share them out
    u32 sum = 0;
    for (int i = 0; i < each; i++) sum += room[each * t + i];
    u32 upTo = sum;
    for (int d = 1; d < 32; d <<= 1) {
      u32 before = __shfl_up_sync(HG_FULL, upTo, d);
      if (t >= d) upTo += before;
    }
    u32 at = upTo - sum;
    for (int i = 0; i < each; i++) {
      u32 n = room[each * t + i];
      room[each * t + i] = at;
      at += n;
    }
    if (t == 31) room[threads] = at;
  }
  __syncthreads();
  *total = room[threads];
  return room[t];
}
