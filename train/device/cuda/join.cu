// join: dst[i] = acc·dst[i] + Σ_p parts[p·stride + i]. With acc 0 dst is not read. A block
// takes 32 sums; warp w of 8 takes the parts w, w + 8, …, and the warps' sums are added in
// their order. n sums; reads n·count doubles. Reference: join in ../cpu/sums.go
#include "hg.h"

HG_KERNEL(256, join_f32, float *dst, float acc, const double *parts, i64 stride, i64 count, i64 n) {
  HG_SHARED(double, room, [8 * 32]);
  i64 i = (i64)blockIdx.x * 32 + hg_lane();
  double sum = 0;
  if (i < n)
#pragma unroll 8
    for (i64 p = hg_warp(); p < count; p += 8) sum += parts[p * stride + i];
  room[hg_warp() * 32 + hg_lane()] = sum;
  __syncthreads();
  if (hg_warp() != 0 || i >= n) return;
  sum = 0;
  for (int w = 0; w < 8; w++) sum += room[w * 32 + hg_lane()];
  if (acc != 0.f) sum = (double)acc * dst[i] + sum;
  dst[i] = (float)sum;
}
