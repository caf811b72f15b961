// binloss: loss[q] = 1 − Σ_m c⁺_m C⁺_m/C_m / P of a histogram of the scores with N bins
// from hi down to lo, and ds its gradient; see device.Rank. A score at x = (hi − s)/width
// belongs to bin ⌊x⌋ by 1 − (x − ⌊x⌋), to the next by the rest.
// loss [Q], s and ds [Q,G], sh U8 [Q,G], ds may be null. A block takes a query. Weights
// are whole numbers of 2^-40: their sums are exact, whatever the order of the atomics,
// for fewer than 2^24 items. Reads 10·Q·G bytes, writes 4·Q·G.
// Reference: ../reference/binloss.go
#include "hg.h"

enum { BIN_UNIT = 40, ABSENT_LEVEL = 255 };

// Bins is binsArg of binloss.go: a score has the place (hi − s)/range·last, of which
// slope is the derivative.
struct Bins {
  int n, inShared;
  double hi, range, last, slope;
};

// BinPlace is the bin at or above a score, how much of it belongs to the next one and
// the slope of that.
struct BinPlace {
  int bin;
  double next, slope;
};

HG_DEVICE BinPlace bin_place(const Bins &o, float score) {
  double x = (o.hi - (double)score) / o.range * o.last;
  if (x < 0.) return {0, 0., 0.};
  if (x >= o.last) return {o.n - 2, 1., 0.};
  double whole = floor(x);
  return {(int)whole, x - whole, o.slope};
}

// bin_sums turns the weights of all and of the positives, in 2^-40, into the derivatives
// of Σ_m c⁺_m C⁺_m/C_m by them, and returns that sum. One thread does it.
//   byAll_j = −Σ_{m≥j} c⁺_m C⁺_m/C_m²    byPos_j = C⁺_j/C_j + Σ_{m≥j} c⁺_m/C_m
HG_DEVICE double bin_sums(double *all, double *pos, int n) {
  u64 sumAll = 0, sumPos = 0;
  for (int m = 0; m < n; m++) {
    sumAll += (u64)__double_as_longlong(all[m]);
    sumPos += (u64)__double_as_longlong(pos[m]);
  }
  double ap = 0., byAll = 0., tail = 0.;
  for (int m = n - 1; m >= 0; m--) {
    u64 a = (u64)__double_as_longlong(all[m]), p = (u64)__double_as_longlong(pos[m]);
    double share = 0.;
    if (sumAll > 0) {
      double one = 1. / (double)sumAll, here = (double)p * one;
      share = (double)sumPos * one;
      byAll -= here * share;
      tail += here;
      ap += (double)p * share;
    }
    all[m] = byAll;
    pos[m] = share + tail;
    sumAll -= a;
    sumPos -= p;
  }
  return ap / (double)(1ull << BIN_UNIT);
}

// The bins lie in shared memory, or in global memory at far where there are too many.
HG_KERNEL(256, binloss_f32, float *loss, float *ds, u64 *far, const float *s, const u8 *sh, i64 items, i64 ldd,
          i64 lds, i64 ldsh, Bins o) {
  HG_DYNAMIC(u64, near);
  HG_SHARED(double, sum, [1]);
  HG_SHARED(u32, state, [2]); // positives, and whether there is a NaN
  i64 q = blockIdx.x;
  int t = threadIdx.x;
  u64 *all = o.inShared ? near : far + q * 2 * o.n, *pos = all + o.n;
  for (int m = t; m < 2 * o.n; m += blockDim.x) all[m] = 0;
  if (t < 2) state[t] = 0;
  __syncthreads();
  u32 positives = 0;
  for (i64 i = t; i < items; i += blockDim.x) {
    int level = sh[q * ldsh + i];
    if (level == ABSENT_LEVEL) continue;
    float score = s[q * lds + i];
    if (hg_nan(score)) {
      atomicOr(&state[1], 1u);
      continue;
    }
    BinPlace p = bin_place(o, score);
    u64 next = (u64)rint(p.next * (double)(1ull << BIN_UNIT)), rest = (1ull << BIN_UNIT) - next;
    atomicAdd(&all[p.bin], rest);
    atomicAdd(&all[p.bin + 1], next);
    if (level >= 1) {
      atomicAdd(&pos[p.bin], rest);
      atomicAdd(&pos[p.bin + 1], next);
      positives++;
    }
  }
  if (positives) atomicAdd(&state[0], positives);
  __syncthreads();
  if (t == 0) sum[0] = bin_sums((double *)all, (double *)pos, o.n);
  __syncthreads();
  double count = state[1] ? (double)HG_NAN : (double)state[0];
  if (t == 0) loss[q] = count == 0. ? 0.f : (float)(1. - sum[0] / count);
  if (!ds) return;
  const double *byAll = (double *)all, *byPos = (double *)pos;
  for (i64 i = t; i < items; i += blockDim.x) {
    int level = sh[q * ldsh + i];
    double d = 0.;
    if (level != ABSENT_LEVEL && state[1]) {
      d = HG_NAN; // a NaN has no bin
    } else if (level != ABSENT_LEVEL && count != 0.) {
      BinPlace p = bin_place(o, s[q * lds + i]);
      if (p.slope != 0.) {
        d = byAll[p.bin + 1] - byAll[p.bin];
        if (level >= 1) d += byPos[p.bin + 1] - byPos[p.bin];
        d *= -p.slope / count;
      }
    }
    ds[q * ldd + i] = (float)d;
  }
}
