// act.h: the activations and their slopes.
#pragma once
#include "hg.h"

// The numbers of device.Func.
enum { HG_IDENTITY, HG_RELU, HG_GELU, HG_GELU_TANH, HG_QUICK_GELU };

#define HG_QUICK 1.702f
#define HG_TANH_SCALE 1.595769121605731f // 2√(2/π)
#define HG_TANH_CUBE 0.044715f

// hg_act is the activation number f at x.
HG_DEVICE float hg_act(float x, int f) {
  switch (f) {
  case HG_RELU: return x > 0.f || hg_nan(x) ? x : 0.f;
  case HG_GELU: return x * hg_phi(x);
  case HG_GELU_TANH: return x * hg_sigmoid(HG_TANH_SCALE * x * fmaf(HG_TANH_CUBE * x, x, 1.f));
  case HG_QUICK_GELU: return x * hg_sigmoid(HG_QUICK * x);
  default: return x;
  }
}

// hg_gate_slope is the derivative of x·σ(u) with u = scale·(x + cube·x³).
HG_DEVICE float hg_gate_slope(float x, float scale, float cube) {
  float z = x * x, g = hg_sigmoid(scale * x * fmaf(cube, z, 1.f));
  return fmaf(g * (1.f - g) * x, scale * fmaf(3.f * cube, z, 1.f), g);
}

// hg_slope is the derivative of activation f at x.
HG_DEVICE float hg_slope(float x, int f) {
  switch (f) {
  case HG_RELU: return x > 0.f ? 1.f : 0.f;
  case HG_GELU: return hg_phi_slope(x);
  case HG_GELU_TANH: return hg_gate_slope(x, HG_TANH_SCALE, HG_TANH_CUBE);
  case HG_QUICK_GELU: return hg_gate_slope(x, HG_QUICK, 0.f);
  default: return 1.f;
  }
}
