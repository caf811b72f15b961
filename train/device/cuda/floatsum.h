// floatsum.h: sums of floats as accurate as in double. Of the cards that have no good rate in
// double, most have a 64th of that in float, and each conversion costs as much.
#pragma once
#include "hg.h"

// hg_floatsum is a sum with what its roundings lost: Knuth, "The Art of Computer Programming" 2,
// 4.2.2, theorem B. The error of n numbers is that of n roundings to 48 bits. An infinite number
// makes it NaN.
struct hg_floatsum {
  float sum, lost;

  HG_METHOD void begin() { sum = lost = 0.f; }
  HG_METHOD void add(float v) {
    float s = sum + v, part = s - sum;
    lost += (sum - (s - part)) + (v - part);
    sum = s;
  }
  // add_product adds a·b, which is p and what p lost.
  HG_METHOD void add_product(float a, float b) {
    float p = a * b;
    add(p);
    lost += fmaf(a, b, -p);
  }
  // join adds another sum; a.join(b) and b.join(a) have the same bits.
  HG_METHOD void join(hg_floatsum other) {
    float before = lost + other.lost;
    lost = 0.f;
    add(other.sum);
    lost += before;
  }
  HG_METHOD double value() const { return (double)sum + (double)lost; }
};

// hg_warp_sum joins the sums of a warp.
HG_DEVICE hg_floatsum hg_warp_sum(hg_floatsum v) {
  for (int d = 16; d > 0; d >>= 1)
    v.join({__shfl_xor_sync(HG_FULL, v.sum, d), __shfl_xor_sync(HG_FULL, v.lost, d)});
  return v;
}
