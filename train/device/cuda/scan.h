// scan.h: prefix sums of integers over a block of 256 threads.
#pragma once
#include "hg.h"

// block_scan returns the sum of v over the threads before this one, and in total the
// sum over all. Every thread of a block of 256 calls it. room holds 257 elements of
// shared memory; calls may follow one another without a barrier between them.
HG_DEVICE u32 block_scan(u32 v, u32 *room, u32 *total) {
  int t = threadIdx.x;
  room[t] = v;
  __syncthreads();
  if (t < 32) { // each lane has 8 of them
    u32 sum = 0;
    for (int i = 0; i < 8; i++) sum += room[8 * t + i];
    u32 upTo = sum;
    for (int d = 1; d < 32; d <<= 1) {
      u32 before = __shfl_up_sync(HG_FULL, upTo, d);
      if (t >= d) upTo += before;
    }
    u32 at = upTo - sum;
    for (int i = 0; i < 8; i++) {
      u32 n = room[8 * t + i];
      room[8 * t + i] = at;
      at += n;
    }
    if (t == 31) room[256] = at;
  }
  __syncthreads();
  *total = room[256];
  return room[t];
}
