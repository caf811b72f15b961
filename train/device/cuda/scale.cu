// scale: dst = s·x, s being one number, or one for each row or element. Reads and writes an element
// each. Reference: ../cpu/scale.go
#include "map.h"

HG_KERNELS(256, scale, (T *dst, i64 ldd, const T *x, i64 ldx, const float *s, i64 rows, i64 width),
           (dst, ldd, x, ldx, s, rows, width)) {
  const T *const in[] = {x};
  const i64 ld[] = {ldx};
  float by = s[0];
  hg_map(dst, ldd, in, ld, rows, width, [=](const float(&v)[1]) { return by * v[0]; });
}

HG_KERNELS(256, scale_rows, (T *dst, i64 ldd, const T *x, i64 ldx, const float *s, i64 rows, i64 width),
           (dst, ldd, x, ldx, s, rows, width)) {
  for (i64 i = hg_index(); i < rows * width; i += hg_stride()) {
    i64 r = i / width, c = i - r * width;
    dst[r * ldd + c] = s[r] * x[r * ldx + c];
  }
}

HG_KERNELS(256, scale_each, (T *dst, i64 ldd, const T *x, i64 ldx, const T *s, i64 lds, i64 rows, i64 width),
           (dst, ldd, x, ldx, s, lds, rows, width)) {
  const T *const in[] = {x, s};
  const i64 ld[] = {ldx, lds};
  hg_map(dst, ldd, in, ld, rows, width, [](const float(&v)[2]) { return v[0] * v[1]; });
}
