// pairloss.h: what the kernels of PairLoss share. For each query a kernel writes the sums over
// its positives and its negatives, and the number of terms of each. Kinds that do not separate
// them write one sum. If ds is given, it receives the gradient of the sum. pairloss_mean weights
// the sums. Sums are in float64. Reference: ../reference/pairloss.go
#pragma once
#include "hg.h"

enum { ABSENT_LEVEL = 255, PAIR_LEVELS = 32 };
enum { CONTRASTIVE, CROSS_BATCH, MULTI_SIMILARITY, TRIPLET, EASY_TRIPLET, LEVELS, ANGULAR, RATIO };
enum { MEAN_QUERIES, MEAN_PAIRS, MEAN_TERMS };

// Angle is φ of device.Angular: cos(θ + margin) for cos θ above edge, and cos θ less
// drop from there on. sin and cos are those of the margin.
struct Angle {
  double sin, cos, edge, drop;
};

// Pairs is pairsArg of pairloss.go.
struct Pairs {
  int kind, mean, mine, levels;
  double posMargin, negMargin, posScale, negScale, base, ceiling, smoothing;
  Angle angle;
  double margins[PAIR_LEVELS];
};

// PairRow is where the items of a query lie, and what is written for it.
struct PairRow {
  const float *s;
  const u8 *sh;
  float *ds; // or null
  i64 items;
  double *sums;
  int *cnt;
};

// PairArrays are the arrays of a call: s, ds [Q,G], sh U8 [Q,G], sums F64 [Q,2] without
// gaps, cnt I32 [Q,2].
struct PairArrays {
  const float *s;
  const u8 *sh;
  float *ds;
  double *sums;
  int *cnt;
  i64 items, lds, ldsh, ldd, ldc;
};

HG_DEVICE PairRow pair_row(const PairArrays &a, i64 q) {
  float *ds = a.ds ? a.ds + q * a.ldd : a.ds;
  return {a.s + q * a.lds, a.sh + q * a.ldsh, ds, a.items, a.sums + 2 * q, a.cnt + q * a.ldc};
}

// pair_write writes the sums and counts of a query.
HG_DEVICE void pair_write(const PairRow &row, double pos, double neg, int positives, int negatives) {
  if (threadIdx.x != 0) return;
  row.sums[0] = pos;
  row.sums[1] = neg;
  row.cnt[0] = positives;
  row.cnt[1] = negatives;
}

// pair_nothing writes a query without a loss.
HG_DEVICE void pair_nothing(const PairRow &row) {
  for (i64 i = threadIdx.x; i < row.items && row.ds; i += blockDim.x) row.ds[i] = 0.f;
  pair_write(row, 0., 0., 0, 0);
}

// block_most is hg_block_max in float64.
HG_DEVICE double block_most(double v, double *room) {
  for (int d = 16; d > 0; d >>= 1) v = hg_most(v, __shfl_xor_sync(HG_FULL, v, d));
  if (hg_lane() == 0) room[hg_warp()] = v;
  __syncthreads();
  v = hg_lane() < (int)(blockDim.x >> 5) ? room[hg_lane()] : -(double)HG_INF;
  for (int d = 16; d > 0; d >>= 1) v = hg_most(v, __shfl_xor_sync(HG_FULL, v, d));
  __syncthreads();
  return v;
}

// softplus is log(1 + e^z).
HG_DEVICE double softplus(double z) { return hg_most(z, 0.) + hg_log1p(hg_exp(-fabs(z))); }
