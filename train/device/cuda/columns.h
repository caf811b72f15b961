// columns.h: sums down the columns of a matrix, in an order that its shape decides.
// A block takes a span of rows of some columns, a thread E columns side by side of every
// 256/lanes-th row. The threads' sums are added in their order, and those of all spans by join.cu.
#pragma once
#include "floatsum.h"
#include "typed.h"

#define HG_SPAN 256 // rows of a block

// HG_ROOM is the shared memory of hg_columns for columns of T.
#define HG_ROOM(T) [(256 + 32) * 16 / sizeof(T)]

// hg_columns calls add(row, column, sums) for each run of E columns from column on, and then
// put(span, column, sum) for each column of the block, with its M sums. lanes, a power of 2 up to
// 32, is the number of threads side by side. The grid is one-dimensional: blocks of one span follow
// each other. room is [(256 + lanes)·E].
template <int M, int E, class F, class P>
HG_DEVICE void hg_columns(i64 rows, i64 width, int lanes, double *room, F add, P put) {
  int side = (int)threadIdx.x & (lanes - 1), down = 256 / lanes, begin = (int)threadIdx.x / lanes;
  i64 each = (i64)lanes * E, across = (width + each - 1) / each, span = blockIdx.x / across;
  i64 first = (blockIdx.x - span * across) * each, c = first + side * E, end = hg_least(rows, (span + 1) * HG_SPAN);
  hg_floatsum sums[M][E];
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int e = 0; e < E; e++) sums[m][e].begin();
  if (c < width)
    for (i64 r = span * HG_SPAN + begin; r < end; r += down) add(r, c, sums);
  // Thread t has column t/lanes of the runs of lane t % lanes. The pitch keeps a warp's threads in banks of their own.
  int pitch = 256 + lanes;
  double sum[M];
  bool has = (int)threadIdx.x < each;
  c = first + side * E + begin;
#pragma unroll
  for (int m = 0; m < M; m++) {
    if (m > 0) __syncthreads();
#pragma unroll
    for (int e = 0; e < E; e++) room[e * pitch + threadIdx.x] = sums[m][e].value();
    __syncthreads();
    sum[m] = 0;
    for (int d = 0; d < down && has; d++) sum[m] += room[begin * pitch + d * lanes + side];
  }
  if (has && c < width) put(span, c, sum);
}

// hg_put_sums writes M sums of column c and span s to parts[(s·M + m)·width + c].
template <int M> struct hg_put_sums {
  double *parts;
  i64 width;
  HG_METHOD void operator()(i64 span, i64 c, const double (&sum)[M]) const {
#pragma unroll
    for (int m = 0; m < M; m++) parts[(span * M + m) * width + c] = sum[m];
  }
};
