// copy: dst = src, converted to the type of dst. Rows of a width, each array with its
// stride. Reads and writes an element each. Reference: ../cpu/copy.go
#include "convert.h"

HG_KERNEL(256, copy_convert, void *dst, int to, i64 ldd, const void *src, int from, i64 lds, i64 rows, i64 width) {
  for (i64 i = hg_index(); i < rows * width; i += hg_stride()) {
    i64 r = rows == 1 ? 0 : i / width, c = i - r * width;
    hg_store(dst, to, r * ldd + c, hg_load(src, from, r * lds + c));
  }
}
