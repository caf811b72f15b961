// pairtriplets: Σ_p Σ_n [s_n − s_p + margin]₊ over a query's positives p and negatives n.
// A positive's gradient is less one for each of its terms that are not 0, a negative's
// one more. index, count, sum [Q,G] without gaps hold the positives of pick.cu.
//
//   triplets_positives  count_p, sum_p = number and sum of the terms of p
//   triplets_negatives  ds = number of a negative's terms, −count at a positive
//   triplets_sums       sums[q] = Σ_p sum_p, cnt[q] = Σ_p count_p
//
// A term is in float32; at most 16 of them are added up before float64 takes the sum.
// P·G pairs twice. Reference: ../reference/pairloss.go
#include "pairloss.h"

enum { TRIPLET_GROUP = 32, TRIPLET_TILE = 512 };

// triplets_positives: as rankloss_ranks, a block takes 32 positives at a time, four a
// warp, whose lanes share out a tile of the row.
HG_KERNEL(256, triplets_positives, int *count, double *sum, const int *index, const int *number, PairArrays a,
          float margin, int slots) {
  HG_SHARED(float, score, [TRIPLET_TILE]);
  HG_SHARED(u8, level, [TRIPLET_TILE]);
  i64 q = blockIdx.x / slots, slot = blockIdx.x - q * slots;
  PairRow row = pair_row(a, q);
  int n = number[q], t = threadIdx.x, lane = hg_lane(), warp = hg_warp();
  const int *own = index + q * row.items;
  for (i64 first = slot * TRIPLET_GROUP + warp; first - warp < n; first += (i64)slots * TRIPLET_GROUP) {
    float z[4];
    int terms[4];
    double total[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
      z[j] = first + 8 * j < n ? row.s[own[first + 8 * j]] : 0.f;
      terms[j] = 0;
      total[j] = 0.;
    }
    for (i64 tile = 0; tile < row.items; tile += TRIPLET_TILE) {
      int size = (int)hg_least((i64)TRIPLET_TILE, row.items - tile);
      __syncthreads();
      for (int i = t; i < size; i += 256) {
        score[i] = row.s[tile + i];
        level[i] = row.sh[tile + i];
      }
      __syncthreads();
#pragma unroll
      for (int j = 0; j < 4; j++) {
        if (first + 8 * j >= n) continue;
        float part = 0.f;
        for (int i = lane; i < size; i += 32) {
          float v = score[i] - z[j] + margin;
          if (level[i] != 0 || !(v > 0.f)) continue;
          part += v;
          terms[j]++;
        }
        total[j] += (double)part;
      }
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
      double v = hg_warp_sum(total[j]);
      int k = hg_warp_sum(terms[j]);
      if (lane != 0 || first + 8 * j >= n) continue;
      sum[q * row.items + first + 8 * j] = v;
      count[q * row.items + first + 8 * j] = k;
    }
  }
}

// triplets_negatives: a block takes a query and 256 items, a thread an item, and goes
// over the positives 256 at a time.
HG_KERNEL(256, triplets_negatives, const int *count, const int *index, const int *number, PairArrays a, float margin) {
  HG_SHARED(float, score, [256]);
  HG_SHARED(int, rows, [256]);
  HG_SHARED(int, terms, [256]);
  i64 tiles = (a.items + 255) / 256, q = blockIdx.x / tiles;
  PairRow row = pair_row(a, q);
  int t = threadIdx.x, n = number[q];
  i64 i = (blockIdx.x - q * tiles) * 256 + t;
  int level = i < row.items ? row.sh[i] : ABSENT_LEVEL;
  float z = level == ABSENT_LEVEL ? 0.f : row.s[i];
  int d = 0;
  for (int first = 0; first < n; first += 256) {
    int size = hg_least(256, n - first);
    __syncthreads();
    if (t < size) {
      i64 k = q * row.items + first + t;
      rows[t] = index[k];
      score[t] = row.s[rows[t]];
      terms[t] = count[k];
    }
    __syncthreads();
    for (int k = 0; k < size && level != ABSENT_LEVEL; k++) {
      if (level == 0) {
        d += z - score[k] + margin > 0.f;
      } else if (rows[k] == i) {
        d = -terms[k];
      }
    }
  }
  if (i < row.items) row.ds[i] = (float)d;
}

HG_KERNEL(256, triplets_sums, const int *count, const double *sum, const int *number, PairArrays a) {
  HG_SHARED(double, room, [32]);
  HG_SHARED(i64, counts, [32]);
  i64 q = blockIdx.x, terms = 0;
  PairRow row = pair_row(a, q);
  double total = 0.;
  for (i64 k = threadIdx.x; k < number[q]; k += blockDim.x) {
    total += sum[q * row.items + k];
    terms += count[q * row.items + k];
  }
  total = hg_block_sum(total, room);
  terms = hg_block_sum(terms, counts);
  pair_write(row, total, 0., (int)terms, 0);
}
