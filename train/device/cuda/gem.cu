// gem: the generalised mean over each image of x [n,hw,c], p one number,
//
//	dst[n,c] = M^(1/p), M = mean v^p, v = max(x, eps)
//
// and its gradient, which computes M again:
//
//	dx = dy/HW · y·v^(p−1)/M where x ≥ eps, else 0
//	dp = Σ dy·y·(mean(v^p ln v)/(p·M) − ln(M)/p²)
//
// A block has 32 channels of an image; warp w of 8 takes pixels w, w + 8, …. A power is a float times
// a power of two, since eps^p is a subnormal float from p = 6.3; sums of them are in double, and so is
// what a channel needs once. Reads x once, or twice for the gradient.
// Reference: ../reference/gem.go
#include "typed.h"

// logarithm is log2 of a positive float: a whole number and the rest, which is in [−½, ½] and within
// 1e-7. The series of the inverse hyperbolic tangent to s¹³, |s| ≤ 0.172.
struct logarithm {
  float whole, rest;
};

HG_DEVICE logarithm log_of(float v) {
  float scale = 0.f;
  if (v < 1.17549435e-38f) v *= 16777216.f, scale = -24.f; // subnormal
  if (!(v < HG_INF)) return {v, 0.f};
  u32 bits = __float_as_uint(v) - 0x3f3504f3u; // from √½ on
  float m = __uint_as_float((bits & 0x7fffffu) + 0x3f3504f3u), f = m - 1.f, s = f / (m + 1.f), z = s * s;
  float p = 0.22195f; // 2/(13·ln 2)
  p = fmaf(p, z, 0.262308f);
  p = fmaf(p, z, 0.320599f);
  p = fmaf(p, z, 0.412198611f);
  p = fmaf(p, z, 0.577078016f);
  p = fmaf(p, z, 0.961796694f);
  return {(float)((int)bits >> 23) + scale, fmaf(s * z, p, 2.88539008f * s)};
}

// power is 2^(p·l) within 4e-7 of itself, p of a few units. 2^f for |f| ≤ ½ is its series to f⁷.
HG_DEVICE double power(logarithm l, float p) {
  if (!(fabsf(l.whole) < HG_INF)) return l.whole; // of an infinite number, or NaN
  float most = p * l.whole, lost = fmaf(p, l.whole, -most), n = rintf(fmaf(p, l.rest, most));
  float f = (most - n) + fmaf(p, l.rest, lost);
  float e = 1.52527338e-5f;
  e = fmaf(e, f, 1.54035304e-4f);
  e = fmaf(e, f, 1.33335581e-3f);
  e = fmaf(e, f, 9.61812911e-3f);
  e = fmaf(e, f, 5.55041087e-2f);
  e = fmaf(e, f, 2.40226507e-1f);
  e = fmaf(e, f, 6.93147181e-1f);
  n = hg_min(hg_max(n, -1022.f), 1023.f);
  return (double)fmaf(e, f, 1.f) * __longlong_as_double((i64)((int)n + 1023) << 52);
}

// moments returns Σ v^p and Σ v^p·log2 v of the lane's channel to the first warp. room is
// [2][8][32].
template <class T>
HG_DEVICE void moments(const T *x, i64 hw, i64 c, bool inside, float p, float eps, double *room, double &sum, double &along) {
  sum = along = 0;
  for (i64 i = hg_warp(); i < hw && inside; i += 8) {
    float v = x[i * c];
    logarithm l = log_of(v < eps ? eps : v);
    double u = power(l, p);
    sum += u;
    along = fma(u, (double)l.whole + (double)l.rest, along);
  }
  room[hg_warp() * 32 + hg_lane()] = sum;
  room[256 + hg_warp() * 32 + hg_lane()] = along;
  __syncthreads();
  if (hg_warp() != 0) return;
  sum = along = 0;
  for (int w = 0; w < 8; w++) sum += room[w * 32 + hg_lane()], along += room[256 + w * 32 + hg_lane()];
}

HG_KERNELS(256, gem, (T *dst, const T *x, const float *p, i64 hw, i64 c, float eps), (dst, x, p, hw, c, eps)) {
  HG_SHARED(double, room, [2 * 8 * 32]);
  i64 across = (c + 31) / 32, n = blockIdx.x / across, j = (blockIdx.x - n * across) * 32 + hg_lane();
  double sum, along;
  moments(x + n * hw * c + j, hw, c, j < c, *p, eps, room, sum, along);
  if (hg_warp() == 0 && j < c) dst[n * c + j] = (float)hg_exp(hg_log(sum / (double)hw) / (double)*p);
}

// gem_grad writes the block's share of dp to parts[block]; dx may be null.
HG_KERNELS(256, gem_grad, (T *dx, double *parts, const T *dy, const T *x, const float *p, i64 hw, i64 c, float eps),
           (dx, parts, dy, x, p, hw, c, eps)) {
  HG_SHARED(double, room, [2 * 8 * 32 + 32]);
  i64 across = (c + 31) / 32, n = blockIdx.x / across, j = (blockIdx.x - n * across) * 32 + hg_lane();
  bool inside = j < c;
  double sum, along, exponent = *p;
  x += n * hw * c + j;
  moments(x, hw, c, inside, *p, eps, room, sum, along);
  if (hg_warp() == 0) { // the others wait for factor
    double share = 0, factor = 0;
    if (inside) {
      double d = dy[n * c + j], mean = hg_log(sum / (double)hw), y = hg_exp(mean / exponent);
      share = d * y * (along * 0.69314718055994531 / (exponent * sum) - mean / (exponent * exponent));
      factor = d * y / sum;
    }
    room[512 + hg_lane()] = factor;
    share = hg_warp_sum(share);
    if (hg_lane() == 0) parts[blockIdx.x] = share;
  }
  __syncthreads();
  if (!dx || !inside) return;
  double factor = room[512 + hg_lane()];
  dx += n * hw * c + j;
  for (i64 i = hg_warp(); i < hw; i += 8) {
    float v = x[i * c];
    dx[i * c] = v < eps ? 0.f : (float)(factor * power(log_of(v), *p - 1.f));
  }
}
