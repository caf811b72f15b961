// sums: dst = acc·dst + Σ of x, or of its squares: all of it, each row, or each column.
// Rows of a width and stride; sums in double, or as accurate. Reads x once. Reference: ../reference/sums.go
#include "columns.h"
#include "typed.h"

HG_DEVICE void add(hg_floatsum &sum, float v, int squares) {
  if (squares)
    sum.add_product(v, v);
  else
    sum.add(v);
}

// sums_all adds up pieces of 16,384 elements, a block each. wide: 16 bytes can be read at once, of one
// row.
HG_KERNELS(256, sums_all, (double *parts, const T *x, i64 ld, i64 rows, i64 width, int squares, int wide),
           (parts, x, ld, rows, width, squares, wide)) {
  HG_SHARED(double, room, [32]);
  constexpr int E = 16 / sizeof(T);
  i64 begin = (i64)blockIdx.x * 16384, end = hg_least(rows * width, begin + 16384), runs = wide ? (end - begin) / E * E : 0;
  hg_floatsum sum = {};
  for (i64 i = begin + threadIdx.x * E; i < begin + runs; i += 256 * E) {
    float v[E];
    hg_take<E>(x + i, v);
#pragma unroll
    for (int e = 0; e < E; e++) add(sum, v[e], squares);
  }
  for (i64 i = begin + runs + threadIdx.x; i < end; i += 256) {
    i64 r = rows == 1 ? 0 : i / width;
    add(sum, x[r * ld + i - r * width], squares);
  }
  double all = hg_block_sum(sum.value(), room);
  if (threadIdx.x == 0) parts[blockIdx.x] = all;
}

// sums_rows gives a row to each warp.
HG_KERNELS(256, sums_rows, (float *dst, float acc, const T *x, i64 ld, i64 rows, i64 width, int squares),
           (dst, acc, x, ld, rows, width, squares)) {
  i64 r = (i64)blockIdx.x * 8 + hg_warp();
  if (r >= rows) return;
  hg_floatsum all = {};
  for (i64 c = hg_lane(); c < width; c += 32) add(all, x[r * ld + c], squares);
  double sum = hg_warp_sum(all).value();
  if (hg_lane() == 0) dst[r] = (float)(acc != 0.f ? (double)acc * dst[r] + sum : sum);
}

// lanes is 0 where 16 bytes of a row cannot be read at once.
HG_KERNELS(256, sums_columns, (double *parts, const T *x, i64 ld, i64 rows, i64 width, int squares, int lanes),
           (parts, x, ld, rows, width, squares, lanes)) {
  HG_SHARED(double, room, HG_ROOM(T));
  auto add = [=](i64 r, i64 c, auto &sums) {
    constexpr int E = sizeof(sums[0]) / sizeof(sums[0][0]);
    float v[E];
    hg_take<E>(x + r * ld + c, v);
#pragma unroll
    for (int e = 0; e < E; e++) ::add(sums[0][e], v[e], squares);
  };
  hg_put_sums<1> put = {parts, width};
  if (lanes)
    hg_columns<1, 16 / sizeof(T)>(rows, width, lanes, room, add, put);
  else
    hg_columns<1, 1>(rows, width, 32, room, add, put);
}
