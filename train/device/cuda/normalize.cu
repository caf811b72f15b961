// normalize: rows divided by n = max(‖x‖, eps), and the gradient
//
//	dx = (dy − y·⟨y, dy⟩)/n, without the projection where n was eps
//
// norm[row] is n, negative where eps was taken. A warp has a row; sums in double.
// Reads x twice, or dy and y twice. Reference: ../reference/normalize.go
#include "typed.h"

HG_KERNELS(256, normalize, (T *dst, i64 ldd, float *norm, const T *x, i64 ldx, i64 rows, i64 width, float eps),
           (dst, ldd, norm, x, ldx, rows, width, eps)) {
  i64 r = (i64)blockIdx.x * 8 + hg_warp();
  if (r >= rows) return;
  dst += r * ldd, x += r * ldx;
  double sum = 0;
  for (i64 c = hg_lane(); c < width; c += 32) sum += (double)x[c] * x[c];
  double n = sqrt(hg_warp_sum(sum));
  float kept = (float)n;
  if (n < (double)eps) n = eps, kept = -eps;
  if (norm && hg_lane() == 0) norm[r] = kept;
  for (i64 c = hg_lane(); c < width; c += 32) dst[c] = (float)((double)x[c] / n);
}

HG_KERNELS(256, normalize_grad,
           (T *dx, i64 ldx, const T *dy, i64 lddy, const T *y, i64 ldy, const float *norm, i64 rows, i64 width),
           (dx, ldx, dy, lddy, y, ldy, norm, rows, width)) {
  i64 r = (i64)blockIdx.x * 8 + hg_warp();
  if (r >= rows) return;
  dx += r * ldx, dy += r * lddy, y += r * ldy;
  double n = norm[r], along = 0;
  if (n > 0) {
    for (i64 c = hg_lane(); c < width; c += 32) along += (double)y[c] * dy[c];
    along = hg_warp_sum(along);
  } else {
    n = -n;
  }
  for (i64 c = hg_lane(); c < width; c += 32) dx[c] = (float)(((double)dy[c] - (double)y[c] * along) / n);
}
