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

HG_KERNELS(256, pool, (T *dst, const T *x, pool_shape o), (dst, x, o)) {
  i64 n = (i64)o.n * o.out_h * o.out_w * o.c;
  for (i64 at = hg_index(); at < n; at += hg_stride()) {
    int c = (int)(at % o.c), j = (int)(at / o.c % o.out_w), i = (int)(at / o.c / o.out_w % o.out_h);
    const T *image = x + at / o.c / o.out_w / o.out_h * o.h * o.w * o.c + c;
    window v = window_of(o, i, j);
    float out = o.average ? 0.f : -HG_INF;
    for (int row = v.top; row < v.bottom; row++)
      for (int column = v.left; column < v.right; column++) {
        float p = image[((i64)row * o.w + column) * o.c];
        if (o.average)
          out += p;
        else if (p > out || hg_nan(p))
          out = p;
      }
    dst[at] = o.average ? out * (1.f / (float)((v.bottom - v.top) * (v.right - v.left))) : out;
  }
}

HG_DEVICE bool equals(float a, float b) { return a == b || (hg_nan(a) && hg_nan(b)); }

// is_first reports whether (row, column) is the first place of window v that holds top.
template <class T> HG_DEVICE bool is_first(const pool_shape &o, const T *image, window v, int row, int column, float top) {
  if (!equals(image[((i64)row * o.w + column) * o.c], top)) return false;
  for (int r = v.top; r <= row; r++)
    for (int q = v.left; q < (r == row ? column : v.right); q++)
      if (equals(image[((i64)r * o.w + q) * o.c], top)) return false;
  return true;
}

HG_KERNELS(256, pool_grad, (T *dx, const T *dy, const T *x, const T *y, pool_shape o), (dx, dy, x, y, o)) {
  i64 n = (i64)o.n * o.h * o.w * o.c;
  for (i64 at = hg_index(); at < n; at += hg_stride()) {
    int c = (int)(at % o.c), column = (int)(at / o.c % o.w), row = (int)(at / o.c / o.w % o.h);
    i64 picture = at / o.c / o.w / o.h;
    const T *image = x + picture * o.h * o.w * o.c + c;
    // windows i with i·stride − pad ≤ row < i·stride − pad + size
    int low_i = row + o.pad_h - o.size_h + 1, low_j = column + o.pad_w - o.size_w + 1;
    low_i = low_i > 0 ? (low_i + o.stride_h - 1) / o.stride_h : 0;
    low_j = low_j > 0 ? (low_j + o.stride_w - 1) / o.stride_w : 0;
    int high_i = hg_least(o.out_h - 1, (row + o.pad_h) / o.stride_h);
    int high_j = hg_least(o.out_w - 1, (column + o.pad_w) / o.stride_w);
    float sum = 0.f;
    for (int i = low_i; i <= high_i; i++)
      for (int j = low_j; j <= high_j; j++) {
        i64 out = ((picture * o.out_h + i) * o.out_w + j) * o.c + c;
        window v = window_of(o, i, j);
        if (o.average)
          sum = fmaf(1.f / (float)((v.bottom - v.top) * (v.right - v.left)), dy[out], sum);
        else if (is_first(o, image, v, row, column, y[out]))
          sum += dy[out];
      }
    dx[at] = sum;
  }
}
