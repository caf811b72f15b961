// moments.h: mean and variance of columns from parts. A part is some rows of a column: their
// mean, and the sum of the squares of their differences from it. Sums of squares around a distant
// point are never subtracted, so a mean far from zero loses no digits.
#pragma once
#include "hg.h"

// hg_moments joins groups of numbers of one column, in order. A group of n is its sum and its
// sum of squares, both of the differences from a number of the group.
struct hg_moments {
  double origin, sum, squares; // around origin

  HG_METHOD void begin(double at) { origin = at, sum = squares = 0; }
  HG_METHOD void add(int n, double from, double group, double spread) {
    double d = from - origin;
    sum += group + n * d;
    squares += spread + 2 * d * group + n * d * d;
  }
  // put writes the part of all n numbers.
  HG_METHOD void put(double *parts, i64 part, i64 c, i64 j, i64 n) const {
    parts[2 * part * c + j] = origin + sum / n;
    parts[(2 * part + 1) * c + j] = squares - sum * sum / n;
  }
};
