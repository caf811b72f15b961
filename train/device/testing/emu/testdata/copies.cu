// Asynchronous copies and loads of fragments, right and with planted faults.
#include "tensor.h"

// y = x, both [steps][256] floats, by way of shared memory that all steps share: thread t of 64 copies
// the four floats from 4t on and passes on those of thread 63 − t. Without waits it does not wait for
// its own copies, without barriers not for the other threads.
HG_KERNEL(256, refilled, float *y, const float *x, int steps, int waits, int barriers) {
  HG_SHARED(float, piece, [256]);
  int t = (int)threadIdx.x;
  for (int s = 0; s < steps; s++) {
    if (barriers) __syncthreads(); // the step before has been read
    hg_copy_async<16>(piece + 4 * t, x + 256 * s + 4 * t, true);
    hg_copy_commit();
    if (waits) hg_copy_wait<0>();
    __syncthreads();
    for (int i = 0; i < 4; i++) y[256 * s + 4 * (63 - t) + i] = piece[4 * (63 - t) + i];
  }
}

// Copies a float's worth of bytes too far, from or to.
HG_KERNEL(256, odd_copy, float *y, const float *x, int from, int to) {
  HG_SHARED(float, piece, [64]);
  hg_copy_async<16>(piece + to, x + from, true);
  hg_copy_commit();
  hg_copy_wait<0>();
  y[0] = piece[to];
}

HG_KERNEL(256, copy_to_global, float *y, const float *x) { hg_copy_async<16>(y, x, true); }

// A fragment of memory that is not the block's.
HG_KERNEL(256, fragment_of_global, u32 *y, const u32 *x) {
  u32 v[4];
  hg_ldmatrix<false>(v, x + 4 * threadIdx.x);
  y[threadIdx.x] = v[0];
}

struct __attribute__((aligned(16))) wide {
  float x, y, z, w;
};

// y[0] = the sum of four floats from x[at] on, which are read at once.
HG_KERNEL(256, wide_sum, float *y, const float *x, int at) {
  wide v = *(const wide *)(x + at);
  y[0] = v.x + v.y + v.z + v.w;
}
