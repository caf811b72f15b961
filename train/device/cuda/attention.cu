// attention: softmax(q·kᵀ/√Dh)·v of each head. qkv is packed [n,t,3·h·Dh]; y [n,t,h·Dh];
// lse [n,h,t]; length [n], null where all tokens are keys. Its gradient with the
// probabilities P = exp(q·kᵀ/√Dh − lse), computed again,
//
//	dv = Pᵀ·dy, dP = dy·vᵀ, dS = P∘(dP − δ), dq = dS·k/√Dh, dk = dSᵀ·q/√Dh,
//
// δ being ⟨dy, y⟩ of the row (Dao et al., "FlashAttention", NeurIPS 2022, appendix B.2):
// attention_grad_q has a warp a query and keeps δ, attention_grad_kv a warp a key.
// attention_ragged has queries and keys of packed sequences, by their rows.
// Reads O(t²·Dh) floats of each head, most from the cache. Reference: ../reference/attention.go,
// ../cpu/attentiongrad.go, ../cpu/raggedattention.go
#include "attention.h"

// place_of is the place of a warp.
HG_DEVICE place place_of(const heads &o) {
  i64 at = (i64)blockIdx.x * 8 + hg_warp();
  return {at / o.tokens / o.heads, (int)(at / o.tokens % o.heads), (int)(at % o.tokens), at < o.images * o.heads * o.tokens};
}

HG_DEVICE int keys_of(const heads &o, const int *length, const place &p) {
  int n = o.keys(length, p.image);
  return o.causal ? hg_least(n, p.token + 1) : n;
}

HG_KERNELS(256, attention, (T *y, float *lse, const T *qkv, const int *length, heads o), (y, lse, qkv, length, o)) {
  HG_SHARED(float, weights, [8][32]);
  place p = place_of(o);
  if (!p.inside) return; // whole warps, and only warps meet
  T *row = y + ((p.image * o.tokens + p.token) * o.heads + p.head) * o.size;
  float l = hg_attend<T>(
      row, part(qkv, o, p, 0, p.token), o.size, o.scale, keys_of(o, length, p), weights[hg_warp()],
      [&](int j) { return part(qkv, o, p, 1, j); }, [&](int j) { return part(qkv, o, p, 2, j); });
  if (hg_lane() == 0) lse[(p.image * o.heads + p.head) * o.tokens + p.token] = l;
}

HG_KERNELS(256, attention_grad_q,
           (T *dqkv, float *delta, const T *dy, const T *y, const float *lse, const T *qkv, const int *length,
            heads o),
           (dqkv, delta, dy, y, lse, qkv, length, o)) {
  HG_SHARED(float, weights, [8][32]);
  place p = place_of(o);
  if (!p.inside) return;
  i64 row = ((p.image * o.tokens + p.token) * o.heads + p.head) * o.size;
  i64 at = (p.image * o.heads + p.head) * o.tokens + p.token;
  double along = 0;
  for (int d = hg_lane(); d < o.size; d += 32) along += (double)dy[row + d] * y[row + d];
  float own = (float)hg_warp_sum(along), l = lse[at], *weight = weights[hg_warp()];
  if (hg_lane() == 0) delta[at] = own;
  const T *q = part(qkv, o, p, 0, p.token);
  T *dq = part(dqkv, o, p, 0, p.token);
  int n = keys_of(o, length, p);
  for (int first = 0; first < o.size; first += 32 * HG_COLUMNS) {
    float sums[HG_COLUMNS];
#pragma unroll
    for (int c = 0; c < HG_COLUMNS; c++) sums[c] = 0.f;
    for (int from = 0; from < n; from += 32) {
      int j = from + hg_lane();
      if (j < n) {
        float probability = hg_exp(o.scale * hg_dot(q, part(qkv, o, p, 1, j), o.size) - l);
        weight[hg_lane()] = probability * (hg_dot(dy + row, part(qkv, o, p, 2, j), o.size) - own);
      }
      __syncwarp();
      hg_mix(sums, weight, hg_least(32, n - from), first, o.size, [&](int t) { return part(qkv, o, p, 1, from + t); });
      __syncwarp();
    }
#pragma unroll
    for (int c = 0; c < HG_COLUMNS; c++) {
      int d = first + 32 * c + hg_lane();
      if (d < o.size) dq[d] = o.scale * sums[c];
    }
  }
}

HG_KERNELS(256, attention_grad_kv,
           (T *dqkv, const float *delta, const T *dy, const float *lse, const T *qkv, const int *length, heads o),
           (dqkv, delta, dy, lse, qkv, length, o)) {
  HG_SHARED(float, weights, [8][2][32]);
  place p = place_of(o); // token is a key
  if (!p.inside) return;
  float *probability = weights[hg_warp()][0], *slope = weights[hg_warp()][1];
  const T *k = part(qkv, o, p, 1, p.token), *v = part(qkv, o, p, 2, p.token);
  T *dk = part(dqkv, o, p, 1, p.token), *dv = part(dqkv, o, p, 2, p.token);
  const T *rows = dy + (p.image * o.tokens * o.heads + p.head) * o.size;
  i64 step = (i64)o.heads * o.size, at = (p.image * o.heads + p.head) * o.tokens;
  bool seen = !length || p.token < length[p.image];
  int begin = o.causal ? p.token : 0, end = seen ? o.tokens : 0;
  for (int first = 0; first < o.size; first += 32 * HG_COLUMNS) {
    float sums_k[HG_COLUMNS], sums_v[HG_COLUMNS];
#pragma unroll
    for (int c = 0; c < HG_COLUMNS; c++) sums_k[c] = sums_v[c] = 0.f;
    for (int from = begin; from < end; from += 32) {
      int i = from + hg_lane();
      if (i < end) {
        float w = hg_exp(o.scale * hg_dot(part(qkv, o, p, 0, i), k, o.size) - lse[at + i]);
        probability[hg_lane()] = w;
        slope[hg_lane()] = w * (hg_dot(rows + i * step, v, o.size) - delta[at + i]);
      }
      __syncwarp();
      int count = hg_least(32, end - from);
      hg_mix(sums_v, probability, count, first, o.size, [&](int t) { return rows + (from + t) * step; });
      hg_mix(sums_k, slope, count, first, o.size, [&](int t) { return part(qkv, o, p, 0, from + t); });
      __syncwarp();
    }
#pragma unroll
    for (int c = 0; c < HG_COLUMNS; c++) {
      int d = first + 32 * c + hg_lane();
      if (d < o.size) dk[d] = o.scale * sums_k[c], dv[d] = sums_v[c];
    }
  }
}

// A warp has one head of a query. An index that does not exist makes the row NaN.
HG_KERNELS(256, attention_ragged,
           (T *dst, i64 ldd, const T *qkv, i64 ld, i64 tokens, const int *rows, const int *keys, i64 keys_in_all,
            const int *spans, i64 queries, int heads, int size, float scale),
           (dst, ldd, qkv, ld, tokens, rows, keys, keys_in_all, spans, queries, heads, size, scale)) {
  HG_SHARED(float, weights, [8][32]);
  i64 at = (i64)blockIdx.x * 8 + hg_warp(), i = at / heads;
  if (i >= queries) return;
  int head = (int)(at - i * heads), from = spans[2 * i], n = spans[2 * i + 1] - from;
  i64 row = rows ? rows[i] : i, width = (i64)heads * size;
  bool sound = row >= 0 && row < tokens && from >= 0 && n >= 0 && from + (i64)n <= keys_in_all;
  T *y = dst + i * ldd + head * size;
  for (int j = hg_lane(); sound && j < n; j += 32) sound = keys[from + j] >= 0 && keys[from + j] < tokens;
  if (!__all_sync(HG_FULL, sound)) {
    for (int d = hg_lane(); d < size; d += 32) y[d] = HG_NAN;
    return;
  }
  const T *own = qkv + head * size;
  hg_attend<T>(
      y, own + row * ld, size, scale, n, weights[hg_warp()], [&](int j) { return own + keys[from + j] * ld + width; },
      [&](int j) { return own + keys[from + j] * ld + 2 * width; });
}
