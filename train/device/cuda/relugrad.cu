// relugrad: the epilogue of a gradient in memory: dx = dy + add where y is positive, else 0, its
// column sums (columns.h), and with x those of dx·(x − mean). x is [rows, c]; dx may be dy or
// add, and may be null where only the sums are wanted; add, y and x may be null. Reads each array
// once. Reference: ../cpu/relugrad.go
#include "columns.h"
#include "map.h"

HG_KERNELS(256, relugrad, (T *dx, const T *dy, const T *y, i64 n), (dx, dy, y, n)) {
  const T *const in[] = {dy, y};
  const i64 ld[] = {n, n};
  hg_map(dx, n, in, ld, 1, n, [](const float(&v)[2]) { return v[1] > 0.f ? v[0] : 0.f; });
}

HG_KERNELS(256, relugrad_add, (T *dx, const T *dy, const T *add, const T *y, i64 n), (dx, dy, add, y, n)) {
  const T *const in[] = {dy, add, y ? y : dy};
  const i64 ld[] = {n, n, n};
  hg_map(dx, n, in, ld, 1, n, [=](const float(&v)[3]) { return !y || v[2] > 0.f ? v[0] + v[1] : 0.f; });
}

// ended is the element at i of the result, as it is stored.
template <class T> HG_DEVICE float ended(T *dx, const T *dy, const T *add, const T *y, i64 i) {
  float v = add ? dy[i] + add[i] : (float)dy[i];
  if (y && !(y[i] > 0.f)) v = 0.f;
  T stored;
  stored = v;
  if (dx) dx[i] = stored;
  return stored;
}

HG_KERNELS(256, relugrad_sums, (double *parts, T *dx, const T *dy, const T *add, const T *y, i64 rows, i64 c),
           (parts, dx, dy, add, y, rows, c)) {
  HG_SHARED(double, room, [8 * 32]);
  hg_columns<1>(parts, rows, c, room,
                [=](i64 r, i64 j, double(&sum)[1]) { sum[0] += ended(dx, dy, add, y, r * c + j); });
}

HG_KERNELS(256, relugrad_along,
           (double *parts, T *dx, const T *dy, const T *add, const T *y, const T *x, const float *mean, i64 rows, i64 c),
           (parts, dx, dy, add, y, x, mean, rows, c)) {
  HG_SHARED(double, room, [2 * 8 * 32]);
  hg_columns<2>(parts, rows, c, room, [=](i64 r, i64 j, double(&sum)[2]) {
    double v = ended(dx, dy, add, y, r * c + j);
    sum[0] += v;
    sum[1] = fma(v, (double)x[r * c + j] - mean[j], sum[1]);
  });
}
