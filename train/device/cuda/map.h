// map.h: element-wise operations. Arrays are rows of one width with strides of their
// own; arrays without gaps are one row, which is then read and written in 16-byte
// accesses where all of them are aligned.
#pragma once
#include "typed.h"

// hg_map writes f(v) for each element, v holding the elements of the N inputs there.
// An input may be dst itself.
template <int N, class T, class F>
HG_DEVICE void hg_map(T *dst, i64 ldd, const T *const (&in)[N], const i64 (&ld)[N], i64 rows, i64 width, F f) {
  constexpr int E = 16 / sizeof(T); // elements of an access
  i64 n = rows * width, begin = 0;
  u64 bits = (u64)dst;
#pragma unroll
  for (int k = 0; k < N; k++) bits |= (u64)in[k];
  if (rows == 1 && (bits & 15) == 0) {
    for (i64 i = hg_index(); i < n / E; i += hg_stride()) {
      float v[N][E], o[E];
#pragma unroll
      for (int k = 0; k < N; k++) hg_unpack(((const f4 *)in[k])[i], v[k]);
#pragma unroll
      for (int e = 0; e < E; e++) {
        float x[N];
#pragma unroll
        for (int k = 0; k < N; k++) x[k] = v[k][e];
        o[e] = f(x);
      }
      ((f4 *)dst)[i] = hg_pack(o);
    }
    begin = n / E * E;
  }
  for (i64 i = begin + hg_index(); i < n; i += hg_stride()) {
    i64 r = rows == 1 ? 0 : i / width, c = i - r * width;
    float v[N];
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = in[k][r * ld[k] + c];
    dst[r * ldd + c] = f(v);
  }
}
