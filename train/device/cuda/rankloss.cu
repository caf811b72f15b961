// rankloss: the loss of each query and its gradient by its scores. With t = s_i − s_k,
// k a positive (1 ≤ l_k ≤ top), c comparing l_i with l_k:
//
//   rank_k = 1      + Σ_{i≠k} A_c(t)                            srank_k = Σ A′_c(t)
//   plus_k = r(l_k) + Σ_{i≠k, l_i≥1} min(r(l_i), r(l_k)) B_c(t) splus_k = Σ min(·,·) B′_c(t)
//   (loss, u, v) = rankscore.h of rank and plus
//   ds_i   = Σ_{k≠i} [u_k A′_c + v_k min(·,·) B′_c];  at a positive less own_k = u_k srank_k + v_k splus_k
//
// s, ds [Q,G], sh U8 [Q,G], rel [Q,L+1]. The kernels here go over all pairs of an item and a
// positive, P·G a query, twice. They compute the queries with 1 to few positives, for the others see
// ranksorted.cu. index, rank, plus, srank, splus [Q,few] hold the positives of pick.cu, and u, v, own
// take the places of rank, plus, srank. sums [Q,parts,few,4] are the four sums over a part of the row.
// A pair is 30 operations in float32, of which up to 64 are added up before float64 takes the sum;
// memory does not matter. Reference: ../reference/pairrank.go
#include "rankscore.h"
#include "step.h"

enum { RANK_FEW = 64, RANK_EACH = 4 };

// The kernels have the steps as template parameters: all the same Sigmoid, B being it or nothing; H, H and
// a curve, B being H or nothing; or any steps.
enum { RANK_SMOOTH, RANK_SUP, RANK_ANY };

// RankPairs are the arguments that the kernels share.
struct RankPairs {
  const int *index, *number;
  const float *s;
  const u8 *sh;
  const float *rel;
  i64 items, lds, ldsh, ldr;
  int top, few;
};

// RankRoom is the shared memory of rank_sums: its positives, and the sums of each warp.
struct RankRoom {
  Step steps[6];
  float relevance[256];
  float score[RANK_FEW], rel[RANK_FEW];
  int row[RANK_FEW], level[RANK_FEW];
  float sums[8][RANK_FEW][4];
  u32 nan;
};

// rank_pair adds item i to the sums of a positive: of A, B, A′ and B′.
template <int family>
HG_DEVICE void rank_pair(float *sum, const Step *steps, const Step &curve, float reach, float tauRho, bool plus,
                         bool self, float t, int li, int lk, float ri, float rk) {
  float least = -fmaxf(-ri, -rk);
  if (family == RANK_SMOOTH) {
    t = self ? -HG_INF : t;
    StepTail a = step_tail(t, curve.rate, reach);
    float value = t < 0.f ? a.tail : 1.f - a.tail;
    sum[0] += value;
    sum[2] += a.bell;
    if (plus) {
      sum[1] = fmaf(least, value, sum[1]);
      sum[3] = fmaf(least, a.bell, sum[3]);
    }
  } else if (family == RANK_SUP) {
    StepAt a = step_curve(curve, reach, tauRho, t);
    float exact = t >= 0.f && !self ? 1.f : 0.f;
    sum[0] += li < lk ? a.value : exact;
    sum[2] += li < lk ? a.slope : 0.f;
    if (plus) sum[1] = fmaf(least, exact, sum[1]);
  } else if (!self) {
    int c = steps_class(li, lk);
    StepAt a = step_at(steps[c], t);
    sum[0] += a.value;
    sum[2] += a.slope;
    if (li >= 1 && plus) {
      a = step_at(steps[3 + c], t);
      sum[1] = fmaf(least, a.value, sum[1]);
      sum[3] = fmaf(least, a.slope, sum[3]);
    }
  }
}

// rank_sums: a block takes a query and a part of its row, a thread every 256th item of that, with four
// positives at a time. An item that does not exist is one of level 0 and score −∞.
template <int family>
HG_DEVICE void rank_sums(const RankPairs &o, float *sums, int parts, i64 span, const Steps &h, RankRoom *room) {
  i64 q = blockIdx.x / parts, part = blockIdx.x - q * parts;
  int n = o.number[q], t = threadIdx.x;
  if (n == 0 || n > o.few) return;
  steps_load(room->steps, h);
  if (t <= o.top) room->relevance[t] = o.rel[q * o.ldr + t];
  if (t < n) {
    int row = o.index[q * o.few + t], level = o.sh[q * o.ldsh + row];
    room->row[t] = row;
    room->level[t] = level;
    room->score[t] = o.s[q * o.lds + row];
    room->rel[t] = o.rel[q * o.ldr + level];
  }
  if (t == 0) room->nan = 0;
  __syncthreads();
  const Step curve = h.rank[2];
  bool plus = h.plus[0].kind != STEP_NONE || h.plus[1].kind != STEP_NONE || h.plus[2].kind != STEP_NONE, nan = false;
  float reach = step_reach(curve), tauRho = curve.rho / curve.scale;
  const float *scores = o.s + q * o.lds;
  const u8 *levels = o.sh + q * o.ldsh;
  int first = (int)(part * span), last = (int)hg_least(part * span + span, o.items);
  for (int from = 0; from < n; from += RANK_EACH) {
    float score[RANK_EACH], rel[RANK_EACH], sum[RANK_EACH][4];
    int level[RANK_EACH], row[RANK_EACH];
#pragma unroll
    for (int j = 0; j < RANK_EACH; j++) {
      int k = hg_least(from + j, n - 1);
      score[j] = room->score[k];
      rel[j] = room->rel[k];
      level[j] = room->level[k];
      row[j] = room->row[k];
      sum[j][0] = sum[j][1] = sum[j][2] = sum[j][3] = 0.f;
    }
    for (int i = first + t; i < last; i += 256) {
      int li = levels[i];
      bool exists = li <= o.top;
      if (family == RANK_ANY && !exists) continue;
      float x = exists ? scores[i] : -HG_INF;
      if (!exists) li = 0;
      nan = nan || hg_nan(x);
      float ri = li >= 1 ? room->relevance[li] : 0.f;
#pragma unroll
      for (int j = 0; j < RANK_EACH; j++) {
        rank_pair<family>(sum[j], room->steps, curve, reach, tauRho, plus, i == row[j], x - score[j], li, level[j], ri,
                          rel[j]);
      }
    }
#pragma unroll
    for (int j = 0; j < RANK_EACH; j++) {
#pragma unroll
      for (int c = 0; c < 4; c++) {
        float v = hg_warp_sum(sum[j][c]);
        if (hg_lane() == 0 && from + j < n) room->sums[hg_warp()][from + j][c] = v;
      }
    }
  }
  if (nan) atomicOr(&room->nan, 1u); // its steps are those of a number
  __syncthreads();
  float *to = sums + (i64)blockIdx.x * o.few * 4;
  for (int e = t; e < 4 * n; e += 256) {
    float v = 0.f;
#pragma unroll
    for (int w = 0; w < 8; w++) v += room->sums[w][e >> 2][e & 3];
    if (family != RANK_ANY && (e & 2)) v *= curve.scale;
    to[e] = room->nan ? HG_NAN : v;
  }
}

#define RANK_SUMS(name, family)                                                                       \
  HG_KERNEL(256, name, RankPairs o, float *sums, int parts, i64 span, Steps h) {                      \
    HG_SHARED(RankRoom, room, [1]);                                                                   \
    rank_sums<family>(o, sums, parts, span, h, room);                                                 \
  }
RANK_SUMS(rankloss_sums_smooth, RANK_SMOOTH)
RANK_SUMS(rankloss_sums_sup, RANK_SUP)
RANK_SUMS(rankloss_sums_any, RANK_ANY)

// rankloss_score: a block takes a query of fewest to few positives. With sums the ranks are those of
// parts, and otherwise what was written. The positives of a query are stride apart from the next's, and those
// of a sorted row begin behind its negatives.
HG_KERNEL(256, rankloss_score, float *loss, float *rank, float *plus, float *srank, float *splus, const float *sums,
          const int *index, const int *number, const u8 *sh, const float *rel, const int *cnt, i64 stride, i64 ldsh,
          i64 ldr, i64 ldc, int top, int parts, int fewest, int few, int sorted, Score o) {
  HG_SHARED(ScoreRoom, room, [1]);
  i64 q = blockIdx.x, at = q * stride;
  int n = number[q];
  if (n < fewest || n > few) return;
  for (int e = threadIdx.x; sums && e < 4 * n; e += blockDim.x) {
    int c = e & 3, k = e >> 2;
    double v = c == 0 ? 1. : c == 1 ? (double)rel[q * ldr + sh[q * ldsh + index[at + k]]] : 0.;
    for (int p = 0; p < parts; p++) v += (double)sums[((q * parts + p) * stride + k) * 4 + c];
    float *to = c == 0 ? rank : c == 1 ? plus : c == 2 ? srank : splus;
    to[at + k] = (float)v;
  }
  __syncthreads();
  const int *own = index + at + (sorted ? cnt[q * ldc] : 0);
  RankRow row = {n, sh + q * ldsh, own, rank + at, plus + at, srank + at, splus + at, rank + at, plus + at, srank + at};
  Levels levels = {cnt + q * ldc, rel + q * ldr, top};
  double l = rank_score(row, levels, o, room);
  if (threadIdx.x == 0) loss[q] = (float)l;
}

// RankSlopes is the shared memory of rank_grad: its positives, each with score, u, v (or the level) and
// relevance.
struct RankSlopes {
  Step steps[6];
  float relevance[256];
  f4 positive[RANK_FEW];
  int row[RANK_FEW], level[RANK_FEW];
  float own[RANK_FEW];
};

// rank_slope returns what a positive adds to the gradient of another item.
template <int family>
HG_DEVICE float rank_slope(const Step *steps, const Step &curve, float reach, float tauRho, const f4 &k, int level,
                           float z, int li, float ri) {
  float t = z - k.x;
  if (family == RANK_SMOOTH) return fmaf(k.z, -fmaxf(-ri, -k.w), k.y) * step_tail(t, curve.rate, reach).bell;
  if (family == RANK_SUP) {
    if (!((float)li < k.z)) return 0.f;
    return k.y * (t > curve.delta && t > 0.f ? tauRho : step_tail(t, curve.rate, reach).bell);
  }
  int c = steps_class(li, level);
  float slope = k.y * step_slope(steps[c], t);
  if (li < 1 || steps[3 + c].kind == STEP_NONE) return slope;
  return fmaf(k.z * -fmaxf(-ri, -k.w), step_slope(steps[3 + c], t), slope);
}

// rank_grad: a block takes a query and 256 items, a thread an item.
template <int family>
HG_DEVICE void rank_grad(const RankPairs &o, float *ds, i64 ldd, const float *u, const float *v, const float *own,
                         const Steps &h, RankSlopes *room) {
  i64 tiles = (o.items + 255) / 256, q = blockIdx.x / tiles, i = (blockIdx.x - q * tiles) * 256 + threadIdx.x;
  int t = threadIdx.x, n = o.number[q];
  if (n > o.few) return;
  if (family == RANK_ANY) steps_load(room->steps, h);
  if (n > 0 && t <= o.top) room->relevance[t] = o.rel[q * o.ldr + t];
  if (t < n) {
    i64 k = q * o.few + t;
    int row = o.index[k], level = o.sh[q * o.ldsh + row];
    float third = family == RANK_SUP ? (float)level : family == RANK_SMOOTH && h.plus[0].kind == STEP_NONE ? 0.f : v[k];
    room->positive[t] = {o.s[q * o.lds + row], u[k], third, o.rel[q * o.ldr + level]};
    room->row[t] = row;
    room->level[t] = level;
    room->own[t] = own[k];
  }
  __syncthreads();
  if (i >= o.items) return;
  int li = o.sh[q * o.ldsh + i], self = n;
  if (li > o.top || n == 0) {
    ds[q * ldd + i] = 0.f;
    return;
  }
  float z = o.s[q * o.lds + i], ri = li >= 1 ? room->relevance[li] : 0.f, sum = 0.f;
  for (int k = 0; k < n && li >= 1; k++) {
    if (room->row[k] == (int)i) self = k;
  }
  const Step curve = h.rank[2];
  float reach = step_reach(curve), tauRho = curve.rho / curve.scale;
  for (int k = 0; k < self; k++) {
    sum += rank_slope<family>(room->steps, curve, reach, tauRho, room->positive[k], room->level[k], z, li, ri);
  }
  for (int k = self + 1; k < n; k++) {
    sum += rank_slope<family>(room->steps, curve, reach, tauRho, room->positive[k], room->level[k], z, li, ri);
  }
  if (family != RANK_ANY) sum *= curve.scale;
  ds[q * ldd + i] = self < n ? sum - room->own[self] : sum;
}

#define RANK_GRAD(name, family)                                                                            \
  HG_KERNEL(256, name, RankPairs o, float *ds, i64 ldd, const float *u, const float *v, const float *own,  \
            Steps h) {                                                                                     \
    HG_SHARED(RankSlopes, room, [1]);                                                                      \
    rank_grad<family>(o, ds, ldd, u, v, own, h, room);                                                     \
  }
RANK_GRAD(rankloss_grad_smooth, RANK_SMOOTH)
RANK_GRAD(rankloss_grad_sup, RANK_SUP)
RANK_GRAD(rankloss_grad_any, RANK_ANY)
