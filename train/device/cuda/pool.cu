// pool: the maximum, or the mean, of the part of each window that lies in the image. NaN
// is greater than any number. pool_grad gives dy to the first of a window's maxima in
// row-major order, or an equal share to all: an input pixel looks at the windows that
// it lies in, in order, so that it has one writer. Images are [n,h,w,c]. Reads a window,
// or what an input pixel's windows hold, for each element. Reference: ../reference/pool.go
#include "typed.h"

struct pool_shape {
  int n, h, w, c, out_h, out_w, size_h, size_w, stride_h, stride_w, pad_h, pad_w, average;
};

struct window {
  int top, bottom, left, right;
};

HG_DEVICE window window_of(const pool_shape &o, int i, int j) {
  i = i * o.stride_h - o.pad_h, j = j * o.stride_w - o.pad_w;
  return {hg_most(i, 0), hg_least(i + o.size_h, o.h), hg_most(j, 0), hg_least(j + o.size_w, o.w)};
}

// best writes the E channels from c on of an output pixel.
template <int E, class T> HG_DEVICE void best(T *dst, const T *x, const pool_shape &o, i64 pixel, i64 c) {
  i64 line = pixel / o.out_w, picture = line / o.out_h;
  const T *image = x + picture * o.h * o.w * o.c + c;
  window v = window_of(o, (int)(line - picture * o.out_h), (int)(pixel - line * o.out_w));
  float out[E], p[E];
#pragma unroll
  for (int e = 0; e < E; e++) out[e] = o.average ? 0.f : -HG_INF;
  for (int row = v.top; row < v.bottom; row++)
    for (int column = v.left; column < v.right; column++) {
      hg_take<E>(image + ((i64)row * o.w + column) * o.c, p);
#pragma unroll
      for (int e = 0; e < E; e++) {
        if (o.average)
          out[e] += p[e];
        else if (p[e] > out[e] || hg_nan(p[e]))
          out[e] = p[e];
      }
    }
  float share = 1.f / (float)((v.bottom - v.top) * (v.right - v.left));
#pragma unroll
  for (int e = 0; e < E; e++) out[e] = o.average ? out[e] * share : out[e];
  hg_give<E>(dst + pixel * o.c + c, out);
}

// wide: arrays begin at multiples of 16 bytes and so do the channels of each pixel. Then a thread
// has 16 bytes of a pixel.
HG_KERNELS(256, pool, (T *dst, const T *x, pool_shape o, int wide), (dst, x, o, wide)) {
  constexpr int E = 16 / sizeof(T);
  i64 across = wide ? o.c / E : o.c, n = (i64)o.n * o.out_h * o.out_w * across;
  for (i64 at = hg_index(); at < n; at += hg_stride()) {
    i64 pixel = at / across, c = at - pixel * across;
    if (wide)
      best<E>(dst, x, o, pixel, c * E);
    else
      best<1>(dst, x, o, pixel, c);
  }
}

HG_DEVICE bool equals(float a, float b) { return a == b || (hg_nan(a) && hg_nan(b)); }

// keep_firsts makes those of d zero whose channel does not have its maximum, top, first at
// (row, column) of window v. own is what is there.
template <int E, class T>
HG_DEVICE void keep_firsts(float (&d)[E], const pool_shape &o, const T *image, window v, int row, int column,
                           const float (&own)[E], const float (&top)[E]) {
  bool any = false;
#pragma unroll
  for (int e = 0; e < E; e++) {
    bool same = equals(own[e], top[e]);
    d[e] = same ? d[e] : 0.f;
    any |= same;
  }
#pragma unroll 1
  for (int r = v.top; r <= row && any; r++)
#pragma unroll 1
    for (int q = v.left; q < (r == row ? column : v.right); q++) {
      float p[E];
      hg_take<E>(image + ((i64)r * o.w + q) * o.c, p);
#pragma unroll
      for (int e = 0; e < E; e++) d[e] = equals(p[e], top[e]) ? 0.f : d[e];
    }
}

// back writes the gradient of the E channels from c on of an input pixel.
template <int E, class T>
HG_DEVICE void back(T *dx, const T *dy, const T *x, const T *y, const pool_shape &o, i64 pixel, i64 c) {
  i64 line = pixel / o.w, picture = line / o.h;
  int column = (int)(pixel - line * o.w), row = (int)(line - picture * o.h);
  const T *image = x + picture * o.h * o.w * o.c + c;
  // windows i with i·stride − pad ≤ row < i·stride − pad + size
  int low_i = row + o.pad_h - o.size_h + 1, low_j = column + o.pad_w - o.size_w + 1;
  low_i = low_i > 0 ? (low_i + o.stride_h - 1) / o.stride_h : 0;
  low_j = low_j > 0 ? (low_j + o.stride_w - 1) / o.stride_w : 0;
  int high_i = hg_least(o.out_h - 1, (row + o.pad_h) / o.stride_h);
  int high_j = hg_least(o.out_w - 1, (column + o.pad_w) / o.stride_w);
  float sum[E], own[E];
#pragma unroll
  for (int e = 0; e < E; e++) sum[e] = 0.f;
  if (!o.average) hg_take<E>(image + ((i64)row * o.w + column) * o.c, own);
#pragma unroll 1
  for (int i = low_i; i <= high_i; i++)
#pragma unroll 1
    for (int j = low_j; j <= high_j; j++) {
      i64 out = ((picture * o.out_h + i) * o.out_w + j) * o.c + c;
      window v = window_of(o, i, j);
      float d[E], top[E];
      hg_take<E>(dy + out, d);
      if (o.average) {
        float share = 1.f / (float)((v.bottom - v.top) * (v.right - v.left));
#pragma unroll
        for (int e = 0; e < E; e++) sum[e] = fmaf(share, d[e], sum[e]);
        continue;
      }
      hg_take<E>(y + out, top);
      keep_firsts<E>(d, o, image, v, row, column, own, top);
#pragma unroll
      for (int e = 0; e < E; e++) sum[e] += d[e]; // a sum is never −0, so adding 0 leaves it
    }
  hg_give<E>(dx + pixel * o.c + c, sum);
}

HG_KERNELS(256, pool_grad, (T *dx, const T *dy, const T *x, const T *y, pool_shape o, int wide),
           (dx, dy, x, y, o, wide)) {
  constexpr int E = 16 / sizeof(T);
  i64 across = wide ? o.c / E : o.c, n = (i64)o.n * o.h * o.w * across;
  for (i64 at = hg_index(); at < n; at += hg_stride()) {
    i64 pixel = at / across, c = at - pixel * across;
    if (wide)
      back<E>(dx, dy, x, y, o, pixel, c * E);
    else
      back<1>(dx, dy, x, y, o, pixel, c);
  }
}
