// pairproxies: the cross-entropy of softmax over the first positive and the negatives.
// With z = scale·(h·φ(s) + (1 − h)·s), N = log Σ_n e^(z_n) and the positive's z:
//
//   Angular  softplus(N − z), h = 1 − ε + ε/C for the positive and ε/C for the others
//   Ratio    N − z, h = 0
//
// A block takes a query. Reads 5 bytes an item four times, writes 4.
// Reference: ../reference/pairlossproxies.go
#include "pairloss.h"

struct Mixed {
  double z, slope;
};

// angle_mixed is h·φ(c) + (1 − h)·c of c = cos θ, and its slope.
HG_DEVICE Mixed angle_mixed(const Angle &a, double c, double h) {
  if (h == 0.) return {c, 1.};
  double phi = c - a.drop, slope = 1.;
  if (!(c <= a.edge)) {
    double sine = sqrt(hg_least(hg_most(1. - c * c, 0.), 1.));
    phi = c * a.cos - sine * a.sin;
    slope = a.cos;
    if (sine > 0.) slope += c * a.sin / sine;
  }
  return {h * phi + (1. - h) * c, h * slope + (1. - h)};
}

HG_KERNEL(256, pairloss_proxies, PairArrays a, Pairs p) {
  HG_SHARED(double, room, [32]);
  HG_SHARED(u32, found, [2]); // the first positive, and how many negatives
  PairRow row = pair_row(a, blockIdx.x);
  if (threadIdx.x < 2) found[threadIdx.x] = threadIdx.x == 0 ? 0xffffffffu : 0;
  __syncthreads();
  u32 first = 0xffffffffu, count = 0;
  for (i64 i = threadIdx.x; i < row.items; i += blockDim.x) {
    int level = row.sh[i];
    count += level == 0;
    if (level != 0 && level != ABSENT_LEVEL) first = hg_least(first, (u32)i);
  }
  if (first != 0xffffffffu) atomicMin(&found[0], first);
  if (count) atomicAdd(&found[1], count);
  __syncthreads();
  if (found[0] == 0xffffffffu || found[1] == 0) {
    pair_nothing(row);
    return;
  }
  double own = 0., other = 0.; // how much of each score is φ
  if (p.kind == ANGULAR) {
    other = p.smoothing / (double)(found[1] + 1);
    own = 1. - p.smoothing + other;
  }
  double top = -(double)HG_INF, sum = 0.;
  for (i64 i = threadIdx.x; i < row.items; i += blockDim.x) {
    if (row.sh[i] == 0) top = hg_most(top, p.posScale * angle_mixed(p.angle, (double)row.s[i], other).z);
  }
  top = block_most(top, room);
  for (i64 i = threadIdx.x; i < row.items; i += blockDim.x) {
    if (row.sh[i] == 0) sum += hg_exp(p.posScale * angle_mixed(p.angle, (double)row.s[i], other).z - top);
  }
  double neg = top + hg_log(hg_block_sum(sum, room));
  Mixed m = angle_mixed(p.angle, (double)row.s[found[0]], own);
  double behind = neg - p.posScale * m.z;
  double share = p.kind == ANGULAR ? hg_sigmoid(behind) : 1.; // of the negatives below the line
  pair_write(row, p.kind == ANGULAR ? softplus(behind) : behind, 0., 1, 0);
  if (threadIdx.x == 0) { // few registers live through the division of a slope
    room[0] = -share * p.posScale * m.slope;
    room[1] = share * p.posScale;
    room[2] = neg;
  }
  __syncthreads();
  for (i64 i = threadIdx.x; i < row.items && row.ds; i += blockDim.x) {
    double d = 0.;
    if (row.sh[i] == 0) {
      m = angle_mixed(p.angle, (double)row.s[i], other);
      d = room[1] * m.slope * hg_exp(p.posScale * m.z - room[2]);
    } else if (i == found[0]) {
      d = room[0];
    }
    row.ds[i] = (float)d;
  }
}
