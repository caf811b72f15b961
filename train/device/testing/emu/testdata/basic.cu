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

// y = x of the next lane, and so on, for every way in which lanes pass values.
HG_KERNEL(256, lanes, int *y, const int *x) {
  u32 t = threadIdx.x;
  int v = x[t], *out = y + t * 10;
  out[0] = __shfl_sync(0xffffffffu, v, 5);
  out[1] = __shfl_xor_sync(0xffffffffu, v, 3);
  out[2] = __shfl_down_sync(0xffffffffu, v, 4);
  out[3] = __shfl_up_sync(0xffffffffu, v, 4);
  out[4] = (int)__ballot_sync(0xffffffffu, v % 3 == 0);
  out[5] = __any_sync(0xffffffffu, v == 7);
  out[6] = __all_sync(0xffffffffu, v < 32);
  out[7] = (int)__shfl_xor_sync(0xffffffffu, (double)v + 0.5, 1);
  out[8] = (int)(__shfl_down_sync(0xffffffffu, (u64)v << 40, 1) >> 40);
  // Halves of a warp go separate ways, one of them twice.
  u32 half = (t & 16) ? 0xffff0000u : 0x0000ffffu;
  int sum = v;
  for (int d = 8; d > 0; d >>= 1) sum += __shfl_xor_sync(half, sum, d);
  if (t & 16) sum += __shfl_xor_sync(half, sum, 1);
  __syncwarp();
  out[9] = sum;
}

struct Three {
  double a;
  int b, c;
};

HG_KERNEL(256, struct_by_value, double *y, Three s, const float *x) { y[0] = s.a + s.b + s.c + x[0]; }

// The order in which threads and blocks run, as tickets.
HG_KERNEL(256, tickets, u32 *y, u32 *counter) {
  y[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1u);
}

// y gets every integer operation of the language once.
HG_KERNEL(256, integers, u32 *y, u32 *p, u64 *q) {
  y[0] = __popc(0xf0f0u);
  y[1] = (u32)__popcll(0xf00000000000000full);
  y[2] = (u32)__clz(0);
  y[3] = (u32)__clz(1);
  y[4] = (u32)__ffs(0);
  y[5] = (u32)__ffs(8);
  y[6] = __brev(1);
  y[7] = __umulhi(0x80000000u, 6);
  p[0] = 10;
  y[8] = atomicAdd(p, 5u);
  y[9] = atomicMax(p, 20u);
  y[10] = atomicMin(p, 3u);
  y[11] = atomicOr(p, 12u);
  y[12] = atomicCAS(p, 15u, 7u);
  y[13] = atomicExch(p, 1u);
  y[14] = p[0];
  q[0] = 0xffffffffull;
  atomicAdd(q, (u64)1);
  y[15] = (u32)(q[0] >> 32);
  y[16] = __float_as_uint(1.f);
  y[17] = (u32)(__double_as_longlong(1.) >> 32);
}

// Blocks and threads of three dimensions, and dynamic shared memory.
HG_KERNEL(256, coordinates, u32 *y) {
  HG_DYNAMIC(u32, row);
  u32 t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  u32 b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  row[t] = b * 100 + t;
  __syncthreads();
  u32 n = blockDim.x * blockDim.y * blockDim.z;
  y[b * n + t] = row[n - 1 - t];
}

// What a thread and a barrier cost.
HG_KERNEL(256, empty, float *y) {
  if (blockIdx.x == 0xffffffffu) y[0] = 0;
}

HG_KERNEL(256, barriers, int n) {
  for (int i = 0; i < n; i++) __syncthreads();
}

HG_KERNEL(256, shuffles, int *y, int n) {
  int v = (int)threadIdx.x;
  for (int i = 0; i < n; i++) v = __shfl_xor_sync(0xffffffffu, v, 1);
  if (v < 0) y[0] = v;
}
