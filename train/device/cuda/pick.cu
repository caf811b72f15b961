// pick: index[q,0…] = the first most items of row q with 1 ≤ sh ≤ top, in row order, and number[q] how
// many there are. sh U8 [Q,G], index I32 [Q,most] without gaps, number I32 [Q]. A block takes a
// query and goes over it in tiles of 4,096. Reads Q·G bytes, writes 4 a positive.
#include "scan.h"

HG_KERNEL(256, pick_positives, int *index, int *number, const u8 *sh, i64 items, i64 lds, int top,
          i64 most) {
  HG_SHARED(u32, room, [257]);
  i64 q = blockIdx.x;
  const u8 *levels = sh + q * lds;
  int *out = index + q * most;
  u32 found = 0;
  for (i64 tile = 0; tile < items; tile += 4096) {
    i64 first = tile + 16 * threadIdx.x;
    u32 mask = 0;
#pragma unroll
    for (int j = 0; j < 16; j++) {
      int l = first + j < items ? levels[first + j] : 0;
      if (l >= 1 && l <= top) mask |= 1u << j;
    }
    u32 total, at = found + block_scan((u32)__popc(mask), room, &total);
    for (; mask && at < most; mask &= mask - 1) out[at++] = (int)(first + __ffs(mask) - 1);
    found += total;
  }
  if (threadIdx.x == 0) number[q] = (int)found;
}
