// typed.h: kernels for activations in F32 or BF16. They compute in float32 or wider. Elements
// stored in BF16 are rounded to nearest, ties to even.
#pragma once
#include "convert.h"
#include "platform_typed.h"

// bf16 is an element of BF16. It reads as a float and rounds on assignment.
struct bf16 {
  u16 bits;

  HG_METHOD operator float() const { return hg_widen_bf16(bits); }
  HG_METHOD bf16 &operator=(float v) {
    bits = hg_round_bf16(v);
    return *this;
  }
};

// The type of activations in the kernels whose names end in _f32 and _bf16.
namespace hg_of_f32 {
typedef float T;
}
namespace hg_of_bf16 {
typedef bf16 T;
}

// HG_KERNELS begins the body of two kernels, name_f32 and name_bf16. T is the type of their
// activations. params are the parameters in parentheses, args their names.
#define HG_LIST(...) __VA_ARGS__
#define HG_KERNELS(threads, name, params, args)                                         \
  template <class T> HG_DEVICE void name params;                                        \
  namespace hg_of_f32 {                                                                 \
  HG_KERNEL(threads, name##_f32, HG_LIST params) { ::name<T> args; }                    \
  }                                                                                     \
  namespace hg_of_bf16 {                                                                \
  HG_KERNEL(threads, name##_bf16, HG_LIST params) { ::name<T> args; }                   \
  }                                                                                     \
  template <class T> HG_DEVICE void name params

// hg_unpack widens the elements in 16 bytes: four floats, or eight of BF16.
HG_DEVICE void hg_unpack(f4 raw, float (&v)[4]) { v[0] = raw.x, v[1] = raw.y, v[2] = raw.z, v[3] = raw.w; }
HG_DEVICE void hg_unpack(f4 raw, float (&v)[8]) {
  u32 words[4] = {__float_as_uint(raw.x), __float_as_uint(raw.y), __float_as_uint(raw.z), __float_as_uint(raw.w)};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    v[2 * i] = __uint_as_float(words[i] << 16);
    v[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}

// hg_pack is the inverse of hg_unpack, with rounding.
HG_DEVICE f4 hg_pack(const float (&v)[4]) { return {v[0], v[1], v[2], v[3]}; }
HG_DEVICE f4 hg_pack(const float (&v)[8]) {
  u32 words[4];
#pragma unroll
  for (int i = 0; i < 4; i++) words[i] = hg_pair(v[2 * i], v[2 * i + 1]);
  return {__uint_as_float(words[0]), __uint_as_float(words[1]), __uint_as_float(words[2]), __uint_as_float(words[3])};
}

// hg_take reads E neighbouring elements: one, or whole groups of 16 bytes at an aligned address.
// hg_give writes them.
template <int E, class T> HG_DEVICE void hg_take(const T *from, float (&v)[E]) {
  constexpr int AT_ONCE = 16 / sizeof(T);
  if constexpr (E < AT_ONCE) {
    v[0] = *from;
  } else {
#pragma unroll
    for (int i = 0; i < E; i += AT_ONCE) {
      float some[AT_ONCE];
      hg_unpack(*(const f4 *)(from + i), some);
#pragma unroll
      for (int q = 0; q < AT_ONCE; q++) v[i + q] = some[q];
    }
  }
}
template <int E, class T> HG_DEVICE void hg_give(T *to, const float (&v)[E]) {
  constexpr int AT_ONCE = 16 / sizeof(T);
  if constexpr (E < AT_ONCE) {
    *to = v[0];
  } else {
#pragma unroll
    for (int i = 0; i < E; i += AT_ONCE) {
      float some[AT_ONCE];
#pragma unroll
      for (int q = 0; q < AT_ONCE; q++) some[q] = v[i + q];
      *(f4 *)(to + i) = hg_pack(some);
    }
  }
}

// hg_as_stored rounds as hg_give does. A conversion of a pair takes a quarter of the time of one alone.
template <int E, class T> HG_DEVICE void hg_as_stored(float (&v)[E]) {
  if constexpr (E * sizeof(T) < 16) {
    T one;
    one = v[0];
    v[0] = one;
  } else {
    hg_unpack(hg_pack(v), v);
  }
}
