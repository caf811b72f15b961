// interpolate: bilinear resizing of [n,h,w,c] to [n,out_h,out_w,c]. Output pixel i of an
// axis lies at i·(in−1)/(out−1) if aligned, at max((i+½)/scale − ½, 0) otherwise, in
// double; beyond the last pixel it is that pixel. A scale of 0 is out/in. Reads four
// floats an element. Reference: ../reference/interpolate.go
#include "typed.h"

struct mix {
  int low, high;
  float w;
};

HG_DEVICE mix mix_of(int i, int in, int out, int aligned, double scale) {
  double at;
  if (aligned) {
    at = out > 1 ? i * ((double)(in - 1) / (double)(out - 1)) : 0.;
  } else {
    at = ((double)i + 0.5) / (scale == 0 ? (double)out / (double)in : scale) - 0.5;
    if (at < 0) at = 0;
  }
  int low = (int)floor(at);
  if (low > in - 1) low = in - 1;
  double w = at - low;
  return {low, hg_least(low + 1, in - 1), (float)(w > 1 ? 1 : w)};
}

HG_KERNELS(256, interpolate,
           (T *dst, const T *x, i64 n, int h, int w, i64 c, int out_h, int out_w, int aligned, double scale_h,
            double scale_w),
           (dst, x, n, h, w, c, out_h, out_w, aligned, scale_h, scale_w)) {
  for (i64 at = hg_index(); at < n * out_h * out_w * c; at += hg_stride()) {
    i64 k = at % c, pixel = at / c;
    mix u = mix_of((int)(pixel % out_w), w, out_w, aligned, scale_w);
    mix v = mix_of((int)(pixel / out_w % out_h), h, out_h, aligned, scale_h);
    const T *image = x + pixel / out_w / out_h * h * w * c + k;
    const T *top = image + (i64)v.low * w * c, *bottom = image + (i64)v.high * w * c;
    float upper = (1.f - u.w) * top[u.low * c] + u.w * top[u.high * c];
    float lower = (1.f - u.w) * bottom[u.low * c] + u.w * bottom[u.high * c];
    dst[at] = (1.f - v.w) * upper + v.w * lower;
  }
}
