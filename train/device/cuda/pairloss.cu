// pairloss: sums over the items of a query, and what becomes of all the sums.
//
//   hinges      Σ_p [PosMargin − s_p]₊ and Σ_n [s_n − NegMargin]₊, or with CrossBatch
//               Σ (1 − s_p) over s_p < Ceiling and Σ s_n over s_n > NegMargin
//   similarity  log(1 + Σ_p e^(−PosScale(s_p − Base)))/PosScale, log(1 + Σ_n e^(NegScale(s_n − Base)))/NegScale
//   easy        [s_n − s_p + PosMargin]₊ of the greatest s_p and the greatest s_n below it
//   totals      Σ_q cnt[q], in I64 [2]
//   mean        loss = Σ w·sums and ds = w·ds with the weights of the mean
//
// A block takes a query, totals one block in all, mean 256 items. Reads 5 bytes an item
// and pass (hinges 1, similarity 4, easy 4), writes 4; mean reads 5 and writes 4.
// Reference: ../reference/pairloss.go
#include "pairloss.h"

// pair_hinge is the term of one item, 0 where it is no violation.
HG_DEVICE double pair_hinge(const Pairs &p, double x, bool negative) {
  if (p.kind == CONTRASTIVE) return hg_most(negative ? x - p.negMargin : p.posMargin - x, 0.);
  if (negative) return x > p.negMargin ? x : 0.;
  return x < p.ceiling ? 1. - x : 0.;
}

HG_KERNEL(256, pairloss_hinges, PairArrays a, Pairs p) {
  HG_SHARED(double, room, [32]);
  HG_SHARED(int, counts, [32]);
  PairRow row = pair_row(a, blockIdx.x);
  double pos = 0., neg = 0.;
  int positives = 0, negatives = 0;
  for (i64 i = threadIdx.x; i < row.items; i += blockDim.x) {
    int level = row.sh[i];
    float d = 0.f;
    if (level != ABSENT_LEVEL) {
      double term = pair_hinge(p, (double)row.s[i], level == 0);
      int counted = term > 0. || p.mean == MEAN_PAIRS;
      if (!(term > 0.)) term = 0.;
      if (level == 0) {
        neg += term;
        negatives += counted;
      } else {
        pos += term;
        positives += counted;
      }
      if (term > 0.) d = level == 0 ? 1.f : -1.f;
    }
    if (row.ds) row.ds[i] = d;
  }
  pos = hg_block_sum(pos, room);
  neg = hg_block_sum(neg, room);
  positives = hg_block_sum(positives, counts);
  negatives = hg_block_sum(negatives, counts);
  pair_write(row, pos, neg, positives, negatives);
}

// Kept says which items a query keeps: of the positives those below high, of the
// negatives those above low, with a margin for each if there is mining.
struct Kept {
  double ceiling, margin, high, low;
  int mine;
};

// kept returns 0 for a positive that counts, 1 for a negative and −1 for any other item.
HG_DEVICE int kept(const Kept &k, int level, double x) {
  if (level == ABSENT_LEVEL) return -1;
  if (level == 0) return !k.mine || x + k.margin > k.low ? 1 : -1;
  return x < k.ceiling && (!k.mine || x - k.margin < k.high) ? 0 : -1;
}

// Sums are taken relative to their greatest term, so that no exponential overflows; the
// 1 in the logarithm is e^0.
HG_KERNEL(256, pairloss_similarity, PairArrays a, Pairs p) {
  HG_SHARED(double, room, [32]);
  HG_SHARED(int, counts, [32]);
  PairRow row = pair_row(a, blockIdx.x);
  Kept keep = {p.ceiling, p.posMargin, -(double)HG_INF, (double)HG_INF, p.mine};
  for (i64 i = threadIdx.x; i < row.items && p.mine; i += blockDim.x) {
    double x = row.s[i];
    int level = row.sh[i];
    if (level == 0) keep.high = hg_most(keep.high, x);
    if (level != 0 && level != ABSENT_LEVEL && x < p.ceiling) keep.low = hg_least(keep.low, x);
  }
  keep.high = block_most(keep.high, room);
  keep.low = -block_most(-keep.low, room);
  int positives = 0, negatives = 0;
  double topPos = 0., topNeg = 0.;
  for (i64 i = threadIdx.x; i < row.items; i += blockDim.x) {
    double x = row.s[i];
    int sign = kept(keep, row.sh[i], x);
    if (sign == 0) topPos = hg_most(topPos, -p.posScale * (x - p.base));
    if (sign == 1) topNeg = hg_most(topNeg, p.negScale * (x - p.base));
    positives += sign == 0;
    negatives += sign == 1;
  }
  topPos = block_most(topPos, room);
  topNeg = block_most(topNeg, room);
  positives = hg_block_sum(positives, counts);
  negatives = hg_block_sum(negatives, counts);
  if (p.mine && (positives == 0 || negatives == 0)) {
    pair_nothing(row);
    return;
  }
  double sumPos = 0., sumNeg = 0.;
  for (i64 i = threadIdx.x; i < row.items; i += blockDim.x) {
    double x = row.s[i];
    int sign = kept(keep, row.sh[i], x);
    if (sign == 0) sumPos += hg_exp(-p.posScale * (x - p.base) - topPos);
    if (sign == 1) sumNeg += hg_exp(p.negScale * (x - p.base) - topNeg);
  }
  sumPos = hg_block_sum(sumPos, room) + hg_exp(-topPos);
  sumNeg = hg_block_sum(sumNeg, room) + hg_exp(-topNeg);
  pair_write(row, (topPos + hg_log(sumPos)) / p.posScale, (topNeg + hg_log(sumNeg)) / p.negScale, positives, negatives);
  for (i64 i = threadIdx.x; i < row.items && row.ds; i += blockDim.x) {
    double x = row.s[i], d = 0.;
    int sign = kept(keep, row.sh[i], x);
    if (sign == 0) d = -hg_exp(-p.posScale * (x - p.base) - topPos) / sumPos;
    if (sign == 1) d = hg_exp(p.negScale * (x - p.base) - topNeg) / sumNeg;
    row.ds[i] = (float)d;
  }
}

// pair_first returns the first item of the greatest score below the given one, among the
// negatives or the positives; −1 without any.
HG_DEVICE i64 pair_first(const PairRow &row, bool negative, float below, float *room, u32 *first) {
  float best = -HG_INF;
  for (i64 i = threadIdx.x; i < row.items; i += blockDim.x) {
    int level = row.sh[i];
    if (level != ABSENT_LEVEL && (level == 0) == negative && !(row.s[i] >= below)) best = hg_max(best, row.s[i]);
  }
  best = hg_block_max(best, room);
  if (threadIdx.x == 0) *first = 0xffffffffu;
  __syncthreads();
  for (i64 i = threadIdx.x; i < row.items; i += blockDim.x) {
    int level = row.sh[i];
    bool counts = level != ABSENT_LEVEL && (level == 0) == negative && !(row.s[i] >= below);
    if (counts && row.s[i] == best) {
      atomicMin(first, (u32)i);
      break;
    }
  }
  __syncthreads();
  i64 at = *first == 0xffffffffu ? -1 : (i64)*first;
  __syncthreads();
  return at;
}

HG_KERNEL(256, pairloss_easy, PairArrays a, Pairs p) {
  HG_SHARED(float, room, [32]);
  HG_SHARED(u32, first, [1]);
  PairRow row = pair_row(a, blockIdx.x);
  i64 pos = pair_first(row, false, HG_NAN, room, first);
  i64 neg = pos < 0 ? -1 : pair_first(row, true, row.s[pos], room, first);
  float v = neg < 0 ? 0.f : row.s[neg] - row.s[pos] + (float)p.posMargin;
  if (!(v > 0.f)) {
    pair_nothing(row);
    return;
  }
  pair_write(row, (double)v, 0., 1, 0);
  for (i64 i = threadIdx.x; i < row.items && row.ds; i += blockDim.x) {
    row.ds[i] = i == pos ? -1.f : i == neg ? 1.f : 0.f;
  }
}

HG_KERNEL(256, pairloss_totals, i64 *totals, const int *cnt, i64 queries, i64 ldc) {
  HG_SHARED(i64, room, [32]);
  i64 pos = 0, neg = 0;
  for (i64 q = threadIdx.x; q < queries; q += 256) {
    pos += cnt[q * ldc];
    neg += cnt[q * ldc + 1];
  }
  pos = hg_block_sum(pos, room);
  neg = hg_block_sum(neg, room);
  if (threadIdx.x == 0) {
    totals[0] = pos;
    totals[1] = neg;
  }
}

// pair_weight is the factor of a sum of n terms, of which all queries have total.
HG_DEVICE double pair_weight(int mean, int n, i64 total, i64 queries) {
  if (mean == MEAN_QUERIES) return 1. / (double)queries;
  if (mean == MEAN_PAIRS) return n > 0 ? 1. / (double)n / (double)queries : 0.;
  return total > 0 ? 1. / (double)total : 0.;
}

// The first block of a query writes its loss.
HG_KERNEL(256, pairloss_mean, float *loss, const i64 *totals, i64 queries, i64 tiles, PairArrays a, int kind,
          int mean) {
  i64 q = blockIdx.x / tiles, tile = blockIdx.x - q * tiles, i = tile * 256 + threadIdx.x;
  PairRow row = pair_row(a, q);
  double pos = pair_weight(mean, row.cnt[0], totals[0], queries);
  double neg = kind == TRIPLET || kind == EASY_TRIPLET ? pos : pair_weight(mean, row.cnt[1], totals[1], queries);
  if (i == 0) loss[q] = (float)(pos * row.sums[0] + neg * row.sums[1]);
  if (row.ds && i < row.items) row.ds[i] = (float)((row.sh[i] == 0 ? neg : pos) * (double)row.ds[i]);
}
