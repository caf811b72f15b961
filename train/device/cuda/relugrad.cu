// relugrad: dx = dy where y is positive, else 0, and the column sums of that for the
// bias in front (columns.h). x is [rows, c]; dx may be dy, and may be null where only the
// sums are wanted. Reads dy and y once. Reference: ../cpu/relugrad.go
#include "columns.h"
#include "map.h"

HG_KERNELS(256, relugrad, (T *dx, const T *dy, const T *y, i64 n), (dx, dy, y, n)) {
  const T *const in[] = {dy, y};
  const i64 ld[] = {n, n};
  hg_map(dx, n, in, ld, 1, n, [](const float(&v)[2]) { return v[1] > 0.f ? v[0] : 0.f; });
}

HG_KERNELS(256, relugrad_sums, (double *parts, T *dx, const T *dy, const T *y, i64 rows, i64 c),
           (parts, dx, dy, y, rows, c)) {
  HG_SHARED(double, room, [8 * 32]);
  hg_columns<1>(parts, rows, c, room, [=](i64 r, i64 j, double(&sum)[1]) {
    i64 i = r * c + j;
    float v = y[i] > 0.f ? dy[i] : 0.f;
    if (dx) dx[i] = v;
    sum[0] += v;
  });
}
