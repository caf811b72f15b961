// Kernels with planted faults, each of which a test shows to be caught.
#include "hg.h"

// reverse_block turns each block of 256 around; a barrier is missing.
HG_KERNEL(256, missing_barrier, float *y, const float *x) {
  HG_SHARED(float, tile, [256]);
  u32 t = threadIdx.x, base = blockIdx.x * 256;
  tile[t] = x[base + t];
  y[base + t] = tile[255 - t];
}

// A thread for every element of whole blocks, also past the end of y.
HG_KERNEL(256, no_bound, float *y, const float *x) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[0];
}

// Half of the threads reach a barrier, the others wait at a warp operation.
HG_KERNEL(256, divergent_warp, int *y) {
  if (threadIdx.x < 128) {
    __syncthreads();
  } else if (threadIdx.x < 144) {
    y[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
  }
  __syncthreads();
}

// Threads leave before a barrier that the others reach.
HG_KERNEL(256, divergent_exit, int *y) {
  if (threadIdx.x >= 100) return;
  __syncthreads();
  y[threadIdx.x] = 1;
}

// The mask names lanes that have left.
HG_KERNEL(256, exited_lane, int *y) {
  if (threadIdx.x < 16) return;
  y[threadIdx.x] = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 1);
}

// A lane that the mask does not name is read.
HG_KERNEL(256, unnamed_lane, int *y) {
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, 1, 16);
}

HG_KERNEL(256, shared_overrun, float *y, int n) {
  HG_SHARED(float, small, [64]);
  for (int i = 0; i < n; i++) small[i] = 1;
  y[0] = small[0];
}

HG_KERNEL(256, shared_too_large, float *y) {
  HG_SHARED(float, large, [12288]);
  HG_SHARED(float, more, [1]);
  large[0] = more[0] = 1;
  y[0] = large[0];
}

HG_KERNEL(256, dynamic_overrun, float *y, int n) {
  HG_DYNAMIC(float, row);
  for (int i = 0; i < n; i++) row[i] = 1;
  y[0] = row[0];
}

// Shared memory is not zero at first, and not what the block before left.
HG_KERNEL(256, uninitialised_shared, float *y) {
  HG_SHARED(float, v, [8]);
  HG_DYNAMIC(float, row);
  y[blockIdx.x] = v[0] + row[0];
  v[0] = row[0] = 1;
}

HG_KERNEL(256, divide, int *y, int a, int b) { y[0] = a / b; }

static __attribute__((noinline)) int deep(int n, int *y) {
  volatile int room[1024];
  room[n & 1023] = n;
  return n == 0 ? y[0] : deep(n - 1, y) + room[n & 1023];
}

HG_KERNEL(256, full_stack, int *y, int n) { y[1] = deep(n, y); }

HG_KERNEL(256, local_overrun, float *y, int n) {
  float own[8];
  for (int i = 0; i < n; i++) own[i] = (float)i;
  __syncthreads();
  y[threadIdx.x] = own[threadIdx.x % 8];
}
