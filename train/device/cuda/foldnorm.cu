// foldnorm: frozen statistics folded into the filters in front of them. With
// r = 1/√(variance + eps): wf = γ·r·w, bf = β − γ·r·mean, filter by filter. The gradient
//
//	dw = γr·dwf, dβ = dbf, dγ = r(⟨w, dwf⟩ − mean·dbf)
//
// needs no output of the layer and is exact at γ = 0 too. Filters are rows of a width;
// a block has one. gamma, beta and their gradients may be null. In double.
// Reference: ../reference/foldnorm.go
#include "typed.h"

HG_KERNELS(256, foldnorm, (T *wf, float *bf, const float *w, const float *gamma, const float *beta, const float *mean,
            const float *variance, i64 width, float eps),
           (wf, bf, w, gamma, beta, mean, variance, width, eps)) {
  i64 k = blockIdx.x;
  double scale = (gamma ? (double)gamma[k] : 1.) / sqrt((double)variance[k] + (double)eps);
  if (threadIdx.x == 0) bf[k] = (float)((beta ? (double)beta[k] : 0.) - scale * mean[k]);
  for (i64 i = threadIdx.x; i < width; i += blockDim.x) wf[k * width + i] = (float)(scale * w[k * width + i]);
}

HG_DEVICE float joined(const float *old, float acc, double v) {
  return (float)(acc != 0.f ? (double)acc * *old + v : v);
}

HG_KERNEL(256, foldnorm_grad_f32, float *dw, float *dgamma, float *dbeta, const float *dwf, const float *dbf,
          const float *w, const float *gamma, const float *mean, const float *variance, i64 width, float eps, float acc) {
  HG_SHARED(double, room, [32]);
  i64 k = blockIdx.x;
  dw += k * width, dwf += k * width, w += k * width;
  double r = 1. / sqrt((double)variance[k] + (double)eps), scale = (gamma ? (double)gamma[k] : 1.) * r, along = 0;
  for (i64 i = threadIdx.x; i < width; i += blockDim.x) along += (double)w[i] * dwf[i];
  along = hg_block_sum(along, room);
  if (threadIdx.x == 0) {
    if (dgamma) dgamma[k] = joined(&dgamma[k], acc, r * (along - (double)mean[k] * dbf[k]));
    if (dbeta) dbeta[k] = joined(&dbeta[k], acc, dbf[k]);
  }
  for (i64 i = threadIdx.x; i < width; i += blockDim.x) dw[i] = joined(&dw[i], acc, scale * dwf[i]);
}
