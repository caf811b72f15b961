// step.h: the step functions of device.Step on t = s_i − s_k, in float32.
// Reference: ../reference/pairrank.go
#pragma once
#include "hg.h"

// STEP_CURVE is Sigmoid or Upper, a Sigmoid being an Upper that does not jump at 0 and
// has no last piece.
enum { STEP_NONE, STEP_HEAVISIDE, STEP_CURVE, STEP_LEAK };

// Step is stepArg of steps.go. scale is 1/τ.
struct Step {
  int kind;
  float scale, rate;                     // rate is log2(e)/τ
  float rho, delta, start, offset, zero; // curve; delta is +∞ for a Sigmoid
  float leak, beta, gamma;
};

// Steps holds the step of the rank and of the positives' rank by how the level of item i
// compares with that of k: higher, equal, lower.
struct Steps {
  Step rank[3], plus[3];
};

// steps_load copies the steps to shared memory, where they may be indexed by level; the
// rank's come first. A barrier must follow.
HG_DEVICE void steps_load(Step *to, const Steps &h) {
  if (threadIdx.x == 0) {
#pragma unroll
    for (int c = 0; c < 3; c++) {
      to[c] = h.rank[c];
      to[3 + c] = h.plus[c];
    }
  }
}

// steps_class is the index of the step by which level li counts for level lk.
HG_DEVICE int steps_class(int li, int lk) { return li > lk ? 0 : li == lk ? 1 : 2; }

// StepTail is what a curve needs of one t: σ(−|t|/τ), and the slope of σ there times τ.
struct StepTail {
  float tail, bell;
};

// step_tail: both within 4 units in the last place, besides the rounding of the exponent. A NaN counts
// as far. With e = e^(−|t|/τ) = 2^n·2^r, tail is e/(1+e) and bell e/(1+e)². 2^r is the polynomial of
// degree 5 that is nearest on |r| ≤ ½ (9e-8). The inverse of 1 + e is one of degree 3 (1.7e-3), and a step
// of Halley's method takes its error to the third power. 20 instructions, where a division alone has as many.
HG_DEVICE StepTail step_tail(float t, float rate, float reach) {
  const float round = 12582912.f; // 1.5·2^23: the sum's last bits are the integer
  float x = fmaxf(-fabsf(t), reach), sum = fmaf(x, rate, round), r = fmaf(x, rate, -(sum - round));
  float p = 0.0013264727f;
  p = fmaf(p, r, 0.009671513f);
  p = fmaf(p, r, 0.055507336f);
  p = fmaf(p, r, 0.24022242f);
  p = fmaf(p, r, 0.693147f);
  p = fmaf(p, r, 1.f);
  float e = __uint_as_float(__float_as_uint(p) + (__float_as_uint(sum) << 23));
  float inverse = fmaf(-0.221837f, e, 0.6655111f);
  inverse = fmaf(inverse, e, -0.94280756f);
  inverse = fmaf(inverse, e, 0.9982669f);
  float error = fmaf(-inverse, 1.f + e, 1.f);
  inverse = fmaf(inverse, fmaf(error, error, error), inverse);
  float tail = e * inverse;
  return {tail, tail * inverse};
}

// step_reach is the lowest −|t| that step_tail tells apart: 2^−120 is 0 in any sum.
HG_DEVICE float step_reach(const Step &f) { return -120.f / f.rate; }

// step_slope is the derivative of f at t.
HG_DEVICE float step_slope(const Step &f, float t) {
  if (f.kind == STEP_CURVE) {
    if (t > f.delta && t > 0.f) return f.rho;
    return step_tail(t, f.rate, step_reach(f)).bell * f.scale;
  }
  if (f.kind == STEP_LEAK) return t <= 0.f ? f.leak : fmaf(f.beta, t, f.gamma) < 1.f ? f.beta : 0.f;
  return 0.f;
}

// StepAt is a step at one t.
struct StepAt {
  float value, slope;
};

// step_curve is step_at of a curve whose reach is known. The slope is in units of 1/τ: tauRho is ρτ.
HG_DEVICE StepAt step_curve(const Step &f, float reach, float tauRho, float t) {
  StepTail a = step_tail(t, f.rate, reach);
  float value = t < 0.f ? a.tail : t > 0.f ? f.start + 1.f - a.tail : f.zero;
  bool last = t > f.delta && t > 0.f;
  return {last ? fmaf(f.rho, t - f.delta, f.offset) : value, last ? tauRho : a.bell};
}

// step_at returns f and its derivative at t.
HG_DEVICE StepAt step_at(const Step &f, float t) {
  if (f.kind == STEP_HEAVISIDE) return {t >= 0.f ? 1.f : 0.f, 0.f};
  if (f.kind == STEP_CURVE) {
    StepAt a = step_curve(f, step_reach(f), 0.f, t);
    return {a.value, t > f.delta && t > 0.f ? f.rho : a.slope * f.scale};
  }
  if (f.kind == STEP_LEAK) {
    float up = fmaf(f.beta, t, f.gamma);
    if (t <= 0.f) return {f.leak * t, f.leak};
    return {hg_min(up, 1.f), up < 1.f ? f.beta : 0.f};
  }
  return {0.f, 0.f};
}
