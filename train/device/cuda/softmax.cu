// softmax: e^(x − top)/Σ e^(x − top) of each row or the logarithm of that, with the
// gradients dx = y(dy − Σ dy·y) and dx = dy − e^y·Σ dy; and softmax_loss, the
// cross-entropy of p = softmax(z/T) with target k, smoothed by s over C classes:
//
//	loss = −(1−s)·log p_k − s/C·Σ log p,  dz = (p − (1−s)·[k] − s/C)/T
//
// A row with a target below 0 has loss and gradient 0. A block has a row; sums and
// exponentials in double. dst may be x, dx may be dy. Reads a row three times.
// Reference: ../reference/softmax.go
#include "typed.h"

template <class T> HG_DEVICE float top_of(const T *x, i64 width, float *room) {
  float top = -HG_INF;
  for (i64 c = threadIdx.x; c < width; c += blockDim.x) top = hg_max(top, x[c]);
  return hg_block_max(top, room);
}

HG_KERNELS(256, softmax, (T *dst, i64 ldd, const T *x, i64 ldx, i64 width, int log), (dst, ldd, x, ldx, width, log)) {
  HG_SHARED(double, room, [32]);
  dst += blockIdx.x * ldd, x += blockIdx.x * ldx;
  double top = top_of(x, width, (float *)room), sum = 0;
  for (i64 c = threadIdx.x; c < width; c += blockDim.x) sum += hg_exp(x[c] - top);
  sum = hg_block_sum(sum, room);
  double logarithm = hg_log(sum);
  for (i64 c = threadIdx.x; c < width; c += blockDim.x) {
    double u = x[c] - top;
    dst[c] = (float)(log ? u - logarithm : hg_exp(u) / sum);
  }
}

HG_KERNELS(256, softmax_grad, (T *dx, i64 ldx, const T *dy, i64 lddy, const T *y, i64 ldy, i64 width, int log),
           (dx, ldx, dy, lddy, y, ldy, width, log)) {
  HG_SHARED(double, room, [32]);
  dx += blockIdx.x * ldx, dy += blockIdx.x * lddy, y += blockIdx.x * ldy;
  double sum = 0;
  for (i64 c = threadIdx.x; c < width; c += blockDim.x) sum += log ? (double)dy[c] : (double)dy[c] * y[c];
  sum = hg_block_sum(sum, room);
  for (i64 c = threadIdx.x; c < width; c += blockDim.x)
    dx[c] = (float)(log ? dy[c] - hg_exp((double)y[c]) * sum : y[c] * (dy[c] - sum));
}

HG_KERNELS(256, softmax_loss,
           (float *loss, T *dz, i64 lddz, const T *z, i64 ldz, const int *target, i64 width, float temperature,
            float smoothing),
           (loss, dz, lddz, z, ldz, target, width, temperature, smoothing)) {
  HG_SHARED(double, room, [32]);
  int k = target[blockIdx.x];
  z += blockIdx.x * ldz, dz += blockIdx.x * lddz;
  if (k < 0 || k >= width) { // the same for all threads of the block
    for (i64 c = threadIdx.x; c < width && lddz; c += blockDim.x) dz[c] = 0.f;
    if (threadIdx.x == 0) loss[blockIdx.x] = k < 0 ? 0.f : HG_NAN;
    return;
  }
  double top = top_of(z, width, (float *)room), sum = 0, mean = 0, t = temperature, s = smoothing, n = (double)width;
  for (i64 c = threadIdx.x; c < width; c += blockDim.x) {
    double u = (z[c] - top) / t;
    sum += hg_exp(u);
    mean += u;
  }
  sum = hg_block_sum(sum, room);
  mean = s != 0 ? hg_block_sum(mean, room) / n : 0;
  double own = (z[k] - top) / t;
  __syncthreads(); // dz may be z
  if (threadIdx.x == 0) loss[blockIdx.x] = (float)(hg_log(sum) - (1 - s) * own - s * mean);
  for (i64 c = threadIdx.x; c < width && lddz; c += blockDim.x) {
    double p = hg_exp((z[c] - top) / t) / sum;
    dz[c] = (float)((p - s / n - (c == k ? 1 - s : 0)) / t);
  }
}
