// join: dst[i] = acc·dst[i] + Σ_p parts[p·stride + i]. With acc 0 dst is not read. A block
// takes 32 sums over a run of the parts; warp w of 8 takes the parts w, w + 8, … of the run, and the
// warps' sums are added in their order. Without dst, a run's sums replace its first part, and another
// launch joins these: columns.go does so where there are many parts, since a block reads one
// after the other. n sums; reads n·count doubles. Reference: join in ../cpu/sums.go
#include "hg.h"

HG_KERNEL(256, join_f32, float *dst, float acc, double *parts, i64 stride, i64 count, i64 run, i64 n) {
  HG_SHARED(double, room, [8 * 32]);
  i64 across = (n + 31) / 32, at = blockIdx.x / across, i = (blockIdx.x - at * across) * 32 + hg_lane();
  i64 first = at * run, end = hg_least(count, first + run);
  double sum = 0;
  if (i < n)
#pragma unroll 8
    for (i64 p = first + hg_warp(); p < end; p += 8) sum += parts[p * stride + i];
  room[hg_warp() * 32 + hg_lane()] = sum;
  __syncthreads();
  if (hg_warp() != 0 || i >= n) return;
  sum = 0;
  for (int w = 0; w < 8; w++) sum += room[w * 32 + hg_lane()];
  if (!dst) {
    parts[first * stride + i] = sum;
    return;
  }
  if (acc != 0.f) sum = (double)acc * dst[i] + sum;
  dst[i] = (float)sum;
}
