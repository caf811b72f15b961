// conv.h: the geometry of a convolution and the operands of its three products, which are
// gathered from pixels as they are read (implicit GEMM). convOf in conv.go checks that pixels, and
// taps times channels or filters, are fewer than 2^31, so only offsets of elements need 64 bits.
#pragma once
#include "gemm.h"

// hg_divisor divides numbers below 2^31 by an argument of the launch; see divisorOf in conv.go. A
// division takes some twenty instructions and this takes three, and each copied piece of an operand
// needs several.
struct hg_divisor {
  u32 factor, shift;

  HG_METHOD u32 of(u32 n) const { return __umulhi(2 * n, factor) >> shift; }
};

struct hg_conv {
  int n, h, w, c, k, r, s, out_h, out_w;
  int stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
  int group_c, group_k; // channels and filters of a group
  hg_divisor by_c, by_k, by_s, by_w, by_hw, by_out_w, by_out_hw;

  HG_METHOD int in_group() const { return group_c; } // channels
  HG_METHOD int filters() const { return group_k; }  // of a group
  HG_METHOD i64 pixels() const { return (i64)n * out_h * out_w; }
};

// hg_phase is the input pixels whose row and column have one remainder each at division by the strides.
// Some of the taps reach them, the same from each. The hg_conv beside it describes the gradient by
// these pixels as that of a convolution with strides of 1: h, w, r and s count the phase's rows,
// columns and taps, and pad and dilation are in output pixels. Only the strides stay what they were.
// phases in conv.go makes them.
struct hg_phase {
  int y, x, h, w;                 // its first pixel; the size of the images
  int tap_row, tap_column, taps;  // from a row of its taps to the next, from one tap to the next; all of a filter

  // pixel returns the number of the phase's pixel m among the pixels of all images.
  HG_METHOD i64 pixel(const hg_conv &o, i64 m) const {
    if (o.stride_h == 1 && o.stride_w == 1) return m;
    u32 at = (u32)m, picture = o.by_hw.of(at), rest = at - picture * o.h * o.w, row = o.by_w.of(rest);
    return (picture * h + y + row * o.stride_h) * w + x + (rest - row * o.w) * o.stride_w;
  }
};

#define HG_OUTSIDE -(1 << 30) // a row or a column that is in no image, whatever tap is added

// hg_patches is x as the matrix of patches: row m is an output pixel, column k is
// (r, s, channel of the group).
template <class T, int SLOTS> struct hg_patches {
  const T *x; // the first channel of the group
  hg_conv o;
  i64 rows, end;
  int y[SLOTS], z[SLOTS]; // the patch's corner
  u32 first[SLOTS];       // its number among the pixels of all images
  int dy, dz, channel;    // from the corner to column k
  u32 pixels;

  HG_METHOD void bind(int i, i64 m) {
    u32 at = (u32)m, picture = o.by_out_hw.of(at), rest = at - picture * o.out_h * o.out_w;
    u32 row = o.by_out_w.of(rest), column = rest - row * o.out_w;
    y[i] = (int)row * o.stride_h - o.pad_h, z[i] = (int)column * o.stride_w - o.pad_w;
    first[i] = (picture * o.h + y[i]) * o.w + z[i];
    if (m >= rows) y[i] = HG_OUTSIDE;
  }
  HG_METHOD void at(i64 k) {
    u32 at = (u32)k, tap = o.by_c.of(at), r = o.by_s.of(tap);
    channel = at - tap * o.in_group();
    dy = (int)r * o.dilation_h, dz = (int)(tap - r * o.s) * o.dilation_w;
    pixels = dy * o.w + dz;
    if (at >= (u32)end) dy = HG_OUTSIDE;
  }
  HG_METHOD bool where(int i, const T *&at) const {
    at = x + (hg_wide(first[i] + pixels, o.c) + channel);
    return (u32)(y[i] + dy) < (u32)o.h && (u32)(z[i] + dz) < (u32)o.w;
  }
};

// hg_sources is dy as the matrix whose row m is an input pixel of a phase and whose column k is
// (r, s, filter of the group): the output pixel that tap (r, s) takes from m, if any.
template <class T, int SLOTS> struct hg_sources {
  const T *dy; // the first filter of the group
  hg_conv o;
  i64 rows, end;
  int y[SLOTS], z[SLOTS]; // the output pixel of the first tap
  u32 first[SLOTS];       // its number among the pixels of all images
  int back_y, back_z, filter;
  u32 pixels;

  HG_METHOD void bind(int i, i64 m) {
    u32 at = (u32)m, picture = o.by_hw.of(at), rest = at - picture * o.h * o.w;
    u32 row = o.by_w.of(rest);
    y[i] = (int)row + o.pad_h, z[i] = (int)(rest - row * o.w) + o.pad_w;
    first[i] = (picture * o.out_h + y[i]) * o.out_w + z[i];
    if (m >= rows) y[i] = HG_OUTSIDE;
  }
  HG_METHOD void at(i64 k) {
    u32 at = (u32)k, tap = o.by_k.of(at), r = o.by_s.of(tap);
    filter = at - tap * o.filters();
    back_y = (int)r * o.dilation_h, back_z = (int)(tap - r * o.s) * o.dilation_w;
    pixels = back_y * o.out_w + back_z;
    if (at >= (u32)end) back_y = -HG_OUTSIDE;
  }
  HG_METHOD bool where(int i, const T *&at) const {
    at = dy + (hg_wide(first[i] - pixels, o.k) + filter);
    return (u32)(y[i] - back_y) < (u32)o.out_h && (u32)(z[i] - back_z) < (u32)o.out_w;
  }
};

// hg_turned is w [k,r,s,c] of a group as the matrix whose row m is a channel and whose
// column k is (r, s, filter) for the taps of a phase.
template <class T, int SLOTS> struct hg_turned {
  const T *w; // the phase's first tap of the group's first filter
  hg_conv o;
  hg_phase phase;
  i64 end;
  int channel;
  bool inside;
  const T *tap;

  HG_METHOD void bind(int, i64 m) { channel = m < o.in_group() ? (int)m : -1; }
  HG_METHOD void at(i64 k) {
    u32 at = (u32)k, rs = o.by_k.of(at), r = o.by_s.of(rs);
    u32 number = r * phase.tap_row + (rs - r * o.s) * phase.tap_column;
    tap = w + hg_wide((at - rs * o.filters()) * phase.taps + number, o.in_group());
    inside = k < end && channel >= 0;
  }
  HG_METHOD bool where(int, const T *&at) const {
    at = tap + channel;
    return inside;
  }
};

// hg_columns_of_patches is the matrix of patches the other way round: row m is
// (r, s, channel), column k an output pixel.
template <class T> struct hg_columns_of_patches {
  const T *x;
  hg_conv o;
  i64 rows, end;
  int dy, dz, channel;
  bool inside, there;
  const T *pixel;

  HG_METHOD void bind(int, i64 m) {
    inside = m < rows;
    u32 at = (u32)m, tap = o.by_c.of(at), r = o.by_s.of(tap);
    channel = at - tap * o.in_group();
    dy = (int)r * o.dilation_h - o.pad_h, dz = (int)(tap - r * o.s) * o.dilation_w - o.pad_w;
  }
  HG_METHOD void at(i64 k) {
    u32 at = (u32)k, picture = o.by_out_hw.of(at), rest = at - picture * o.out_h * o.out_w;
    u32 row = o.by_out_w.of(rest);
    int y = (int)row * o.stride_h + dy, z = (int)(rest - row * o.out_w) * o.stride_w + dz;
    pixel = x + (hg_wide((picture * o.h + y) * o.w + z, o.c) + channel);
    there = inside && k < end && (u32)y < (u32)o.h && (u32)z < (u32)o.w;
  }
  HG_METHOD bool where(int, const T *&at) const {
    at = pixel;
    return there;
  }
};
