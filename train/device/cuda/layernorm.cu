// layernorm: dst = γ(x − mean)·r + β over each row, r = 1/√(variance + eps) with the
// biased variance in two passes, and its gradient: with x̂ = (x − mean)·r and g = γ·dy
//
//	dx = add + r(g − mean(g) − x̂·mean(g·x̂)), dγ = Σ dy·x̂, dβ = Σ dy over the rows
//
// stats[row] is mean and r. gamma, beta and add may be null, and add may be dx. A warp has a row; the column
// sums are those of columns.h. Sums by floatsum.h, results in double: one
// that is rounded twice would fall on the other side of a tie now and then. Reference: ../reference/layernorm.go
#include "columns.h"
#include "typed.h"

// normalise is layernorm for a row, of which a lane takes E elements at a time.
template <int E, class T>
HG_DEVICE void normalise(T *dst, float *stats, const T *x, const float *gamma, const float *beta, i64 width, float eps) {
  float v[E], g[E], b[E], n = (float)width;
  hg_floatsum sum = {}, spread = {};
  for (i64 c = hg_lane() * E; c < width; c += 32 * E) {
    hg_take<E>(x + c, v);
#pragma unroll
    for (int e = 0; e < E; e++) sum.add(v[e]);
  }
  sum = hg_warp_sum(sum);
  // mean + rest is the mean: a mean far from zero would lose the digits of the differences.
  float mean = (sum.sum + sum.lost) / n, rest = (fmaf(-mean, n, sum.sum) + sum.lost) / n;
  for (i64 c = hg_lane() * E; c < width; c += 32 * E) {
    hg_take<E>(x + c, v);
#pragma unroll
    for (int e = 0; e < E; e++) {
      float d = (v[e] - mean) - rest;
      spread.add_product(d, d);
    }
  }
  spread = hg_warp_sum(spread);
  double center = (double)mean + rest, r = 1. / sqrt(spread.value() / (double)width + (double)eps);
  if (hg_lane() == 0) stats[0] = mean, stats[1] = (float)r;
  for (i64 c = hg_lane() * E; c < width; c += 32 * E) {
    hg_take<E>(x + c, v);
    if (gamma) hg_take<E>(gamma + c, g);
    if (beta) hg_take<E>(beta + c, b);
#pragma unroll
    for (int e = 0; e < E; e++) {
      double u = (v[e] - center) * r;
      if (gamma) u *= g[e];
      if (beta) u += b[e];
      v[e] = (float)u;
    }
    hg_give<E>(dst + c, v);
  }
}

// wide: 16 bytes of a row can be read at once.
HG_KERNELS(256, layernorm,
           (T *dst, i64 ldd, float *stats, const T *x, i64 ldx, const float *gamma, const float *beta, i64 rows,
            i64 width, float eps, int wide),
           (dst, ldd, stats, x, ldx, gamma, beta, rows, width, eps, wide)) {
  i64 row = (i64)blockIdx.x * 8 + hg_warp();
  if (row >= rows) return;
  if (wide)
    normalise<16 / sizeof(T)>(dst + row * ldd, stats + 2 * row, x + row * ldx, gamma, beta, width, eps);
  else
    normalise<1>(dst + row * ldd, stats + 2 * row, x + row * ldx, gamma, beta, width, eps);
}

// factors reads g = γ·dy and x̂ of E elements from c on.
template <int E, class T>
HG_DEVICE void factors(float (&d)[E], float (&v)[E], const T *dy, const T *x, const float *gamma, float mean, float r, i64 c) {
  float g[E];
  hg_take<E>(dy + c, d);
  hg_take<E>(x + c, v);
  if (gamma) hg_take<E>(gamma + c, g);
#pragma unroll
  for (int e = 0; e < E; e++) {
    if (gamma) d[e] *= g[e];
    v[e] = (v[e] - mean) * r;
  }
}

// back is layernorm_grad for a row.
template <int E, class T>
HG_DEVICE void back(T *dx, const T *dy, const T *x, const float *gamma, const float *stats, const T *add, i64 width) {
  float d[E], v[E], mean = stats[0], r = stats[1];
  hg_floatsum sum = {}, along = {};
  for (i64 c = hg_lane() * E; c < width; c += 32 * E) {
    factors<E>(d, v, dy, x, gamma, mean, r, c);
#pragma unroll
    for (int e = 0; e < E; e++) {
      sum.add(d[e]);
      along.add_product(d[e], v[e]);
    }
  }
  sum = hg_warp_sum(sum), along = hg_warp_sum(along);
  double of_sum = sum.value() / (double)width, of_along = along.value() / (double)width;
  for (i64 c = hg_lane() * E; c < width; c += 32 * E) {
    hg_take<E>(dy + c, d);
    hg_take<E>(x + c, v);
    float g[E];
    if (gamma) hg_take<E>(gamma + c, g);
#pragma unroll
    for (int e = 0; e < E; e++) {
      double u = (double)d[e] * (gamma ? g[e] : 1.f);
      d[e] = (float)((double)r * (u - of_sum - ((double)v[e] - (double)mean) * (double)r * of_along));
    }
    if (add) {
      hg_take<E>(add + c, v);
#pragma unroll
      for (int e = 0; e < E; e++) d[e] += v[e];
    }
    hg_give<E>(dx + c, d);
  }
}

HG_KERNELS(256, layernorm_grad,
           (T *dx, i64 ldd, const T *dy, i64 lddy, const T *x, i64 ldx, const float *gamma, const float *stats,
            const T *add, i64 ldadd, i64 rows, i64 width, int wide),
           (dx, ldd, dy, lddy, x, ldx, gamma, stats, add, ldadd, rows, width, wide)) {
  i64 row = (i64)blockIdx.x * 8 + hg_warp();
  if (row >= rows) return;
  if (add) add += row * ldadd;
  if (wide)
    back<16 / sizeof(T)>(dx + row * ldd, dy + row * lddy, x + row * ldx, gamma, stats + 2 * row, add, width);
  else
    back<1>(dx + row * ldd, dy + row * lddy, x + row * ldx, gamma, stats + 2 * row, add, width);
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
