// sums: dst = acc·dst + Σ of x, or of its squares: all of it, each row, or each column.
// Rows of a width and stride; sums in double, or as accurate. Reads x once. Reference: ../reference/sums.go
#include "columns.h"
#include "typed.h"

HG_DEVICE double term(float v, int squares) { return squares ? (double)v * v : (double)v; }

// sums_all adds up pieces of 16,384 elements, a block each.
HG_KERNELS(256, sums_all, (double *parts, const T *x, i64 ld, i64 rows, i64 width, int squares),
           (parts, x, ld, rows, width, squares)) {
  HG_SHARED(double, room, [32]);
  i64 begin = (i64)blockIdx.x * 16384, end = hg_least(rows * width, begin + 16384);
  double sum = 0;
  for (i64 i = begin + threadIdx.x; i < end; i += 256) {
    i64 r = rows == 1 ? 0 : i / width;
    sum += term(x[r * ld + i - r * width], squares);
  }
  sum = hg_block_sum(sum, room);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

// sums_rows gives a row to each warp.
HG_KERNELS(256, sums_rows, (float *dst, float acc, const T *x, i64 ld, i64 rows, i64 width, int squares),
           (dst, acc, x, ld, rows, width, squares)) {
  i64 r = (i64)blockIdx.x * 8 + hg_warp();
  if (r >= rows) return;
  double sum = 0;
  for (i64 c = hg_lane(); c < width; c += 32) sum += term(x[r * ld + c], squares);
  sum = hg_warp_sum(sum);
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
    for (int e = 0; e < E; e++) {
      if (squares)
        sums[0][e].add_product(v[e], v[e]);
      else
        sums[0][e].add(v[e]);
    }
  };
  hg_put_sums<1> put = {parts, width};
  if (lanes)
    hg_columns<1, 16 / sizeof(T)>(rows, width, lanes, room, add, put);
  else
    hg_columns<1, 1>(rows, width, 32, room, add, put);
}
