// gem: the generalised mean over each image of x [n,hw,c], p one number,
//
//	dst[n,c] = M^(1/p), M = mean v^p, v = max(x, eps)
//
// and its gradient, which computes M again:
//
//	dx = dy/HW · y·v^(p−1)/M where x ≥ eps, else 0
//	dp = Σ dy·y·(mean(v^p ln v)/(p·M) − ln(M)/p²)
//
// A block has 32 channels of an image; warp w of 8 takes pixels w, w + 8, …. Powers are in
// double: eps^p is a subnormal float from p = 6.3. Reads x once, or twice for the gradient.
// Reference: ../reference/gem.go
#include "typed.h"

// moments returns Σ v^p and Σ v^p·ln v of the lane's channel to all warps. room is
// [2][8][32].
template <class T>
HG_DEVICE void moments(const T *x, i64 hw, i64 c, bool inside, double p, float eps, double *room, double &sum, double &along) {
  sum = along = 0;
  for (i64 i = hg_warp(); i < hw && inside; i += 8) {
    float v = x[i * c];
    double l = hg_log((double)(v < eps ? eps : v)), power = hg_exp(p * l);
    sum += power;
    along = fma(power, l, along);
  }
  room[hg_warp() * 32 + hg_lane()] = sum;
  room[256 + hg_warp() * 32 + hg_lane()] = along;
  __syncthreads();
  sum = along = 0;
  for (int w = 0; w < 8; w++) sum += room[w * 32 + hg_lane()], along += room[256 + w * 32 + hg_lane()];
}

HG_KERNELS(256, gem, (T *dst, const T *x, const float *p, i64 hw, i64 c, float eps), (dst, x, p, hw, c, eps)) {
  HG_SHARED(double, room, [2 * 8 * 32]);
  i64 across = (c + 31) / 32, n = blockIdx.x / across, j = (blockIdx.x - n * across) * 32 + hg_lane();
  double sum, along, power = *p;
  moments(x + n * hw * c + j, hw, c, j < c, power, eps, room, sum, along);
  if (hg_warp() == 0 && j < c) dst[n * c + j] = (float)hg_exp(hg_log(sum / (double)hw) / power);
}

// gem_grad writes the block's share of dp to parts[block]; dx may be null.
HG_KERNELS(256, gem_grad, (T *dx, double *parts, const T *dy, const T *x, const float *p, i64 hw, i64 c, float eps),
           (dx, parts, dy, x, p, hw, c, eps)) {
  HG_SHARED(double, room, [2 * 8 * 32]);
  i64 across = (c + 31) / 32, n = blockIdx.x / across, j = (blockIdx.x - n * across) * 32 + hg_lane();
  bool inside = j < c;
  double sum, along, power = *p, factor = 0, share = 0;
  x += n * hw * c + j;
  moments(x, hw, c, inside, power, eps, room, sum, along);
  if (inside) {
    double d = dy[n * c + j], mean = hg_log(sum / (double)hw), y = hg_exp(mean / power);
    share = d * y * (along / (power * sum) - mean / (power * power));
    factor = d * y / sum;
  }
  if (hg_warp() == 0) {
    share = hg_warp_sum(share);
    if (hg_lane() == 0) parts[blockIdx.x] = share;
  }
  if (!dx || !inside) return;
  dx += n * hw * c + j;
  for (i64 i = hg_warp(); i < hw; i += 8) {
    float v = x[i * c];
    dx[i * c] = v < eps ? 0.f : (float)(factor * hg_exp((power - 1) * hg_log((double)v)));
  }
}
