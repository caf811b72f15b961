// conv.h: the geometry of a convolution and the operands of its three products, which
// are made of pixels as they are read (implicit GEMM).
#pragma once
#include "gemm.h"

struct hg_conv {
  int n, h, w, c, k, r, s, out_h, out_w;
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;

  HG_METHOD int in_group() const { return c / groups; }  // channels
  HG_METHOD int filters() const { return k / groups; }   // of a group
  HG_METHOD i64 pixels() const { return (i64)n * out_h * out_w; }
};

// hg_patches is x as the matrix of patches: row m is an output pixel, column k is
// (r, s, channel of the group).
template <class T, int SLOTS> struct hg_patches {
  const T *x; // the first channel of the group
  hg_conv o;
  i64 rows, end;
  const T *image[SLOTS]; // nullptr beyond the last row
  int y[SLOTS], z[SLOTS];    // the patch's corner
  int dy, dz, channel;       // from the corner to column k
  bool inside;

  HG_METHOD void bind(int i, i64 m) {
    image[i] = nullptr;
    if (m >= rows) return;
    u32 at = (u32)m, pixels = o.out_h * o.out_w, picture = at / pixels, rest = at - picture * pixels;
    u32 row = rest / o.out_w, column = rest - row * o.out_w;
    image[i] = x + (i64)picture * o.h * o.w * o.c;
    y[i] = (int)row * o.stride_h - o.pad_h, z[i] = (int)column * o.stride_w - o.pad_w;
  }
  HG_METHOD void at(i64 k) {
    inside = (u32)k < (u32)end;
    u32 at = (u32)k, channels = o.in_group(), tap = at / channels, r = tap / o.s;
    channel = at - tap * channels;
    dy = (int)r * o.dilation_h, dz = (int)(tap - r * o.s) * o.dilation_w;
  }
  HG_METHOD const T *where(int i) const {
    int row = y[i] + dy, column = z[i] + dz;
    if (!inside || !image[i] || (u32)row >= (u32)o.h || (u32)column >= (u32)o.w) return nullptr;
    return image[i] + ((i64)row * o.w + column) * o.c + channel;
  }
};

// hg_sources is dy as the matrix whose row m is an input pixel and whose column k is
// (r, s, filter of the group): the output pixel that tap (r, s) takes from m, if any.
template <class T, int SLOTS> struct hg_sources {
  const T *dy; // the first filter of the group
  hg_conv o;
  i64 rows, end;
  const T *image[SLOTS];
  int y[SLOTS], z[SLOTS];
  int back_y, back_z, filter;
  bool inside;

  HG_METHOD void bind(int i, i64 m) {
    image[i] = nullptr;
    if (m >= rows) return;
    u32 at = (u32)m, pixels = o.h * o.w, picture = at / pixels, rest = at - picture * pixels;
    u32 row = rest / o.w;
    image[i] = dy + (i64)picture * o.out_h * o.out_w * o.k;
    y[i] = (int)row + o.pad_h, z[i] = (int)(rest - row * o.w) + o.pad_w;
  }
  HG_METHOD void at(i64 k) {
    inside = (u32)k < (u32)end;
    u32 at = (u32)k, filters = o.filters(), tap = at / filters, r = tap / o.s;
    filter = at - tap * filters;
    back_y = (int)r * o.dilation_h, back_z = (int)(tap - r * o.s) * o.dilation_w;
  }
  HG_METHOD const T *where(int i) const {
    int row = y[i] - back_y, column = z[i] - back_z;
    if (!inside || !image[i] || row < 0 || column < 0) return nullptr;
    int out_row = row / o.stride_h, out_column = column / o.stride_w;
    if (out_row * o.stride_h != row || out_column * o.stride_w != column || out_row >= o.out_h || out_column >= o.out_w)
      return nullptr;
    return image[i] + ((i64)out_row * o.out_w + out_column) * o.k + filter;
  }
};

// hg_turned is w [k,r,s,c] of a group as the matrix whose row m is a channel and whose
// column k is (r, s, filter).
template <class T, int SLOTS> struct hg_turned {
  const T *w; // the group's first filter
  hg_conv o;
  i64 end;
  int channel;
  const T *tap;

  HG_METHOD void bind(int, i64 m) { channel = m < o.in_group() ? (int)m : -1; }
  HG_METHOD void at(i64 k) {
    u32 at = (u32)k, filters = o.filters(), rs = at / filters;
    tap = k < end ? w + ((i64)(at - rs * filters) * o.r * o.s + rs) * o.in_group() : nullptr;
  }
  HG_METHOD const T *where(int) const { return tap && channel >= 0 ? tap + channel : nullptr; }
};

// hg_columns_of_patches is the matrix of patches the other way round: row m is
// (r, s, channel), column k an output pixel.
template <class T> struct hg_columns_of_patches {
  const T *x;
  hg_conv o;
  i64 rows, end;
  int dy, dz, channel;
  bool inside;
  const T *pixel;

  HG_METHOD void bind(int, i64 m) {
    inside = m < rows;
    u32 at = (u32)m, channels = o.in_group(), tap = at / channels, r = tap / o.s;
    channel = at - tap * channels;
    dy = (int)r * o.dilation_h - o.pad_h, dz = (int)(tap - r * o.s) * o.dilation_w - o.pad_w;
  }
  HG_METHOD void at(i64 k) {
    pixel = nullptr;
    if (k >= end || !inside) return;
    u32 at = (u32)k, pixels = o.out_h * o.out_w, picture = at / pixels, rest = at - picture * pixels;
    u32 row = rest / o.out_w;
    int y = (int)row * o.stride_h + dy, z = (int)(rest - row * o.out_w) * o.stride_w + dz;
    if ((u32)y < (u32)o.h && (u32)z < (u32)o.w) pixel = x + (((i64)picture * o.h + y) * o.w + z) * o.c + channel;
  }
  HG_METHOD const T *where(int) const { return pixel; }
};
