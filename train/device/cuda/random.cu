// random: every element of dst from its own word of Philox: element i has word i mod 4
// of block i div 4. A thread has the four elements of a block. Rows of a width and stride.
// Writes only. Reference: ../cpu/random.go
#include "philox.h"

enum { UNIFORM, NORMAL, TRUNCATED_NORMAL };

#define BELOW2 0.022750131948179207200 // Φ(−2)

HG_DEVICE float sample(u32 word, int kind, float a, float b) {
  if (kind == UNIFORM) {
    float v = (float)((double)a + ((double)b - (double)a) * (double)hg_unit(word));
    if (v == b && a != b) { // rounding gave the end: the number before it, towards a
      if (v == 0.f) return a < b ? -1.40129846e-45f : 1.40129846e-45f;
      u32 bits = __float_as_uint(v);
      return __uint_as_float((a < b) == (v > 0.f) ? bits - 1 : bits + 1);
    }
    return v;
  }
  double v = ((double)word + 0.5) * 2.3283064365386962890625e-10;
  if (kind == TRUNCATED_NORMAL) v = BELOW2 + v * (1 - 2 * BELOW2);
  return (float)((double)a + (double)b * hg_normal_inverse(v));
}

HG_KERNEL(256, random_f32, float *dst, i64 ld, i64 rows, i64 width, const u32 *key, u32 stream, int kind, float a, float b) {
  for (i64 n = hg_index(); n * 4 < rows * width; n += hg_stride()) {
    hg_words words = hg_philox((u64)n, stream, key[0], key[1]);
#pragma unroll
    for (int j = 0; j < 4; j++) {
      i64 i = n * 4 + j, r = i / width;
      if (i < rows * width) dst[r * ld + i - r * width] = sample(words.w[j], kind, a, b);
    }
  }
}
