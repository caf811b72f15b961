// pairlevels: Σ_c softplus(N_c + P + scale·margin_c) over the L levels, finest first, with
// N_c = log Σ_{l < L−c} e^(scale·s) and P = log Σ_{l = L} e^(−scale·s), and its gradient.
// A block takes a query. Reads 5 bytes an item 2·L + 3 times, writes 4.
// Reference: ../reference/pairlosslevels.go
#include "pairloss.h"

// log_sum is log Σ e^z over the items of levels from low to high, z = scale·s; −∞
// without any.
HG_DEVICE double log_sum(const PairRow &row, int low, int high, double scale, double *room) {
  double top = -(double)HG_INF, sum = 0.;
  for (i64 i = threadIdx.x; i < row.items; i += blockDim.x) {
    if (row.sh[i] >= low && row.sh[i] <= high) top = hg_most(top, scale * (double)row.s[i]);
  }
  top = block_most(top, room);
  if (top == -(double)HG_INF) return top;
  for (i64 i = threadIdx.x; i < row.items; i += blockDim.x) {
    if (row.sh[i] >= low && row.sh[i] <= high) sum += hg_exp(scale * (double)row.s[i] - top);
  }
  return top + hg_log(hg_block_sum(sum, room));
}

HG_KERNEL(256, pairloss_levels, PairArrays a, Pairs p) {
  HG_SHARED(double, room, [32]);
  HG_SHARED(double, margins, [PAIR_LEVELS]);
  HG_SHARED(double, slope, [PAIR_LEVELS]);
  HG_SHARED(double, negative, [PAIR_LEVELS]);
  PairRow row = pair_row(a, blockIdx.x);
  if (threadIdx.x == 0) {
#pragma unroll
    for (int c = 0; c < PAIR_LEVELS; c++) margins[c] = p.margins[c];
  }
  double pos = log_sum(row, p.levels, p.levels, -p.posScale, room);
  if (pos == -(double)HG_INF) {
    pair_nothing(row);
    return;
  }
  for (int c = 0; c < p.levels; c++) {
    double neg = log_sum(row, 0, p.levels - c - 1, p.posScale, room);
    if (threadIdx.x == 0) negative[c] = neg;
  }
  if (threadIdx.x == 0) {
    double loss = 0., own = 0.;
    for (int c = 0; c < p.levels; c++) {
      double z = negative[c] + pos + p.posScale * margins[c];
      bool any = negative[c] != -(double)HG_INF;
      if (any) loss += softplus(z);
      slope[c] = any ? p.posScale * hg_sigmoid(z) : 0.;
      own += slope[c];
    }
    room[0] = own;
    pair_write(row, loss, 0., 1, 0);
  }
  __syncthreads();
  for (i64 i = threadIdx.x; i < row.items && row.ds; i += blockDim.x) {
    int level = row.sh[i];
    double x = p.posScale * (double)row.s[i], d = 0.;
    if (level == p.levels) d = -room[0] * hg_exp(-x - pos);
    for (int c = 0; c < p.levels - level; c++) d += slope[c] * hg_exp(x - negative[c]);
    row.ds[i] = (float)d;
  }
}
