// fill: every element of dst = v, given as the bytes of its type. size is that of an
// element, 1, 2 or 4. Rows of a width and stride. Writes only. Reference: ../cpu/copy.go
#include "hg.h"

template <class T> HG_DEVICE void fill(T *dst, i64 ld, i64 rows, i64 width, T v) {
  for (i64 i = hg_index(); i < rows * width; i += hg_stride()) {
    i64 r = rows == 1 ? 0 : i / width;
    dst[r * ld + i - r * width] = v;
  }
}

HG_KERNEL(256, fill_1, u8 *dst, i64 ld, i64 rows, i64 width, u32 v) { fill<u8>(dst, ld, rows, width, (u8)v); }
HG_KERNEL(256, fill_2, u16 *dst, i64 ld, i64 rows, i64 width, u32 v) { fill<u16>(dst, ld, rows, width, (u16)v); }
HG_KERNEL(256, fill_4, u32 *dst, i64 ld, i64 rows, i64 width, u32 v) { fill<u32>(dst, ld, rows, width, v); }
