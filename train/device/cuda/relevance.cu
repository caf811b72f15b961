// relevance: cnt[q,l] = items of level l in row q of sh; rel[q,l] the relevance of that
// level, rel[q,0] = 0; weight[q] = 1/(queries with a positive), or 1/Q with allQueries.
// With n_l the count, one more at the top where the query counts itself:
//
//   binary  1          pop  (l/divisor)^alpha / n_l          map  Σ_{p≤l} weights[p−1] / Σ_{m≥p} n_m
//
// sh U8 [Q,G], rel F32 and cnt I32 [Q,L+1], weight F32 [Q]. A block takes a query, then
// one block all the weights. Reads Q·G bytes. Reference: ../reference/relevance.go
#include "hg.h"

enum { REL_BINARY, REL_POP, REL_MAP };

struct Relevances {
  int mode;
  float alpha, divisor;
  int countSelf;
  float weights[32];
};

HG_KERNEL(256, relevance_rows, float *rel, int *cnt, float *weight, const u8 *sh, i64 items, i64 ldr, i64 ldc, i64 lds,
          int top, Relevances o) {
  HG_SHARED(u32, count, [256]);
  HG_SHARED(float, weights, [32]);
  i64 q = blockIdx.x;
  int t = threadIdx.x;
  count[t] = 0;
  if (t == 0) {
#pragma unroll
    for (int p = 0; p < 32; p++) weights[p] = o.weights[p];
  }
  __syncthreads();
  // Most items have one of the lowest levels, which would all wait for one another.
  u32 low[4] = {0, 0, 0, 0};
  for (i64 i = t; i < items; i += 256) {
    int l = sh[q * lds + i];
#pragma unroll
    for (int p = 0; p < 4; p++) low[p] += l == p;
    if (l >= 4) atomicAdd(&count[l], 1u);
  }
#pragma unroll
  for (int p = 0; p < 4; p++) {
    if (low[p]) atomicAdd(&count[p], low[p]);
  }
  __syncthreads();
  if (t <= top) cnt[q * ldc + t] = (int)count[t];
  int n = (int)count[t] + (t == top && o.countSelf);
  float *r = rel + q * ldr;
  if (t <= top && o.mode != REL_MAP) {
    float v = t > 0 ? 1.f : 0.f;
    if (t > 0 && o.mode == REL_POP) {
      double share = hg_exp((double)o.alpha * hg_log((double)t / (double)o.divisor));
      v = n > 0 ? (float)(share / (double)n) : 0.f;
    }
    r[t] = v;
  }
  if (t != 0) return;
  bool positive = false;
  u32 atLeast = o.countSelf;
  for (int l = 1; l <= top; l++) {
    positive |= count[l] > 0;
    atLeast += count[l];
  }
  weight[q] = positive ? 1.f : 0.f;
  if (o.mode != REL_MAP) return;
  double sum = 0;
  r[0] = 0.f;
  for (int l = 1; l <= top; l++) {
    if (atLeast > 0) sum += (double)weights[l - 1] / (double)atLeast;
    atLeast -= count[l];
    r[l] = (float)sum;
  }
}

// relevance_weights turns 1 for a query with a positive and 0 for one without into its
// weight.
HG_KERNEL(256, relevance_weights, float *weight, i64 queries, int allQueries) {
  HG_SHARED(i64, room, [32]);
  i64 with = 0;
  for (i64 q = threadIdx.x; q < queries; q += 256) with += weight[q] == 1.f;
  with = hg_block_sum(with, room);
  if (allQueries) with = queries;
  for (i64 q = threadIdx.x; q < queries; q += 256) {
    if (allQueries || weight[q] == 1.f) weight[q] = 1.f / (float)with;
  }
}
