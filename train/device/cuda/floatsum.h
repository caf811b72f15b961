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
  HG_METHOD double value() const { return (double)sum + (double)lost; }
};
