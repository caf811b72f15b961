// norm: batch normalisation of x [rows, c], channel by channel,
//
//	dst = γ(x − mean)·r + β (+ residual) (then ReLU), r = 1/√(variance + eps)
//
// norm_moments makes parts (moments.h) of spans of rows, and so does a convolution of its tiles;
// norm_join joins them to stats [2,c], in two stages where there are many. norm_scale and
// norm_apply read x, and residual, once and write dst. The gradient without residual and ReLU,
// x̂ = (x − mean)·r:
//
//	dβ = Σ dy, dγ = Σ dy·x̂
//	dx = γr(dy − dβ/n − x̂·dγ/n), or γr·dy with frozen statistics
//
// is norm_factors and norm_back, from the sums [2,c] of dy and of dy·(x − mean) (relugrad.cu,
// conv_gradx). gamma, beta, residual and all gradients may be null. Reference: ../reference/norm.go
#include "columns.h"
#include "moments.h"
#include "typed.h"

// norm_moments takes them around the first row of the span.
HG_KERNELS(256, norm_moments, (double *parts, const T *x, i64 rows, i64 c, int lanes), (parts, x, rows, c, lanes)) {
  HG_SHARED(double, room, HG_ROOM(T));
  auto add = [=](i64 r, i64 j, auto &sums) {
    constexpr int E = sizeof(sums[0]) / sizeof(sums[0][0]);
    float v[E], origin[E];
    hg_take<E>(x + r * c + j, v);
    hg_take<E>(x + r / HG_SPAN * HG_SPAN * c + j, origin);
#pragma unroll
    for (int e = 0; e < E; e++) {
      float d = v[e] - origin[e];
      sums[0][e].add(d);
      sums[1][e].add_product(d, d);
    }
  };
  auto put = [=](i64 span, i64 j, const double(&sum)[2]) {
    i64 first = span * HG_SPAN;
    hg_moments all;
    all.begin(x[first * c + j]);
    all.add(0, x[first * c + j], sum[0], sum[1]);
    all.put(parts, span, c, j, hg_least((i64)HG_SPAN, rows - first));
  };
  if (lanes)
    hg_columns<2, 16 / sizeof(T)>(rows, c, lanes, room, add, put);
  else
    hg_columns<2, 1>(rows, c, 32, room, add, put);
}

// norm_join joins runs of `run` of the parts, of which each but the last has `unit` rows. It
// writes a part for each run, or stats if there is one run.
HG_KERNEL(256, norm_join_f32, double *out, float *stats, const double *parts, i64 count, i64 unit, i64 rows, i64 run,
          i64 c) {
  HG_SHARED(double, room, [2 * 8 * 32]);
  i64 across = (c + 31) / 32, at = blockIdx.x / across, j = (blockIdx.x - at * across) * 32 + hg_lane();
  i64 first = at * run, end = hg_least(count, first + run);
  hg_moments all;
  all.begin(j < c && first < end ? parts[2 * first * c + j] : 0.);
  if (j < c)
    for (i64 p = first + hg_warp(); p < end; p += 8)
      all.add((int)hg_least(unit, rows - p * unit), parts[2 * p * c + j], 0, parts[(2 * p + 1) * c + j]);
  room[hg_warp() * 32 + hg_lane()] = all.sum;
  room[256 + hg_warp() * 32 + hg_lane()] = all.squares;
  __syncthreads();
  if (hg_warp() != 0 || j >= c) return;
  all.sum = all.squares = 0;
  for (int w = 0; w < 8; w++) all.sum += room[w * 32 + hg_lane()], all.squares += room[256 + w * 32 + hg_lane()];
  i64 n = hg_least(rows, end * unit) - first * unit;
  if (!stats) {
    all.put(out, at, c, j, n);
    return;
  }
  double variance = (all.squares - all.sum * all.sum / n) / n;
  stats[j] = (float)(all.origin + all.sum / n);
  stats[c + j] = (float)(variance < 0 ? 0 : variance);
}

// norm_scale writes what each channel is multiplied by.
HG_KERNEL(256, norm_scale_f32, float *scale, const float *stats, const float *gamma, i64 c, float eps) {
  i64 j = hg_index();
  if (j < c) scale[j] = (float)((gamma ? (double)gamma[j] : 1.) / sqrt((double)stats[c + j] + (double)eps));
}

// apply and back are norm_apply and norm_back for the E elements at i, of channels j and on.
template <int E, class T>
HG_DEVICE void apply(T *dst, const T *x, const T *residual, const float *mean, const float *scale, const float *beta,
                     int relu, i64 i, i64 j) {
  float v[E], m[E], s[E], b[E], add[E];
  hg_take<E>(x + i, v);
  hg_take<E>(mean + j, m);
  hg_take<E>(scale + j, s);
  if (beta) hg_take<E>(beta + j, b);
  if (residual) hg_take<E>(residual + i, add);
#pragma unroll
  for (int q = 0; q < E; q++) {
    float u = fmaf(v[q] - m[q], s[q], beta ? b[q] : 0.f);
    if (residual) u += add[q];
    v[q] = relu && u < 0.f ? 0.f : u;
  }
  hg_give<E>(dst + i, v);
}

template <int E, class T>
HG_DEVICE void back(T *dx, const T *dy, const T *x, const float *mean, const float *scale, const float *along,
                    const float *offset, i64 i, i64 j) {
  float d[E], v[E], m[E], s[E], a[E], o[E];
  hg_take<E>(dy + i, d);
  hg_take<E>(x + i, v);
  hg_take<E>(mean + j, m);
  hg_take<E>(scale + j, s);
  hg_take<E>(along + j, a);
  hg_take<E>(offset + j, o);
#pragma unroll
  for (int q = 0; q < E; q++) v[q] = s[q] * (d[q] - o[q] - (v[q] - m[q]) * a[q]);
  hg_give<E>(dx + i, v);
}

// column is i % c; a division of 64 bits costs more than all the rest.
HG_DEVICE i64 column(i64 i, i64 c) { return (u64)i >> 32 ? i % c : (i64)((u32)i % (u32)c); }

// wide: arrays begin at multiples of 16 bytes and so does each row. Then a thread has 16 bytes.
HG_KERNELS(256, norm_apply,
           (T *dst, const T *x, const T *residual, const float *mean, const float *scale, const float *beta, i64 rows,
            i64 c, int relu, int wide),
           (dst, x, residual, mean, scale, beta, rows, c, relu, wide)) {
  constexpr int E = 16 / sizeof(T);
  if (wide) {
    for (i64 i = hg_index(); i < rows * c / E; i += hg_stride())
      apply<E>(dst, x, residual, mean, scale, beta, relu, i * E, column(i, c / E) * E);
    return;
  }
  for (i64 i = hg_index(); i < rows * c; i += hg_stride())
    apply<1>(dst, x, residual, mean, scale, beta, relu, i, column(i, c));
}

// norm_factors writes dγ and dβ and, for each channel, scale, along and offset:
// dx = scale·(dy − offset − (x − mean)·along). sums may be null: they are zero then.
HG_KERNEL(256, norm_factors_f32, float *dgamma, float *dbeta, float *scale, float *along, float *offset,
          const float *sums, const float *stats, const float *gamma, i64 rows, i64 c, float eps, float acc, int frozen) {
  i64 j = hg_index();
  if (j >= c) return;
  double r = 1. / sqrt((double)stats[c + j] + (double)eps), plain = sums ? sums[j] : 0.f;
  double sum = (sums ? sums[c + j] : 0.f) * r; // Σ dy·x̂
  if (dgamma) dgamma[j] = (float)(acc != 0.f ? (double)acc * dgamma[j] + sum : sum);
  if (dbeta) dbeta[j] = (float)(acc != 0.f ? (double)acc * dbeta[j] + plain : plain);
  scale[j] = (float)((gamma ? (double)gamma[j] : 1.) * r);
  along[j] = frozen ? 0.f : (float)(sum / rows * r);
  offset[j] = frozen ? 0.f : (float)(plain / rows);
}

HG_KERNELS(256, norm_back,
           (T *dx, const T *dy, const T *x, const float *mean, const float *scale, const float *along,
            const float *offset, i64 rows, i64 c, int wide),
           (dx, dy, x, mean, scale, along, offset, rows, c, wide)) {
  constexpr int E = 16 / sizeof(T);
  if (wide) {
    for (i64 i = hg_index(); i < rows * c / E; i += hg_stride())
      back<E>(dx, dy, x, mean, scale, along, offset, i * E, column(i, c / E) * E);
    return;
  }
  for (i64 i = hg_index(); i < rows * c; i += hg_stride()) back<1>(dx, dy, x, mean, scale, along, offset, i, column(i, c));
}
