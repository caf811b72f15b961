// rankscore.h: the loss of one query from the ranks of its positives, with its
// derivatives by rank and plus. With k over the P positives, n_l items of level l:
//
//   AP      1 − Σ_k plus_k/rank_k / Z,  Z = Σ_l n_l·r_l
//   Recall  1 − mean over κ of [Σ_k σ((κ − rank_k)/T_κ)] / min(κ, P), the bracket at most κ with clip
//   NDCG    1 − Σ_k (2^l_k − 1)/log2(1 + rank_k) / iDCG
//   Log     Σ_k log(1 + rank_k − plus_k) / P;  LogLog with log(1 + ·) twice
//
// Everything is in float64. Reference: ../reference/rankscore.go
#pragma once
#include "hg.h"

enum { SCORE_AP, SCORE_RECALL, SCORE_NDCG, SCORE_LOG, SCORE_LOGLOG };

// Score is scoreArg of rankscore.go.
struct Score {
  int kind, n, clip;
  float at[16], temp[16];
};

// Levels is what is known of a query's levels: how many items each has, its relevance,
// and the highest level.
struct Levels {
  const int *count;
  const float *rel;
  int top;
};

// RankRow holds the ranks of a query: of all its n items, or of its positives, and then
// index has the place of each in levels. u and v take the derivatives by rank and plus;
// v may be null. own, which may be null too, takes u·srank + v·splus, the derivative of
// the loss by the score of the positive itself. u may be rank, v plus and own srank.
struct RankRow {
  i64 n;
  const u8 *levels;
  const int *index;
  const float *rank, *plus, *srank, *splus;
  float *u, *v, *own;
};

HG_DEVICE int row_level(const RankRow &row, const Levels &levels, i64 k) {
  int l = row.levels[row.index ? row.index[k] : k];
  return l <= levels.top ? l : 0;
}

HG_DEVICE void row_set(const RankRow &row, i64 k, double u, double v) {
  if (row.own) row.own[k] = (float)(u * (double)row.srank[k] + v * (double)row.splus[k]);
  row.u[k] = (float)u;
  if (row.v) row.v[k] = (float)v;
}

// ScoreRoom is the shared memory that rank_score needs.
struct ScoreRoom {
  double sums[32];
  float at[16], temp[16];
};

HG_DEVICE double rank_gain(int level) { return hg_scale(1., level) - 1.; }

// rank_zero writes derivatives of 0 and returns the loss of a query that has none.
HG_DEVICE double rank_zero(const RankRow &row) {
  for (i64 k = threadIdx.x; k < row.n; k += blockDim.x) row_set(row, k, 0., 0.);
  return 0.;
}

HG_DEVICE double rank_ap(const RankRow &row, const Levels &levels, ScoreRoom *room) {
  double z = 0.;
  for (int l = 1; l <= levels.top; l++) z += (double)levels.count[l] * (double)levels.rel[l];
  if (z == 0.) return rank_zero(row);
  double sum = 0.;
  for (i64 k = threadIdx.x; k < row.n; k += blockDim.x) {
    double u = 0., v = 0.;
    if (row_level(row, levels, k) > 0) {
      double rank = (double)row.rank[k], plus = (double)row.plus[k];
      sum += plus / rank;
      u = plus / (z * rank * rank);
      v = -1. / (z * rank);
    }
    row_set(row, k, u, v);
  }
  return 1. - hg_block_sum(sum, room->sums) / z;
}

// rank_recall goes over the row once for each κ, to find whether its sum is clipped,
// and once for the slopes of all.
HG_DEVICE double rank_recall(const RankRow &row, const Levels &levels, double positives, const Score &o,
                             ScoreRoom *room) {
  if (threadIdx.x == 0) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
      room->at[i] = o.at[i];
      room->temp[i] = o.temp[i];
    }
  }
  __syncthreads();
  double loss = 1., share = 1. / (double)o.n;
  u32 open = 0;
  for (int i = 0; i < o.n; i++) {
    double cut = room->at[i], temp = room->temp[i], sum = 0.;
    for (i64 k = threadIdx.x; k < row.n; k += blockDim.x) {
      if (row_level(row, levels, k) > 0) sum += hg_sigmoid((cut - (double)row.rank[k]) / temp);
    }
    sum = hg_block_sum(sum, room->sums);
    bool clipped = o.clip && sum > cut;
    if (!clipped) open |= 1u << i;
    loss -= share / hg_least(cut, positives) * (clipped ? cut : sum);
  }
  for (i64 k = threadIdx.x; k < row.n; k += blockDim.x) {
    double u = 0.;
    for (int i = 0; i < o.n && row_level(row, levels, k) > 0; i++) {
      double cut = room->at[i], temp = room->temp[i], t = cut - (double)row.rank[k];
      if (!(open >> i & 1) || fabs(t) > 50. * temp) continue;
      double y = hg_sigmoid(t / temp);
      u += share / hg_least(cut, positives) * (y * (1. - y) / temp);
    }
    row_set(row, k, u, 0.);
  }
  return loss;
}

HG_DEVICE double rank_ndcg(const RankRow &row, const Levels &levels, ScoreRoom *room) {
  double ideal = 0., place = 2.; // places in the best order, from 1, and 1 to that
  for (int l = levels.top; l >= 1; l--) {
    int n = levels.count[l];
    for (int j = threadIdx.x; j < n; j += blockDim.x) ideal += rank_gain(l) / hg_log2(place + (double)j);
    place += (double)n;
  }
  ideal = hg_block_sum(ideal, room->sums);
  double sum = 0.;
  for (i64 k = threadIdx.x; k < row.n; k += blockDim.x) {
    double u = 0.;
    int l = row_level(row, levels, k);
    if (l > 0) {
      double up = 1. + (double)row.rank[k], log = hg_log2(up), gain = rank_gain(l);
      sum += gain / log;
      u = gain / (ideal * 0.69314718055994530942 * up * log * log);
    }
    row_set(row, k, u, 0.);
  }
  return 1. - hg_block_sum(sum, room->sums) / ideal;
}

HG_DEVICE double rank_log(const RankRow &row, const Levels &levels, double positives, bool twice, ScoreRoom *room) {
  double sum = 0.;
  for (i64 k = threadIdx.x; k < row.n; k += blockDim.x) {
    double u = 0.;
    if (row_level(row, levels, k) > 0) {
      double ahead = (double)row.rank[k] - (double)row.plus[k], v = hg_log1p(ahead);
      u = 1. / (1. + ahead);
      if (twice) {
        u /= 1. + v;
        v = hg_log1p(v);
      }
      sum += v;
      u /= positives;
    }
    row_set(row, k, u, 0.);
  }
  return hg_block_sum(sum, room->sums) / positives;
}

// rank_score returns the loss of a query to every thread of its block and writes the
// derivatives, 0 where an item is no positive. Without a positive, or where all
// relevances are 0, loss and derivatives are 0; without one relevances are not read.
HG_DEVICE double rank_score(const RankRow &row, const Levels &levels, const Score &o, ScoreRoom *room) {
  double positives = 0.;
  for (int l = 1; l <= levels.top; l++) positives += (double)levels.count[l];
  if (positives == 0.) return rank_zero(row);
  if (o.kind == SCORE_AP) return rank_ap(row, levels, room);
  if (o.kind == SCORE_RECALL) return rank_recall(row, levels, positives, o, room);
  if (o.kind == SCORE_NDCG) return rank_ndcg(row, levels, room);
  return rank_log(row, levels, positives, o.kind == SCORE_LOGLOG, room);
}
