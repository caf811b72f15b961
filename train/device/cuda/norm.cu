// norm: batch normalisation of x [rows, c], channel by channel,
//
//	dst = γ(x − mean)·r + β (+ residual) (then ReLU), r = 1/√(variance + eps)
//
// Statistics come from sums of x − x₀ and its square over the rows, x₀ being the first
// row, in double (norm_moments, norm_stats); norm_apply reads x, and residual, once more
// and writes dst. The gradient, with dz = dy where y is positive (if relu), x̂ = (x − mean)·r:
//
//	dβ = Σ dz, dγ = Σ dz·x̂, dres = dz
//	dx = γr(dz − dβ/n − x̂·dγ/n), or γr·dz with frozen statistics
//
// is norm_sums, norm_factors and norm_back. gamma, beta, residual and all gradients may be
// null. Reference: ../reference/norm.go
#include "columns.h"
#include "typed.h"

HG_KERNELS(256, norm_moments, (double *parts, const T *x, i64 rows, i64 c), (parts, x, rows, c)) {
  HG_SHARED(double, room, [2 * 8 * 32]);
  hg_columns<2>(parts, rows, c, room, [=](i64 r, i64 j, double(&sum)[2]) {
    double d = (double)x[r * c + j] - x[j];
    sum[0] += d;
    sum[1] = fma(d, d, sum[1]);
  });
}

// norm_stats adds up the spans' moments (unless frozen) and writes stats [2,c] and the
// scale and shift of each channel: dst = (x − mean)·scale + shift.
HG_KERNELS(256, norm_stats,
           (float *stats, float *scale, float *shift, const double *parts, const T *x, const float *gamma,
            const float *beta, i64 spans, i64 rows, i64 c, float eps, int frozen),
           (stats, scale, shift, parts, x, gamma, beta, spans, rows, c, eps, frozen)) {
  i64 j = hg_index();
  if (j >= c) return;
  double mean = stats[j];
  if (!frozen) {
    double sum = 0, squares = 0;
    for (i64 s = 0; s < spans; s++) sum += parts[2 * s * c + j], squares += parts[(2 * s + 1) * c + j];
    mean = (rows ? (double)x[j] : 0.) + sum / rows;
    double variance = (squares - sum * sum / rows) / rows;
    stats[j] = (float)mean;
    stats[c + j] = (float)(variance < 0 ? 0 : variance);
  }
  double r = (gamma ? (double)gamma[j] : 1.) / sqrt((double)stats[c + j] + (double)eps);
  scale[j] = (float)r;
  // the first term is what the mean lost when it was rounded
  shift[j] = (float)(((double)stats[j] - mean) * r + (beta ? (double)beta[j] : 0.));
}

HG_KERNELS(256, norm_apply,
           (T *dst, const T *x, const T *residual, const float *mean, const float *scale, const float *shift,
            i64 rows, i64 c, int relu),
           (dst, x, residual, mean, scale, shift, rows, c, relu)) {
  for (i64 i = hg_index(); i < rows * c; i += hg_stride()) {
    i64 j = i % c;
    float v = fmaf(x[i] - mean[j], scale[j], shift[j]);
    if (residual) v += residual[i];
    dst[i] = relu && v < 0.f ? 0.f : v;
  }
}

HG_KERNELS(256, norm_sums, (double *parts, const T *dy, const T *x, const T *y, const float *mean, i64 rows, i64 c),
           (parts, dy, x, y, mean, rows, c)) {
  HG_SHARED(double, room, [2 * 8 * 32]);
  hg_columns<2>(parts, rows, c, room, [=](i64 r, i64 j, double(&sum)[2]) {
    i64 i = r * c + j;
    double dz = !y || y[i] > 0.f ? dy[i] : 0.f;
    sum[0] = fma(dz, (double)x[i] - mean[j], sum[0]);
    sum[1] += dz;
  });
}

// norm_factors writes dγ and dβ and, for each channel, scale, along and offset:
// dx = scale·(dz − offset − (x − mean)·along).
HG_KERNEL(256, norm_factors_f32, float *dgamma, float *dbeta, float *scale, float *along, float *offset,
          const double *parts, const float *stats, const float *gamma, i64 spans, i64 rows, i64 c, float eps, float acc,
          int frozen) {
  i64 j = hg_index();
  if (j >= c) return;
  double r = 1. / sqrt((double)stats[c + j] + (double)eps), sum = 0, plain = 0;
  for (i64 s = 0; s < spans; s++) sum += parts[2 * s * c + j], plain += parts[(2 * s + 1) * c + j];
  sum *= r; // Σ dz·x̂
  if (dgamma) dgamma[j] = (float)(acc != 0.f ? (double)acc * dgamma[j] + sum : sum);
  if (dbeta) dbeta[j] = (float)(acc != 0.f ? (double)acc * dbeta[j] + plain : plain);
  scale[j] = (float)((gamma ? (double)gamma[j] : 1.) * r);
  along[j] = frozen ? 0.f : (float)(sum / rows * r);
  offset[j] = frozen ? 0.f : (float)(plain / rows);
}

HG_KERNELS(256, norm_back,
           (T *dx, T *dres, const T *dy, const T *x, const T *y, const float *mean, const float *scale,
            const float *along, const float *offset, i64 rows, i64 c),
           (dx, dres, dy, x, y, mean, scale, along, offset, rows, c)) {
  for (i64 i = hg_index(); i < rows * c; i += hg_stride()) {
    i64 j = i % c;
    float dz = !y || y[i] > 0.f ? dy[i] : 0.f;
    if (dx) dx[i] = scale[j] * (dz - offset[j] - (x[i] - mean[j]) * along[j]);
    if (dres) dres[i] = dz;
  }
}
