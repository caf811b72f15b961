// join: dst[i] = acc·dst[i] + Σ_p parts[p·stride + i], in the order of p. With acc 0 dst
// is not read. n sums; reads n·count doubles. Reference: join in ../cpu/sums.go
#include "hg.h"

HG_KERNEL(256, join_f32, float *dst, float acc, const double *parts, i64 stride, i64 count, i64 n) {
  for (i64 i = hg_index(); i < n; i += hg_stride()) {
    double sum = 0;
    for (i64 p = 0; p < count; p++) sum += parts[p * stride + i];
    if (acc != 0.f) sum = (double)acc * dst[i] + sum;
    dst[i] = (float)sum;
  }
}
