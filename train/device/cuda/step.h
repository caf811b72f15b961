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
  float scale;
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

// step_near returns e = e^(−|t|/τ): then σ(−|t|/τ) = e/(1+e), and the slope of σ at |t|
// is e/(1+e)²/τ. The exponent is bounded as in the definition, where it matters to
// neither by more than 2e-22.
HG_DEVICE float step_near(const Step &f, float t) { return hg_exp(-hg_min(fabsf(t) * f.scale, 50.f)); }

// step_slope is the derivative of f at t.
HG_DEVICE float step_slope(const Step &f, float t) {
  if (f.kind == STEP_CURVE) {
    if (t > f.delta && t > 0.f) return f.rho;
    if (fabsf(t) * f.scale > 50.f) return 0.f;
    float e = step_near(f, t), r = 1.f / (1.f + e);
    return e * r * r * f.scale;
  }
  if (f.kind == STEP_LEAK) return t <= 0.f ? f.leak : fmaf(f.beta, t, f.gamma) < 1.f ? f.beta : 0.f;
  return 0.f;
}

// StepAt is a step at one t.
struct StepAt {
  float value, slope;
};

// step_at returns f and its derivative at t.
HG_DEVICE StepAt step_at(const Step &f, float t) {
  if (f.kind == STEP_HEAVISIDE) return {t >= 0.f ? 1.f : 0.f, 0.f};
  if (f.kind == STEP_CURVE) {
    if (t > f.delta && t > 0.f) return {fmaf(f.rho, t - f.delta, f.offset), f.rho};
    float e = step_near(f, t), r = 1.f / (1.f + e), tail = e * r;
    float value = t < 0.f ? tail : t > 0.f ? f.start + 1.f - tail : f.zero;
    return {value, fabsf(t) * f.scale > 50.f ? 0.f : tail * r * f.scale};
  }
  if (f.kind == STEP_LEAK) {
    float up = fmaf(f.beta, t, f.gamma);
    if (t <= 0.f) return {f.leak * t, f.leak};
    return {hg_min(up, 1.f), up < 1.f ? f.beta : 0.f};
  }
  return {0.f, 0.f};
}
