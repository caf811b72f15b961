// pixels: bytes [n,from_h,from_w,3] to activations [n,h,w,c]: the window at (top, left) of
// each image, mirrored where flip is set, each value (b/255 − mean)/std with every step
// rounded to float; channels beyond three are zero. crop is [n,3]: top, left, flip; null is
// the middle at (middle_top, middle_left). A window that does not lie in its image is NaN.
// Reads 3 bytes a pixel and writes c floats. A block looks the 256 values of a channel up in a table that it makes
// first. Reference: ../cpu/pixels.go
#include "typed.h"

struct pixel_shape {
  float mean[3], std[3];
  int n, from_h, from_w, h, w, c, middle_top, middle_left;
};

// four is a pixel in one access.
template <class T> struct __attribute__((aligned(4 * sizeof(T)))) four {
  T v[4];
};

HG_KERNELS(256, pixels, (T *dst, const u8 *bytes, const int *crop, pixel_shape o), (dst, bytes, crop, o)) {
  HG_SHARED(float, table, [3 * 256]);
#pragma unroll
  for (int k = 0; k < 3; k++)
    table[256 * k + threadIdx.x] = ((float)(int)threadIdx.x / 255.f - o.mean[k]) / o.std[k];
  __syncthreads();
  // A thread has four pixels of a row, a quarter of it apart, since finding one takes more than making it.
  int run = o.w % 4 == 0 ? 4 : 1, runs = o.w / run;
  for (i64 at = hg_index(); at < (i64)o.n * o.h * runs; at += hg_stride()) {
    i64 line = hg_quotient(at, runs), n = hg_quotient(line, o.h);
    int j = (int)(at - line * runs), i = (int)(line - n * o.h), top = o.middle_top, left = o.middle_left;
    bool flip = false;
    if (crop) top = crop[3 * n], left = crop[3 * n + 1], flip = crop[3 * n + 2] != 0;
    bool inside = top >= 0 && left >= 0 && top <= o.from_h - o.h && left <= o.from_w - o.w;
    const u8 *from = bytes + ((n * o.from_h + top + i) * o.from_w + left + (flip ? o.w - 1 - j : j)) * 3;
    T *pixel = dst + (line * o.w + j) * o.c;
    for (int q = 0; q < run; q++, pixel += runs * o.c, from += flip ? -3 * runs : 3 * runs) {
      float v[3];
#pragma unroll
      for (int k = 0; k < 3; k++) v[k] = inside ? table[256 * k + from[k]] : HG_NAN;
      if (o.c == 4 && (u64)dst % sizeof(four<T>) == 0) {
        four<T> all;
        all.v[0] = v[0], all.v[1] = v[1], all.v[2] = v[2], all.v[3] = 0.f;
        *(four<T> *)pixel = all;
        continue;
      }
      pixel[0] = v[0], pixel[1] = v[1], pixel[2] = v[2];
      for (int k = 3; k < o.c; k++) pixel[k] = 0.f;
    }
  }
}
