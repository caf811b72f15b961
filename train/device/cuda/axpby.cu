// axpby: dst = a·x + b·y, y repeated over the leading dimensions that it lacks.
// dst, x are rows of the given width and row strides; y has n elements in all, of which
// row r takes those from (r·width) mod n on, or its own rows of stride ldy if n is 0.
// With b = 0 y is not read. Reads 1 or 2 floats an element and writes one.
// Reference: ../cpu/axpby.go
#include "typed.h"

HG_KERNELS(256, axpby,
           (T *dst, float a, const T *x, float b, const T *y, i64 rows, i64 width, i64 ldd, i64 ldx, i64 ldy,
            i64 n),
           (dst, a, x, b, y, rows, width, ldd, ldx, ldy, n)) {
  for (i64 i = hg_index(); i < rows * width; i += hg_stride()) {
    i64 r = i / width, c = i - r * width;
    float v = a * x[r * ldx + c];
    if (b != 0.f) v = fmaf(b, y[n ? i % n : r * ldy + c], v);
    dst[r * ldd + c] = v;
  }
}
