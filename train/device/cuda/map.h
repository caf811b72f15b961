// map.h: element-wise operations. Arrays are rows of one width with strides of their
// own; arrays without gaps are one row, which is then read and written in 16-byte
// accesses where all of them are aligned.
#pragma once
#include "hg.h"

// hg_map writes f(v) for each element, v holding the elements of the N inputs there.
// An input may be dst itself.
template <int N, class F>
HG_DEVICE void hg_map(float *dst, i64 ldd, const float *const (&in)[N], const i64 (&ld)[N], i64 rows, i64 width, F f) {
  i64 n = rows * width, begin = 0;
  u64 bits = (u64)dst;
#pragma unroll
  for (int k = 0; k < N; k++) bits |= (u64)in[k];
  if (rows == 1 && (bits & 15) == 0) {
    for (i64 i = hg_index(); i < n / 4; i += hg_stride()) {
      f4 v[N], o;
#pragma unroll
      for (int k = 0; k < N; k++) v[k] = ((const f4 *)in[k])[i];
      float x[N], y[N], z[N], w[N];
#pragma unroll
      for (int k = 0; k < N; k++) x[k] = v[k].x, y[k] = v[k].y, z[k] = v[k].z, w[k] = v[k].w;
      o.x = f(x), o.y = f(y), o.z = f(z), o.w = f(w);
      ((f4 *)dst)[i] = o;
    }
    begin = n / 4 * 4;
  }
  for (i64 i = begin + hg_index(); i < n; i += hg_stride()) {
    i64 r = rows == 1 ? 0 : i / width, c = i - r * width;
    float v[N];
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = in[k][r * ld[k] + c];
    dst[r * ldd + c] = f(v);
  }
}
