// convert.h: between the types of storage. Rounding is to the nearest, ties to even; to
// an integer towards zero, to the nearest that fits, NaN to 0. See internal/half.
#pragma once
#include "hg.h"

// The numbers of device.DType.
enum { HG_F32, HG_BF16, HG_F16, HG_I32, HG_U8 };

HG_DEVICE float hg_widen_bf16(u16 h) { return __uint_as_float((u32)h << 16); }

HG_DEVICE u16 hg_narrow_bf16(float v) {
  u32 bits = __float_as_uint(v);
  if (hg_nan(v)) return (u16)(bits >> 16) | 0x40;
  return (u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

HG_DEVICE float hg_widen_f16(u16 h) {
  u32 sign = (u32)(h & 0x8000) << 16, exponent = (u32)(h >> 10) & 31, mantissa = h & 0x3ff;
  if (exponent == 0) return __uint_as_float(sign | __float_as_uint((float)mantissa * 5.9604644775390625e-8f));
  if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | mantissa << 13);
  return __uint_as_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

HG_DEVICE u16 hg_narrow_f16(float v) {
  u32 bits = __float_as_uint(v), size = bits & 0x7fffffffu;
  u16 sign = (u16)(bits >> 16) & 0x8000;
  if (size > 0x7f800000u) return sign | 0x7e00 | ((u16)(size >> 13) & 0x3ff);
  if (size >= 0x477ff000u) return sign | 0x7c00;                                               // 65,520 and more
  if (size < 0x38800000u) return sign | (u16)rintf(__uint_as_float(size) * 16777216.f); // below 2^-14
  return sign | (u16)((size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13);
}

// hg_load returns element i of an array of the given type.
HG_DEVICE double hg_load(const void *p, int type, i64 i) {
  switch (type) {
  case HG_F32: return ((const float *)p)[i];
  case HG_BF16: return hg_widen_bf16(((const u16 *)p)[i]);
  case HG_F16: return hg_widen_f16(((const u16 *)p)[i]);
  case HG_I32: return ((const int *)p)[i];
  default: return ((const u8 *)p)[i];
  }
}

HG_DEVICE double hg_clip(double v, double low, double high) {
  if (hg_nan(v)) return 0;
  return v < low ? low : v > high ? high : v;
}

// hg_store sets element i of an array of the given type.
HG_DEVICE void hg_store(void *p, int type, i64 i, double v) {
  switch (type) {
  case HG_F32: ((float *)p)[i] = (float)v; break;
  case HG_BF16: ((u16 *)p)[i] = hg_narrow_bf16((float)v); break;
  case HG_F16: ((u16 *)p)[i] = hg_narrow_f16((float)v); break;
  case HG_I32: ((int *)p)[i] = (int)hg_clip(v, -2147483648., 2147483647.); break;
  default: ((u8 *)p)[i] = (u8)hg_clip(v, 0, 255);
  }
}
