// axpby: dst = a·x + b·y, y repeated over the leading dimensions that it lacks.
// dst, x are rows of the given width and row strides; y has n elements in all, of which
// row r takes those from (r·width) mod n on, or its own rows of stride ldy if n is 0.
// With b = 0 y is not read. Arrays without gaps, of equal size, are one row. Reads 1 or 2 floats an
// element and writes one.
// Reference: ../cpu/axpby.go
#include "map.h"

HG_KERNELS(256, axpby,
           (T *dst, float a, const T *x, float b, const T *y, i64 rows, i64 width, i64 ldd, i64 ldx, i64 ldy,
            i64 n),
           (dst, a, x, b, y, rows, width, ldd, ldx, ldy, n)) {
  if (rows == 1 && n == 0) { // arrays without gaps
    const T *const one[] = {x}, *const both[] = {x, y};
    const i64 ld[] = {width, width}, first[] = {width};
    if (b != 0.f)
      hg_map(dst, width, both, ld, 1, width, [=](const float(&v)[2]) { return fmaf(b, v[1], a * v[0]); });
    else
      hg_map(dst, width, one, first, 1, width, [=](const float(&v)[1]) { return a * v[0]; });
    return;
  }
  for (i64 i = hg_index(); i < rows * width; i += hg_stride()) {
    i64 r = i / width, c = i - r * width;
    float v = a * x[r * ldx + c];
    if (b != 0.f) v = fmaf(b, y[n ? i % n : r * ldy + c], v);
    dst[r * ldd + c] = v;
  }
}
