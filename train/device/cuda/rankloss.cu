// rankloss: the loss of each query and its gradient by its scores. With t = s_i − s_k,
// k a positive (1 ≤ l_k ≤ top), c comparing l_i with l_k:
//
//   rank_k = 1      + Σ_{i≠k} A_c(t)                            srank_k = Σ A′_c(t)
//   plus_k = r(l_k) + Σ_{i≠k, l_i≥1} min(r(l_i), r(l_k)) B_c(t) splus_k = Σ min(·,·) B′_c(t)
//   (loss, u, v) = rankscore.h of rank and plus
//   ds_i   = Σ_{k≠i} [u_k A′_c + v_k min(·,·) B′_c];  at a positive less own_k = u_k srank_k + v_k splus_k
//
// s, ds [Q,G], sh U8 [Q,G], rel [Q,L+1]; index, rank, plus, srank, splus [Q,G] without
// gaps hold the positives of pick.cu, and u, v, own take the places of rank, plus, srank.
// Pairs in float32, at most 16 of them added up before float64 takes the sum.
// 40 operations a pair, P·G pairs a query twice; memory does not matter.
// Reference: ../reference/pairrank.go
#include "rankscore.h"
#include "step.h"

enum { RANK_GROUP = 32, RANK_TILE = 512 };

// rankloss_ranks: a block takes a query and 32 of its positives at a time, four a warp,
// and goes over the row in tiles, whose items lie on the lanes of each warp. Blocks of a
// query are slots apart; those that find no positive end.
HG_KERNEL(256, rankloss_ranks, float *rank, float *plus, float *srank, float *splus, const int *index,
          const int *number, const float *s, const u8 *sh, const float *rel, i64 items, i64 lds, i64 ldsh, i64 ldr,
          int top, int slots, Steps h) {
  HG_SHARED(Step, steps, [6]);
  HG_SHARED(float, relevance, [256]);
  HG_SHARED(float, score, [RANK_TILE]);
  HG_SHARED(u8, level, [RANK_TILE]);
  HG_SHARED(double, room, [8][32][5]); // 5: lanes in different banks
  i64 q = blockIdx.x / slots, slot = blockIdx.x - q * slots;
  int n = number[q], t = threadIdx.x, lane = hg_lane(), warp = hg_warp();
  if (slot * RANK_GROUP >= n) return;
  steps_load(steps, h);
  if (t <= top) relevance[t] = rel[q * ldr + t];
  const int *own = index + q * items;
  for (i64 first = slot * RANK_GROUP + warp; first - warp < n; first += (i64)slots * RANK_GROUP) {
    double sum[4][4];
    float z[4], rk[4];
    int lk[4], at[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      at[j] = first + 8 * j < n ? own[first + 8 * j] : -1;
      z[j] = at[j] < 0 ? 0.f : s[q * lds + at[j]];
      lk[j] = at[j] < 0 ? 0 : sh[q * ldsh + at[j]];
      rk[j] = at[j] < 0 ? 0.f : rel[q * ldr + lk[j]];
      sum[j][0] = sum[j][1] = sum[j][2] = sum[j][3] = 0.;
    }
    for (i64 tile = 0; tile < items; tile += RANK_TILE) {
      int size = (int)hg_least((i64)RANK_TILE, items - tile);
      __syncthreads();
      for (int i = t; i < size; i += 256) {
        score[i] = s[q * lds + tile + i];
        level[i] = sh[q * ldsh + tile + i];
      }
      __syncthreads();
#pragma unroll
      for (int j = 0; j < 4; j++) {
        if (at[j] < 0) continue;
        float v = 0.f, d = 0.f, pv = 0.f, pd = 0.f;
        for (int i = lane; i < size; i += 32) {
          int li = level[i];
          if (li > top || tile + i == at[j]) continue;
          int c = steps_class(li, lk[j]);
          float x = score[i] - z[j];
          StepAt a = step_at(steps[c], x);
          v += a.value;
          d += a.slope;
          if (li >= 1 && steps[3 + c].kind != STEP_NONE) {
            float r = hg_least(relevance[li], rk[j]);
            a = step_at(steps[3 + c], x);
            pv = fmaf(r, a.value, pv);
            pd = fmaf(r, a.slope, pd);
          }
        }
        sum[j][0] += (double)v;
        sum[j][1] += (double)pv;
        sum[j][2] += (double)d;
        sum[j][3] += (double)pd;
      }
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
#pragma unroll
      for (int c = 0; c < 4; c++) room[warp][lane][c] = sum[j][c];
      __syncwarp();
      if (lane < 4 && at[j] >= 0) {
        double total = lane == 0 ? 1. : lane == 1 ? (double)rk[j] : 0.;
        for (int i = 0; i < 32; i++) total += room[warp][i][lane];
        float *to = lane == 0 ? rank : lane == 1 ? plus : lane == 2 ? srank : splus;
        to[q * items + first + 8 * j] = (float)total;
      }
      __syncwarp();
    }
  }
}

// rankloss_score: a block takes a query.
HG_KERNEL(256, rankloss_score, float *loss, float *rank, float *plus, float *srank, const float *splus,
          const int *index, const int *number, const u8 *sh, const float *rel, const int *cnt, i64 items, i64 ldsh,
          i64 ldr, i64 ldc, int top, Score o) {
  HG_SHARED(ScoreRoom, room, [1]);
  i64 q = blockIdx.x, at = q * items;
  RankRow row = {number[q],  sh + q * ldsh, index + at, rank + at, plus + at,
                 srank + at, splus + at,    rank + at,  plus + at, srank + at};
  Levels levels = {cnt + q * ldc, rel + q * ldr, top};
  double l = rank_score(row, levels, o, room);
  if (threadIdx.x == 0) loss[q] = (float)l;
}

// rankloss_grad: a block takes a query and 256 items, a thread an item, and goes over
// the positives 256 at a time.
HG_KERNEL(256, rankloss_grad, float *ds, const float *u, const float *v, const float *own, const int *index,
          const int *number, const float *s, const u8 *sh, const float *rel, i64 items, i64 ldd, i64 lds, i64 ldsh,
          i64 ldr, int top, Steps h) {
  HG_SHARED(Step, steps, [6]);
  HG_SHARED(float, relevance, [256]);
  HG_SHARED(float, score, [256]);
  HG_SHARED(u8, level, [256]);
  HG_SHARED(int, row, [256]);
  HG_SHARED(float, byRank, [256]);
  HG_SHARED(float, byPlus, [256]);
  HG_SHARED(float, bySelf, [256]);
  i64 tiles = (items + 255) / 256, q = blockIdx.x / tiles;
  int t = threadIdx.x, n = number[q];
  i64 i = (blockIdx.x - q * tiles) * 256 + t;
  int li = i < items ? sh[q * ldsh + i] : 255;
  float z = li <= top ? s[q * lds + i] : 0.f;
  steps_load(steps, h);
  if (n > 0 && t <= top) relevance[t] = rel[q * ldr + t];
  double sum = 0.;
  for (int first = 0; first < n; first += 256) {
    int size = hg_least(256, n - first);
    __syncthreads();
    if (t < size) {
      i64 k = q * items + first + t;
      row[t] = index[k];
      score[t] = s[q * lds + row[t]];
      level[t] = sh[q * ldsh + row[t]];
      byRank[t] = u[k];
      byPlus[t] = v[k];
      bySelf[t] = own[k];
    }
    __syncthreads();
    for (int from = 0; from < size && li <= top; from += 16) {
      float part = 0.f;
      for (int k = from; k < hg_least(size, from + 16); k++) {
        if (row[k] == i) {
          sum -= (double)bySelf[k];
          continue;
        }
        int lk = level[k], c = steps_class(li, lk);
        float x = z - score[k];
        part = fmaf(byRank[k], step_slope(steps[c], x), part);
        if (li >= 1 && steps[3 + c].kind != STEP_NONE) {
          float r = hg_least(relevance[li], relevance[lk]);
          part = fmaf(byPlus[k] * r, step_slope(steps[3 + c], x), part);
        }
      }
      sum += (double)part;
    }
  }
  if (i < items) ds[q * ldd + i] = (float)sum;
}
