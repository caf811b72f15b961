// copy: dst = src, converted to the type of dst. Rows of a width, each array with its
// stride. Reads and writes an element each, or four of F32 as BF16, which is how weights are
// prepared for a step. Reference: ../cpu/copy.go
#include "convert.h"

// wide: F32 to BF16, in one row each, from addresses that are multiples of 16.
HG_KERNEL(256, copy_convert, void *dst, int to, i64 ldd, const void *src, int from, i64 lds, i64 rows, i64 width, int wide) {
  i64 n = rows * width, begin = wide ? n / 4 * 4 : 0;
  for (i64 i = hg_index(); i < begin / 4; i += hg_stride()) {
    f4 v = ((const f4 *)src)[i];
    u32 low = (u32)hg_narrow_bf16(v.y) << 16 | hg_narrow_bf16(v.x), high = (u32)hg_narrow_bf16(v.w) << 16 | hg_narrow_bf16(v.z);
    ((u64 *)dst)[i] = (u64)high << 32 | low;
  }
  for (i64 i = begin + hg_index(); i < n; i += hg_stride()) {
    i64 r = rows == 1 ? 0 : i / width, c = i - r * width;
    hg_store(dst, to, r * ldd + c, hg_load(src, from, r * lds + c));
  }
}
