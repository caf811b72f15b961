// layernorm: dst = γ(x − mean)·r + β over each row, r = 1/√(variance + eps) with the
// biased variance in two passes, and its gradient: with x̂ = (x − mean)·r and g = γ·dy
//
//	dx = r(g − mean(g) − x̂·mean(g·x̂)), dγ = Σ dy·x̂, dβ = Σ dy over the rows
//
// stats[row] is mean and r. gamma and beta may be null. A warp has a row; the column
// sums are those of columns.h. Sums in double. Reference: ../reference/layernorm.go
#include "columns.h"
#include "typed.h"

HG_KERNELS(256, layernorm,
           (T *dst, i64 ldd, float *stats, const T *x, i64 ldx, const float *gamma, const float *beta, i64 rows,
            i64 width, float eps),
           (dst, ldd, stats, x, ldx, gamma, beta, rows, width, eps)) {
  i64 row = (i64)blockIdx.x * 8 + hg_warp();
  if (row >= rows) return;
  dst += row * ldd, x += row * ldx;
  double sum = 0, spread = 0;
  for (i64 c = hg_lane(); c < width; c += 32) sum += x[c];
  double mean = hg_warp_sum(sum) / (double)width;
  for (i64 c = hg_lane(); c < width; c += 32) {
    double d = x[c] - mean;
    spread = fma(d, d, spread);
  }
  double r = 1. / sqrt(hg_warp_sum(spread) / (double)width + (double)eps);
  if (hg_lane() == 0) stats[2 * row] = (float)mean, stats[2 * row + 1] = (float)r;
  for (i64 c = hg_lane(); c < width; c += 32) {
    double v = (x[c] - mean) * r;
    if (gamma) v *= gamma[c];
    if (beta) v += beta[c];
    dst[c] = (float)v;
  }
}

HG_KERNELS(256, layernorm_grad,
           (T *dx, i64 ldd, const T *dy, i64 lddy, const T *x, i64 ldx, const float *gamma, const float *stats,
            i64 rows, i64 width),
           (dx, ldd, dy, lddy, x, ldx, gamma, stats, rows, width)) {
  i64 row = (i64)blockIdx.x * 8 + hg_warp();
  if (row >= rows) return;
  dx += row * ldd, dy += row * lddy, x += row * ldx;
  double mean = stats[2 * row], r = stats[2 * row + 1], sum = 0, along = 0;
  for (i64 c = hg_lane(); c < width; c += 32) {
    double g = (double)dy[c] * (gamma ? gamma[c] : 1.f);
    sum += g;
    along = fma(g, (x[c] - mean) * r, along);
  }
  sum = hg_warp_sum(sum) / (double)width, along = hg_warp_sum(along) / (double)width;
  for (i64 c = hg_lane(); c < width; c += 32) {
    double g = (double)dy[c] * (gamma ? gamma[c] : 1.f);
    dx[c] = (float)(r * (g - sum - (x[c] - mean) * r * along));
  }
}

// lanes is 0 where 16 bytes of a row cannot be read at once.
HG_KERNELS(256, layernorm_sums,
           (double *parts, const T *dy, i64 lddy, const T *x, i64 ldx, const float *stats, i64 rows, i64 width, int lanes),
           (parts, dy, lddy, x, ldx, stats, rows, width, lanes)) {
  HG_SHARED(double, room, HG_ROOM(T));
  auto add = [=](i64 r, i64 c, auto &sums) {
    constexpr int E = sizeof(sums[0]) / sizeof(sums[0][0]);
    float d[E], v[E], mean = stats[2 * r], scale = stats[2 * r + 1];
    hg_take<E>(dy + r * lddy + c, d);
    hg_take<E>(x + r * ldx + c, v);
#pragma unroll
    for (int e = 0; e < E; e++) {
      sums[0][e].add_product(d[e], (v[e] - mean) * scale);
      sums[1][e].add(d[e]);
    }
  };
  hg_put_sums<2> put = {parts, width};
  if (lanes)
    hg_columns<2, 16 / sizeof(T)>(rows, width, lanes, room, add, put);
  else
    hg_columns<2, 1>(rows, width, 32, room, add, put);
}
