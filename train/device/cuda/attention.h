// attention.h: the arrays of attention, and the work of a warp for one query or one key. The
// warp goes through the other tokens in tiles of 32. First each lane computes the scalar product
// with one of them; then each lane owns columns of the result. Only the weights of a tile are
// stored, so the number of tokens is not limited.
#pragma once
#include "typed.h"

// heads is the geometry of an attention.
struct heads {
  i64 images;
  int tokens, heads, size, causal;
  float scale;

  // keys returns how many tokens of an image are keys.
  HG_METHOD int keys(const int *length, i64 image) const {
    return length ? hg_least(hg_most(length[image], 0), tokens) : tokens;
  }
};

// place is the image, head and token of a warp.
struct place {
  i64 image;
  int head, token;
  bool inside;
};

// part returns the query (0), key (1) or value (2) of a token in an array packed as qkv.
template <class T> HG_DEVICE T *part(T *packed, const heads &o, const place &p, int which, int token) {
  i64 width = (i64)o.heads * o.size;
  return packed + (p.image * o.tokens + token) * 3 * width + which * width + p.head * o.size;
}

#define HG_COLUMNS 4 // of a lane at a time: heads of up to 128 need one pass

// hg_dot is ⟨a, b⟩ over n elements, in runs of 64 that are added up in order.
template <class T> HG_DEVICE float hg_dot(const T *a, const T *b, int n) {
  constexpr int E = 16 / sizeof(T); // elements of an access
  float sum = 0.f;
  bool wide = (((u64)a | (u64)b) & 15) == 0 && n % E == 0;
  for (int from = 0; from < n; from += 64) {
    float run = 0.f;
    int end = hg_least(from + 64, n), i = from;
#pragma unroll 4
    for (; wide && i < end; i += E) {
      float x[E], y[E];
      hg_unpack(*(const f4 *)(a + i), x), hg_unpack(*(const f4 *)(b + i), y);
#pragma unroll
      for (int e = 0; e < E; e++) run = fmaf(x[e], y[e], run);
    }
#pragma unroll 1
    for (; i < end; i++) run = fmaf(a[i], b[i], run);
    sum += run;
  }
  return sum;
}

// hg_mix adds Σ_t weight[t]·row(t)[d] over a tile of count rows to sums, lane by lane:
// sums[c] is column first + 32·c + lane.
template <class R>
HG_DEVICE void hg_mix(float (&sums)[HG_COLUMNS], const float *weight, int count, int first, int width, R row) {
  float run[HG_COLUMNS];
#pragma unroll
  for (int c = 0; c < HG_COLUMNS; c++) run[c] = 0.f;
#pragma unroll 2
  for (int t = 0; t < count; t++) {
    float w = weight[t];
    auto v = row(t) + first + hg_lane();
#pragma unroll
    for (int c = 0; c < HG_COLUMNS; c++)
      if (first + 32 * c + hg_lane() < width) run[c] = fmaf(w, v[32 * c], run[c]);
  }
#pragma unroll
  for (int c = 0; c < HG_COLUMNS; c++) sums[c] += run[c];
}

// hg_attend writes the softmax of scale·⟨q, key(j)⟩ over n keys times value(j) to y, and
// returns the logarithm of the softmax's denominator. weight is shared memory of the
// warp, 32 floats. Without keys y is 0 and the result −∞.
template <class T, class K, class V>
HG_DEVICE float hg_attend(T *y, const T *q, int width, float scale, int n, float *weight, K key, V value) {
  float top = -HG_INF;
  double sum = 0;
  for (int j = hg_lane(); j < n; j += 32) {
    float s = scale * hg_dot(q, key(j), width);
    if (s > top) {
      sum *= hg_exp(top - s);
      top = s;
    }
    sum += hg_exp(s - top);
  }
  float all = hg_warp_max(top);
  sum = hg_warp_sum(top == -HG_INF ? sum : sum * hg_exp(top - all));
  float inverse = n > 0 ? (float)(1. / sum) : 0.f;
  for (int first = 0; first < width; first += 32 * HG_COLUMNS) {
    float sums[HG_COLUMNS];
#pragma unroll
    for (int c = 0; c < HG_COLUMNS; c++) sums[c] = 0.f;
    for (int from = 0; from < n; from += 32) {
      int j = from + hg_lane();
      if (j < n) weight[hg_lane()] = hg_exp(scale * hg_dot(q, key(j), width) - all);
      __syncwarp();
      hg_mix(sums, weight, hg_least(32, n - from), first, width, [&](int t) { return value(from + t); });
      __syncwarp();
    }
#pragma unroll
    for (int c = 0; c < HG_COLUMNS; c++) {
      int d = first + 32 * c + hg_lane();
      if (d < width) y[d] = sums[c] * inverse;
    }
  }
  return n > 0 ? (float)((double)all + hg_log(sum)) : -HG_INF;
}
