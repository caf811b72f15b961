// gather: row i of dst = row index[i] of x, of any type; −1 leaves it. Rows are units of
// 1, 4 or 16 bytes. Reads and writes a row each.
//
// scatter_add: row i of x is added to row index[i] of dst, in row order; −1 skips. With
// acc 0 the rows that are hit start from zero. A block has a row i. If an earlier row has
// the same index it leaves; otherwise it adds up all rows from i on that have it, so
// that every sum is in row order and has one writer. Reads every row of x once, and the
// indices n times. Reference: ../cpu/gather.go
#include "hg.h"

template <class T> HG_DEVICE void gather(T *dst, i64 ldd, const T *x, i64 ldx, const int *index, i64 n, i64 width, i64 rows) {
  for (i64 i = hg_index(); i < n * width; i += hg_stride()) {
    i64 r = i / width, c = i - r * width, k = index[r];
    if (k >= 0 && k < rows) dst[r * ldd + c] = x[k * ldx + c];
  }
}

HG_KERNEL(256, gather_1, u8 *dst, i64 ldd, const u8 *x, i64 ldx, const int *index, i64 n, i64 width, i64 rows) {
  gather(dst, ldd, x, ldx, index, n, width, rows);
}
HG_KERNEL(256, gather_4, u32 *dst, i64 ldd, const u32 *x, i64 ldx, const int *index, i64 n, i64 width, i64 rows) {
  gather(dst, ldd, x, ldx, index, n, width, rows);
}
HG_KERNEL(256, gather_16, f4 *dst, i64 ldd, const f4 *x, i64 ldx, const int *index, i64 n, i64 width, i64 rows) {
  gather(dst, ldd, x, ldx, index, n, width, rows);
}

HG_KERNEL(256, scatter_add_f32, float *dst, i64 ldd, const float *x, i64 ldx, const int *index, i64 n, i64 width,
          i64 rows, float acc) {
  HG_SHARED(int, earlier, [1]);
  i64 i = blockIdx.x;
  int k = index[i];
  if (k < 0 || k >= rows) return;
  if (threadIdx.x == 0) earlier[0] = 0;
  __syncthreads();
  for (i64 j = threadIdx.x; j < i; j += blockDim.x)
    if (index[j] == k) atomicOr(earlier, 1);
  __syncthreads();
  if (earlier[0]) return;
  dst += k * ldd;
  for (i64 c = threadIdx.x; c < width; c += blockDim.x) {
    float sum = acc != 0.f ? dst[c] : 0.f;
    for (i64 j = i; j < n; j++)
      if (index[j] == k) sum += x[j * ldx + c];
    dst[c] = sum;
  }
}
