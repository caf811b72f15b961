// adam, sgd: one step of an optimizer over a group, formulas in ../reference/adam.go and
// ../reference/sgd.go; average: dst += rate·(x − dst); guard: flag += the number of non-finite
// values of x; pace: the constants that depend on the number of updates. If flag is not
// null and not 0, nothing changes. hyper is that of device.HyperRate …; shadow, if not
// null, receives w in the type shadow_type. All arrays are flat, except that those of
// average and guard are rows of a width with strides.
// In double. Adam reads 4 floats an element and writes 3.
#include "convert.h"

enum { RATE, DECAY, SCALE, BIAS1, BIAS2, FIRST_STEP };

HG_KERNEL(256, adam_f32, float *w, float *m, float *v, const float *dw, void *shadow, int shadow_type, const float *hyper,
          const int *flag, float beta1, float beta2, float eps, int decoupled, i64 n) {
  if (flag && *flag) return;
  double b1 = beta1, b2 = beta2, scale = hyper[SCALE], decay = hyper[DECAY], keep = 1;
  double rate = (double)hyper[RATE] / hyper[BIAS1], root = 1. / sqrt((double)hyper[BIAS2]);
  if (decoupled) keep = 1 - (double)hyper[RATE] * decay, decay = 0;
  for (i64 i = hg_index(); i < n; i += hg_stride()) {
    double x = w[i], g = scale * dw[i] + decay * x;
    double first = b1 * m[i] + (1 - b1) * g, second = b2 * v[i] + (1 - b2) * g * g;
    m[i] = (float)first, v[i] = (float)second;
    float now = (float)(keep * x - rate * first / (sqrt(second) * root + (double)eps));
    w[i] = now;
    if (shadow) hg_store(shadow, shadow_type, i, now);
  }
}

HG_KERNEL(256, sgd_f32, float *w, float *m, const float *dw, void *shadow, int shadow_type, const float *hyper,
          const int *flag, float momentum, float dampening, int nesterov, i64 n) {
  if (flag && *flag) return;
  double mu = momentum, rate = hyper[RATE], scale = hyper[SCALE], decay = hyper[DECAY];
  bool first = hyper[FIRST_STEP] != 0.f;
  for (i64 i = hg_index(); i < n; i += hg_stride()) {
    double x = w[i], g = scale * dw[i] + decay * x, step = g;
    if (momentum != 0.f) {
      double past = first ? g : mu * m[i] + (1 - (double)dampening) * g;
      m[i] = (float)past;
      step = nesterov ? g + mu * past : past;
    }
    float now = (float)(x - rate * step);
    w[i] = now;
    if (shadow) hg_store(shadow, shadow_type, i, now);
  }
}

HG_KERNEL(256, average_f32, float *dst, i64 ldd, const float *x, i64 ldx, i64 rows, i64 width, const float *rate,
          const int *flag) {
  if (flag && *flag) return;
  double by = *rate;
  for (i64 i = hg_index(); i < rows * width; i += hg_stride()) {
    i64 r = rows == 1 ? 0 : i / width, c = i - r * width;
    double v = dst[r * ldd + c];
    dst[r * ldd + c] = (float)(v + by * (x[r * ldx + c] - v));
  }
}

HG_KERNEL(256, guard_f32, int *flag, const float *x, i64 ld, i64 rows, i64 width) {
  int bad = 0;
  for (i64 i = hg_index(); i < rows * width; i += hg_stride()) {
    i64 r = rows == 1 ? 0 : i / width;
    bad += !hg_finite(x[r * ld + i - r * width]);
  }
  if (bad) atomicAdd(flag, bad);
}

// pace counts an update, t, and writes its bias corrections and whether it is the first
// (kind 0), or the rate of a moving average (kind 1). One thread.
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
