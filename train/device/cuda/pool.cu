// pool: the maximum, or the mean, of the part of each window that lies in the image. NaN
// is greater than any number. pool_grad gives dy to the first of a window's maxima in
// row-major order, whose place in the window pool_firsts finds, or an equal share to all: an input
// pixel looks at the windows that it lies in, in order, so that it has one writer. positive: a maximum
// takes none unless it is above zero. Images are
// [n,h,w,c]. Reads a window for each element, or of the windows of an input pixel dy and the place.
// Reference: ../reference/pool.go
#include "typed.h"

struct pool_shape {
  int n, h, w, c, out_h, out_w, size_h, size_w, stride_h, stride_w, pad_h, pad_w, average, positive;
};

struct window {
  int top, bottom, left, right;
};

HG_DEVICE window window_of(const pool_shape &o, int i, int j) {
  i = i * o.stride_h - o.pad_h, j = j * o.stride_w - o.pad_w;
  return {hg_most(i, 0), hg_least(i + o.size_h, o.h), hg_most(j, 0), hg_least(j + o.size_w, o.w)};
}

// best writes the E channels from c on of an output pixel.
template <bool AVERAGE, int E, class T> HG_DEVICE void best(T *dst, const T *x, const pool_shape &o, i64 pixel, i64 c) {
  i64 line = hg_quotient(pixel, o.out_w), picture = hg_quotient(line, o.out_h);
  const T *image = x + picture * o.h * o.w * o.c + c;
  window v = window_of(o, (int)(line - picture * o.out_h), (int)(pixel - line * o.out_w));
  float out[E], p[E];
#pragma unroll
  for (int e = 0; e < E; e++) out[e] = AVERAGE ? 0.f : -HG_INF;
  for (int row = v.top; row < v.bottom; row++)
#pragma unroll 1
    for (int column = v.left; column < v.right; column++) {
      hg_take<E>(image + ((i64)row * o.w + column) * o.c, p);
#pragma unroll
      for (int e = 0; e < E; e++) {
        if (AVERAGE)
          out[e] += p[e];
        else if (p[e] > out[e] || hg_nan(p[e]))
          out[e] = p[e];
      }
    }
  float share = AVERAGE ? 1.f / (float)((v.bottom - v.top) * (v.right - v.left)) : 1.f;
#pragma unroll
  for (int e = 0; e < E; e++) out[e] = AVERAGE ? out[e] * share : out[e];
  hg_give<E>(dst + pixel * o.c + c, out);
}

// wide: arrays begin at multiples of 16 bytes and so do the channels of each pixel. Then a thread
// has 16 bytes of a pixel.
HG_KERNELS(256, pool, (T *dst, const T *x, pool_shape o, int wide), (dst, x, o, wide)) {
  constexpr int E = 16 / sizeof(T);
  i64 across = wide ? o.c / E : o.c, n = (i64)o.n * o.out_h * o.out_w * across;
  for (i64 at = hg_index(); at < n; at += hg_stride()) {
    i64 pixel = hg_quotient(at, across), c = at - pixel * across;
    if (wide && o.average)
      best<true, E>(dst, x, o, pixel, c * E);
    else if (wide)
      best<false, E>(dst, x, o, pixel, c * E);
    else if (o.average)
      best<true, 1>(dst, x, o, pixel, c);
    else
      best<false, 1>(dst, x, o, pixel, c);
  }
}

HG_DEVICE bool equals(float a, float b) { return a == b || (hg_nan(a) && hg_nan(b)); }

// NOWHERE is the place of a maximum that takes no gradient.
enum : u32 { NOWHERE = 255 };

// The places of E channels, from element i on. A place is a byte where windows have up to 255 pixels.
template <int E> HG_DEVICE void put_places(void *places, int bytes, i64 i, const u32 (&v)[E]) {
  if (!bytes) {
#pragma unroll
    for (int e = 0; e < E; e++) ((u32 *)places)[i + e] = v[e];
    return;
  }
  if constexpr (E == 1) {
    ((u8 *)places)[i] = (u8)v[0];
  } else {
#pragma unroll
    for (int e = 0; e < E; e += 4)
      ((u32 *)places)[(i + e) / 4] = v[e + 3] << 24 | v[e + 2] << 16 | v[e + 1] << 8 | v[e];
  }
}

template <int E> HG_DEVICE void take_places(const void *places, int bytes, i64 i, u32 (&v)[E]) {
  if (!bytes) {
#pragma unroll
    for (int e = 0; e < E; e++) v[e] = ((const u32 *)places)[i + e];
    return;
  }
  if constexpr (E == 1) {
    v[0] = ((const u8 *)places)[i];
  } else {
#pragma unroll
    for (int e = 0; e < E; e += 4) {
      u32 word = ((const u32 *)places)[(i + e) / 4];
#pragma unroll
      for (int q = 0; q < 4; q++) v[e + q] = word >> 8 * q & 255;
    }
  }
}

// find writes the places of the E channels from c on of an output pixel.
template <int E, class T>
HG_DEVICE void find(void *places, const T *x, const T *y, const pool_shape &o, int bytes, i64 pixel, i64 c) {
  i64 line = hg_quotient(pixel, o.out_w), picture = hg_quotient(line, o.out_h);
  int i = (int)(line - picture * o.out_h), j = (int)(pixel - line * o.out_w);
  const T *image = x + picture * o.h * o.w * o.c + c;
  window v = window_of(o, i, j);
  u32 first[E];
  float p[E], top[E];
  hg_take<E>(y + pixel * o.c + c, top);
#pragma unroll
  for (int e = 0; e < E; e++) first[e] = 0;
  for (int row = v.bottom - 1; row >= v.top; row--) // the last found is the first
    for (int column = v.right - 1; column >= v.left; column--) {
      u32 place = (u32)((row - i * o.stride_h + o.pad_h) * o.size_w + column - j * o.stride_w + o.pad_w);
      hg_take<E>(image + ((i64)row * o.w + column) * o.c, p);
#pragma unroll
      for (int e = 0; e < E; e++) first[e] = equals(p[e], top[e]) ? place : first[e];
    }
  u32 nowhere = bytes ? (u32)NOWHERE : ~0u;
#pragma unroll
  for (int e = 0; e < E; e++) first[e] = o.positive && !(top[e] > 0.f) ? nowhere : first[e];
  put_places<E>(places, bytes, pixel * o.c + c, first);
}

HG_KERNELS(256, pool_firsts, (void *places, const T *x, const T *y, pool_shape o, int wide, int bytes),
           (places, x, y, o, wide, bytes)) {
  constexpr int E = 16 / sizeof(T);
  i64 across = wide ? o.c / E : o.c, n = (i64)o.n * o.out_h * o.out_w * across;
  for (i64 at = hg_index(); at < n; at += hg_stride()) {
    i64 pixel = hg_quotient(at, across), c = at - pixel * across;
    if (wide)
      find<E>(places, x, y, o, bytes, pixel, c * E);
    else
      find<1>(places, x, y, o, bytes, pixel, c);
  }
}

// back writes the gradient of the E channels from c on of an input pixel.
template <int E, class T>
HG_DEVICE void back(T *dx, const T *dy, const void *places, const pool_shape &o, int bytes, i64 pixel, i64 c) {
  i64 line = hg_quotient(pixel, o.w), picture = hg_quotient(line, o.h);
  int column = (int)(pixel - line * o.w), row = (int)(line - picture * o.h);
  // windows i with i·stride − pad ≤ row < i·stride − pad + size
  int low_i = row + o.pad_h - o.size_h + 1, low_j = column + o.pad_w - o.size_w + 1;
  low_i = low_i > 0 ? (low_i + o.stride_h - 1) / o.stride_h : 0;
  low_j = low_j > 0 ? (low_j + o.stride_w - 1) / o.stride_w : 0;
  int high_i = hg_least(o.out_h - 1, (row + o.pad_h) / o.stride_h);
  int high_j = hg_least(o.out_w - 1, (column + o.pad_w) / o.stride_w);
  float sum[E];
#pragma unroll
  for (int e = 0; e < E; e++) sum[e] = 0.f;
#pragma unroll 1
  for (int i = low_i; i <= high_i; i++)
#pragma unroll 1
    for (int j = low_j; j <= high_j; j++) {
      i64 out = ((picture * o.out_h + i) * o.out_w + j) * o.c + c;
      float d[E];
      hg_take<E>(dy + out, d);
      if (o.average) {
        window v = window_of(o, i, j);
        float share = 1.f / (float)((v.bottom - v.top) * (v.right - v.left));
#pragma unroll
        for (int e = 0; e < E; e++) sum[e] = fmaf(share, d[e], sum[e]);
        continue;
      }
      u32 own = (u32)((row - i * o.stride_h + o.pad_h) * o.size_w + column - j * o.stride_w + o.pad_w), first[E];
      take_places<E>(places, bytes, out, first);
#pragma unroll
      for (int e = 0; e < E; e++) sum[e] += first[e] == own ? d[e] : 0.f; // a sum is never −0: adding 0 leaves it
    }
  hg_give<E>(dx + pixel * o.c + c, sum);
}

HG_KERNELS(256, pool_grad, (T *dx, const T *dy, const void *places, pool_shape o, int wide, int bytes),
           (dx, dy, places, o, wide, bytes)) {
  constexpr int E = 16 / sizeof(T);
  i64 across = wide ? o.c / E : o.c, n = (i64)o.n * o.h * o.w * across;
  for (i64 at = hg_index(); at < n; at += hg_stride()) {
    i64 pixel = hg_quotient(at, across), c = at - pixel * across;
    if (wide)
      back<E>(dx, dy, places, o, bytes, pixel, c * E);
    else
      back<1>(dx, dy, places, o, bytes, pixel, c);
  }
}
