// columns.h: sums down the columns of a matrix, in an order that its shape decides.
// A block takes 32 columns and a span of rows; warp w of 8 takes rows w, w + 8, … of
// the span, and the warps' sums are added in their order. The sums of all spans are
// added in order by join.cu.
#pragma once
#include "hg.h"

#define HG_SPAN 256 // rows of a block

// hg_columns calls add(row, column, sums) for each element of the block's part and
// writes the M sums of column c and span s to parts[(s·M + m)·width + c]. The grid is
// one-dimensional: blocks of one span follow each other. room is [8][32·M].
template <int M, class F> HG_DEVICE void hg_columns(double *parts, i64 rows, i64 width, double *room, F add) {
  i64 across = (width + 31) / 32, span = blockIdx.x / across;
  i64 c = (blockIdx.x - span * across) * 32 + hg_lane(), end = hg_least(rows, (span + 1) * HG_SPAN);
  double sums[M];
#pragma unroll
  for (int m = 0; m < M; m++) sums[m] = 0;
  if (c < width)
    for (i64 r = span * HG_SPAN + hg_warp(); r < end; r += 8) add(r, c, sums);
#pragma unroll
  for (int m = 0; m < M; m++) room[(hg_warp() * M + m) * 32 + hg_lane()] = sums[m];
  __syncthreads();
  if (hg_warp() == 0 && c < width)
#pragma unroll
    for (int m = 0; m < M; m++) {
      double sum = 0;
      for (int w = 0; w < 8; w++) sum += room[(w * M + m) * 32 + hg_lane()];
      parts[(span * M + m) * width + c] = sum;
    }
}
