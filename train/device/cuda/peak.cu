// peak: what a card can do at most, by which the other kernels are measured. No operation
// uses them: only the benchmark BenchmarkKernels does.
#include "tensor.h"

// peak_empty does nothing: its time is that of a launch.
HG_KERNEL(256, peak_empty, int unused) {}

// peak_fma: eight chains of 16·rounds multiply-adds a thread, out of registers alone: 256·rounds
// operations. dst [threads] receives their sums. Writes one float a thread.
HG_KERNEL(256, peak_fma, float *dst, float a, float b, int rounds) {
  float x0 = (float)threadIdx.x, x1 = x0 + 1.f, x2 = x0 + 2.f, x3 = x0 + 3.f;
  float x4 = x0 + 4.f, x5 = x0 + 5.f, x6 = x0 + 6.f, x7 = x0 + 7.f;
  for (int i = 0; i < rounds; i++) {
#pragma unroll
    for (int j = 0; j < 16; j++) {
      x0 = fmaf(x0, a, b), x1 = fmaf(x1, a, b), x2 = fmaf(x2, a, b), x3 = fmaf(x3, a, b);
      x4 = fmaf(x4, a, b), x5 = fmaf(x5, a, b), x6 = fmaf(x6, a, b), x7 = fmaf(x7, a, b);
    }
  }
  dst[hg_index()] = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
}

// peak_mma: eight chains of `rounds` products of BF16 fragments a warp, out of registers
// alone: 4096 operations each. ab holds two elements of a and of b. Writes one float a thread.
HG_KERNEL(256, peak_mma, float *dst, u32 ab, int rounds) {
  float sum[8][4] = {};
  u32 a[4] = {ab, ab, ab, ab}, b[2] = {ab, ab};
  for (int i = 0; i < rounds; i++)
#pragma unroll
    for (int j = 0; j < 8; j++) hg_mma(sum[j], a, b);
  float all = 0.f;
#pragma unroll
  for (int j = 0; j < 8; j++) all += (sum[j][0] + sum[j][1]) + (sum[j][2] + sum[j][3]);
  dst[hg_index()] = all;
}
