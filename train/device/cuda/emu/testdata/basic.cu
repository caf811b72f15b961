// Correct kernels of the emulator's own tests.
#include "hg.h"

// y = a·x
HG_KERNEL(256, scale_f32, float *y, const float *x, float a, i64 n) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}

// out[block] = the sum of the block's 256 elements of x, by a tree in shared memory.
HG_KERNEL(256, block_sum, float *out, const float *x, i64 n) {
  HG_SHARED(float, sum, [256]);
  u32 t = threadIdx.x;
  i64 i = (i64)blockIdx.x * 256 + t;
  sum[t] = i < n ? x[i] : 0.f;
  __syncthreads();
  for (u32 d = 128; d > 0; d >>= 1) {
    if (t < d) sum[t] += sum[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sum[0];
}
