// norm: batch normalisation of x [rows, c], channel by channel,
//
//	dst = γ(x − mean)·r + β (+ residual) (then ReLU), r = 1/√(variance + eps)
//
// norm_moments makes parts (moments.h) of spans of rows, and so does a convolution of its tiles;
// norm_join joins them to stats [2,c], in two stages where there are many. norm_apply reads x, and residual, once
// and writes dst. The gradient without residual and ReLU,
// x̂ = (x − mean)·r:
//
//	dβ = Σ dy, dγ = Σ dy·x̂
//	dx = γr(dy − dβ/n − x̂·dγ/n), or γr·dy with frozen statistics
//
// is norm_back, from the sums [2,c] of dy and of dy·(x − mean) (relugrad.cu,
// conv_gradx). gamma, beta, residual and all gradients may be null. Each block computes the factors of its channels in
// double and writes them to shared memory: another launch for them takes longer. Reference: ../reference/norm.go
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
// writes a part for each run, or stats if there is one run. Where a row of what was summed has `beside` rows of c
// channels, side by side, each part has one of these, and parts of one place follow each other: run is a multiple.
HG_KERNEL(256, norm_join_f32, double *out, float *stats, const double *parts, i64 count, i64 unit, i64 rows, i64 run,
          i64 c, int beside) {
  HG_SHARED(double, room, [2 * 8 * 32]);
  i64 across = (c + 31) / 32, at = blockIdx.x / across, j = (blockIdx.x - at * across) * 32 + hg_lane();
  i64 first = at * run, end = hg_least(count, first + run), squares = beside * c;
  hg_moments all;
  all.begin(j < c && first < end ? parts[2 * first * c + j] : 0.);
  if (j < c)
    for (i64 p = first + hg_warp(); p < end; p += 8) {
      i64 place = hg_quotient(p, beside);
      const double *part = parts + (place * beside + p) * c + j; // those before it have means and squares
      all.add((int)hg_least(unit, rows - place * unit), part[0], 0, part[squares]);
    }
  room[hg_warp() * 32 + hg_lane()] = all.sum;
  room[256 + hg_warp() * 32 + hg_lane()] = all.squares;
  __syncthreads();
  if (hg_warp() != 0 || j >= c) return;
  all.sum = all.squares = 0;
  for (int w = 0; w < 8; w++) all.sum += room[w * 32 + hg_lane()], all.squares += room[256 + w * 32 + hg_lane()];
  i64 n = beside * (hg_least(rows, end / beside * unit) - first / beside * unit);
  if (!stats) {
    all.put(out, at, c, j, n);
    return;
  }
  double variance = (all.squares - all.sum * all.sum / n) / n;
  stats[j] = (float)(all.origin + all.sum / n);
  stats[c + j] = (float)(variance < 0 ? 0 : variance);
}

// part is what a thread has of a matrix that is cut as in hg_columns: E channels from j on, of every `down`-th row. Of
// the factors of the block's channels, from place k on in shared memory, it computes those of channel own.
struct part {
  i64 own, j, begin, end; // own is c for none
  int k, down;
  bool top; // of the first rows
};

template <int E> HG_DEVICE part part_of(i64 rows, i64 c, int lanes) {
  i64 each = (i64)lanes * E, across = (c + each - 1) / each, span = blockIdx.x / across;
  i64 first = (blockIdx.x - span * across) * each, own = first + threadIdx.x;
  int side = (int)threadIdx.x & (lanes - 1);
  return {(int)threadIdx.x < each && own < c ? own : c, first + side * E, span * HG_SPAN + (int)threadIdx.x / lanes,
          hg_least(rows, (span + 1) * HG_SPAN), side * E, 256 / lanes, span == 0};
}

// apply and back are norm_apply and norm_back. room is 256 floats, or three times as many.
template <int E, class T>
HG_DEVICE void apply(float *room, T *dst, const T *x, const T *residual, const float *stats, const float *gamma,
                     const float *beta, i64 rows, i64 c, float eps, int relu, int lanes) {
  part at = part_of<E>(rows, c, lanes);
  i64 own = at.own;
  if (own < c)
    room[threadIdx.x] = (float)((gamma ? (double)gamma[own] : 1.) / sqrt((double)stats[c + own] + (double)eps));
  __syncthreads();
  if (at.j >= c) return;
  float m[E], s[E], b[E];
  hg_take<E>(stats + at.j, m);
  hg_take<E>(room + at.k, s);
  if (beta) hg_take<E>(beta + at.j, b);
  for (i64 r = at.begin; r < at.end; r += at.down) {
    float v[E], add[E];
    hg_take<E>(x + r * c + at.j, v);
    if (residual) hg_take<E>(residual + r * c + at.j, add);
#pragma unroll
    for (int q = 0; q < E; q++) {
      float u = fmaf(v[q] - m[q], s[q], beta ? b[q] : 0.f);
      if (residual) u += add[q];
      v[q] = relu && u < 0.f ? 0.f : u;
    }
    hg_give<E>(dst + r * c + at.j, v);
  }
}

template <int E, class T>
HG_DEVICE void back(float *room, T *dx, float *dgamma, float *dbeta, const T *dy, const T *x, const float *sums,
                    const float *stats, const float *gamma, i64 rows, i64 c, float eps, float acc, int frozen, int lanes) {
  part at = part_of<E>(rows, c, lanes);
  float *scale = room, *along = room + 256, *offset = room + 512;
  i64 own = at.own;
  if (own < c) {
    double r = 1. / sqrt((double)stats[c + own] + (double)eps), plain = sums ? sums[own] : 0.f;
    double sum = (sums ? sums[c + own] : 0.f) * r; // Σ dy·x̂
    if (at.top && dgamma) dgamma[own] = (float)(acc != 0.f ? (double)acc * dgamma[own] + sum : sum);
    if (at.top && dbeta) dbeta[own] = (float)(acc != 0.f ? (double)acc * dbeta[own] + plain : plain);
    scale[threadIdx.x] = (float)((gamma ? (double)gamma[own] : 1.) * r);
    along[threadIdx.x] = frozen ? 0.f : (float)(sum / rows * r);
    offset[threadIdx.x] = frozen ? 0.f : (float)(plain / rows);
  }
  __syncthreads();
  if (at.j >= c || !dx) return;
  float m[E], s[E], a[E], o[E];
  hg_take<E>(stats + at.j, m);
  hg_take<E>(scale + at.k, s);
  hg_take<E>(along + at.k, a);
  hg_take<E>(offset + at.k, o);
  for (i64 r = at.begin; r < at.end; r += at.down) {
    float d[E], v[E];
    hg_take<E>(dy + r * c + at.j, d);
    hg_take<E>(x + r * c + at.j, v);
#pragma unroll
    for (int q = 0; q < E; q++) v[q] = s[q] * (d[q] - o[q] - (v[q] - m[q]) * a[q]);
    hg_give<E>(dx + r * c + at.j, v);
  }
}

// lanes is that of hg_columns, or 0: a thread has one channel then.
HG_KERNELS(256, norm_apply,
           (T *dst, const T *x, const T *residual, const float *stats, const float *gamma, const float *beta, i64 rows,
            i64 c, float eps, int relu, int lanes),
           (dst, x, residual, stats, gamma, beta, rows, c, eps, relu, lanes)) {
  HG_SHARED(f4, room, [64]);
  if (lanes)
    apply<16 / sizeof(T)>((float *)room, dst, x, residual, stats, gamma, beta, rows, c, eps, relu, lanes);
  else
    apply<1>((float *)room, dst, x, residual, stats, gamma, beta, rows, c, eps, relu, 32);
}

// norm_back also writes dγ and dβ. sums may be null: they are zero then.
HG_KERNELS(256, norm_back,
           (T *dx, float *dgamma, float *dbeta, const T *dy, const T *x, const float *sums, const float *stats,
            const float *gamma, i64 rows, i64 c, float eps, float acc, int frozen, int lanes),
           (dx, dgamma, dbeta, dy, x, sums, stats, gamma, rows, c, eps, acc, frozen, lanes)) {
  HG_SHARED(f4, room, [3 * 64]);
  if (lanes)
    back<16 / sizeof(T)>((float *)room, dx, dgamma, dbeta, dy, x, sums, stats, gamma, rows, c, eps, acc, frozen, lanes);
  else
    back<1>((float *)room, dx, dgamma, dbeta, dy, x, sums, stats, gamma, rows, c, eps, acc, frozen, 32);
}
