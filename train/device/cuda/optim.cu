// adam, sgd: one step of an optimizer over a group, formulas in ../reference/adam.go and
// ../reference/sgd.go; average: dst += rate·(x − dst); track: that of
// the statistics of a batch, if they are finite; guard: flag += the number of non-finite
// values of x; pace: the constants that depend on the number of updates. If flag is not
// null and not 0, nothing changes. hyper is that of device.HyperRate …; shadow, if not
// null, receives w in the type shadow_type. All arrays are flat, except that those of
// average and guard are rows of a width with strides.
// In float: an update is added to w with one rounding, so that it may be far below w. Adam reads 4
// floats an element and writes 3. wide: all arrays begin at multiples of 16 bytes. Then a thread has
// four elements.
#include "typed.h"

enum { RATE, DECAY, SCALE, BIAS1, BIAS2, FIRST_STEP };

// store writes E elements of shadow from i on.
template <int E> HG_DEVICE void store(void *shadow, int type, i64 i, const float (&v)[E]) {
  if (!shadow) return;
  if constexpr (E == 4) {
    if (type == HG_BF16) {
      ((u64 *)shadow)[i / 4] = (u64)hg_pair(v[2], v[3]) << 32 | hg_pair(v[0], v[1]);
      return;
    }
  }
#pragma unroll
  for (int e = 0; e < E; e++) hg_store(shadow, type, i + e, v[e]);
}

// adam is a step of E elements. An eps and a rate of 0 are valid.
struct adam {
  float rate, root, shrink, decay, scale, beta1, beta2, eps;

  template <int E>
  HG_METHOD void step(float *w, float *m, float *v, const float *dw, void *shadow, int type, i64 i) const {
    float x[E], first[E], second[E], g[E];
    hg_take<E>(w + i, x);
    hg_take<E>(m + i, first);
    hg_take<E>(v + i, second);
    hg_take<E>(dw + i, g);
#pragma unroll
    for (int e = 0; e < E; e++) {
      g[e] = fmaf(decay, x[e], scale * g[e]);
      first[e] = fmaf(beta1, first[e], (1.f - beta1) * g[e]);
      second[e] = fmaf(beta2, second[e], (1.f - beta2) * g[e] * g[e]);
      x[e] -= fmaf(shrink, x[e], rate * first[e] / fmaf(sqrtf(second[e]), root, eps));
    }
    hg_give<E>(m + i, first);
    hg_give<E>(v + i, second);
    hg_give<E>(w + i, x);
    store<E>(shadow, type, i, x);
  }
};

HG_KERNEL(256, adam_f32, float *w, float *m, float *v, const float *dw, void *shadow, int shadow_type, const float *hyper,
          const int *flag, float beta1, float beta2, float eps, int decoupled, i64 n, int wide) {
  if (flag && *flag) return;
  adam a = {hyper[RATE] / hyper[BIAS1], 1.f / sqrtf(hyper[BIAS2]), 0.f, hyper[DECAY], hyper[SCALE], beta1, beta2, eps};
  if (decoupled) a.shrink = hyper[RATE] * a.decay, a.decay = 0.f;
  i64 begin = wide ? n / 4 * 4 : 0;
  for (i64 i = hg_index() * 4; i < begin; i += hg_stride() * 4) a.step<4>(w, m, v, dw, shadow, shadow_type, i);
  for (i64 i = begin + hg_index(); i < n; i += hg_stride()) a.step<1>(w, m, v, dw, shadow, shadow_type, i);
}

// sgd is a step of E elements. m is null without momentum.
struct sgd {
  float rate, decay, scale, momentum, dampening;
  bool nesterov, begins;

  template <int E> HG_METHOD void step(float *w, float *m, const float *dw, void *shadow, int type, i64 i) const {
    float x[E], past[E], g[E];
    hg_take<E>(w + i, x);
    hg_take<E>(dw + i, g);
    if (momentum != 0.f && !begins) hg_take<E>(m + i, past);
#pragma unroll
    for (int e = 0; e < E; e++) {
      g[e] = fmaf(decay, x[e], scale * g[e]);
      if (momentum != 0.f) {
        past[e] = begins ? g[e] : fmaf(momentum, past[e], (1.f - dampening) * g[e]);
        g[e] = nesterov ? fmaf(momentum, past[e], g[e]) : past[e];
      }
      x[e] = fmaf(-rate, g[e], x[e]);
    }
    if (momentum != 0.f) hg_give<E>(m + i, past);
    hg_give<E>(w + i, x);
    store<E>(shadow, type, i, x);
  }
};

HG_KERNEL(256, sgd_f32, float *w, float *m, const float *dw, void *shadow, int shadow_type, const float *hyper,
          const int *flag, float momentum, float dampening, int nesterov, i64 n, int wide) {
  if (flag && *flag) return;
  sgd s = {hyper[RATE], hyper[DECAY], hyper[SCALE], momentum, dampening, nesterov != 0, hyper[FIRST_STEP] != 0.f};
  i64 begin = wide ? n / 4 * 4 : 0;
  for (i64 i = hg_index() * 4; i < begin; i += hg_stride() * 4) s.step<4>(w, m, dw, shadow, shadow_type, i);
  for (i64 i = begin + hg_index(); i < n; i += hg_stride()) s.step<1>(w, m, dw, shadow, shadow_type, i);
}

HG_KERNEL(256, average_f32, float *dst, i64 ldd, const float *x, i64 ldx, i64 rows, i64 width, const float *rate,
          const int *flag) {
  if (flag && *flag) return;
  float by = *rate;
  for (i64 i = hg_index(); i < rows * width; i += hg_stride()) {
    i64 r = rows == 1 ? 0 : i / width, c = i - r * width;
    float v = dst[r * ldd + c];
    dst[r * ldd + c] = fmaf(by, x[r * ldx + c] - v, v);
  }
}

// track is average for mean and variance [2,c] of a batch, the variance times `unbiased`, by one block, after guard.
HG_KERNEL(256, track_f32, float *running, const float *stats, const float *rate, int *flag, i64 c, float unbiased) {
  HG_SHARED(int, found, [256]);
  int bad = 0;
  for (i64 i = threadIdx.x; i < 2 * c; i += 256) bad += !hg_finite(stats[i]);
  found[threadIdx.x] = bad;
  __syncthreads();
  bad = 0;
  for (int i = 0; i < 256; i++) bad += found[i];
  bad += *flag;
  __syncthreads();
  if (threadIdx.x == 0) *flag = bad;
  if (bad) return;
  float by = *rate;
  for (i64 i = threadIdx.x; i < 2 * c; i += 256) {
    float v = running[i], x = i < c ? stats[i] : unbiased * stats[i];
    running[i] = fmaf(by, x - v, v);
  }
}

// guard is wide only where x is one row.
HG_KERNEL(256, guard_f32, int *flag, const float *x, i64 ld, i64 rows, i64 width, int wide) {
  int bad = 0;
  i64 n = rows * width, begin = wide ? n / 4 * 4 : 0;
  for (i64 i = hg_index() * 4; i < begin; i += hg_stride() * 4) {
    float v[4];
    hg_take<4>(x + i, v);
#pragma unroll
    for (int e = 0; e < 4; e++) bad += !hg_finite(v[e]);
  }
  for (i64 i = begin + hg_index(); i < n; i += hg_stride()) {
    i64 r = rows == 1 ? 0 : i / width;
    bad += !hg_finite(x[r * ld + i - r * width]);
  }
  if (bad) atomicAdd(flag, bad);
}

HG_KERNEL(32, pace_f32, float *dst, int *count, const int *flag, int kind, float beta1, float beta2, double decay, int rise) {
  if (threadIdx.x > 0 || (flag && *flag)) return;
  double t = ++*count;
  if (kind == 1) {
    double least = (1 + t) / (10 + t);
    dst[0] = (float)(1 - (rise && least < decay ? least : decay));
    return;
  }
  dst[0] = (float)(1 - hg_exp(t * hg_log((double)beta1)));
  dst[1] = (float)(1 - hg_exp(t * hg_log((double)beta2)));
  dst[2] = t == 1 ? 1.f : 0.f;
}
