// attention of BF16 arrays by tiles on tensor cores (Dao, "FlashAttention-2", 2023): what
// attention.cu computes, for heads of up to 64 and up to 128 numbers. No array of T × T is
// stored.
//
// A block of attention has 64 queries, and keys and values stream past. It keeps the greatest
// score of each row so far, and scales down what it has summed where a greater one comes.
// attention_grad_q has 64 queries too, attention_grad_kv 64 keys, which queries and dy stream
// past. So one thread computes an element of the gradient, in the order of the tokens. Both
// compute the probabilities again, from lse. Sums are F32; probabilities and the gradients of
// scores are rounded to BF16 before they are multiplied.
// Each kernel reads (T/64)·2T·Dh elements of each head, most from the cache.
// Reference: ../reference/attention.go, ../cpu/attentiongrad.go
#include "attentiontiles.h"

// hide makes the score of a query with a key that it does not see −∞: one that is not among the
// image's keys, or with causal a later token. The warp's rows begin at token `first`, the columns
// at `from`. QUERIES: rows are queries and columns keys; otherwise it is the other way round.
template <bool QUERIES, int STEP>
HG_DEVICE void hide(float (&s)[STEP / 8][4], int first, int from, int keys, int causal) {
#pragma unroll
  for (int n = 0; n < STEP / 8; n++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      int row = first + row_of(i), column = from + column_of(n, i);
      int query = QUERIES ? row : column, key = QUERIES ? column : row;
      if (key >= keys || (causal && key > query)) s[n][i] = -HG_INF;
    }
}

// progress is the softmax of two rows so far: the greatest score, and the sum of the powers in
// the columns of this thread.
struct progress {
  float top[2], total[2];

  // take turns scores s into 2^((s − top)·unit). The sums so far must be multiplied by
  // shrink.
  template <int STEP> HG_METHOD void take(float (&s)[STEP / 8][4], float (&shrink)[2], float unit) {
    float most[2] = {top[0], top[1]};
#pragma unroll
    for (int n = 0; n < STEP / 8; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) most[i / 2] = fmaxf(most[i / 2], s[n][i]);
#pragma unroll
    for (int r = 0; r < 2; r++) {
      most[r] = fmaxf(most[r], __shfl_xor_sync(HG_FULL, most[r], 1));
      most[r] = fmaxf(most[r], __shfl_xor_sync(HG_FULL, most[r], 2));
      shrink[r] = hg_exp2((top[r] - most[r]) * unit);
      top[r] = most[r];
      total[r] *= shrink[r];
    }
#pragma unroll
    for (int n = 0; n < STEP / 8; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        s[n][i] = hg_exp2(fmaf(s[n][i], unit, -top[i / 2] * unit));
        total[i / 2] += s[n][i];
      }
  }
};

template <int D> HG_DEVICE void forward(bf16 *y, float *lse, const bf16 *qkv, const int *length, const heads &o) {
  constexpr int STEP = 4096 / D;
  typedef room<D, 1, STEP> memory;
  HG_DYNAMIC(memory, shared);
  place p = tile_of(o);
  sight at = sight_of(o, length, p);
  strided k = packed_rows(qkv, o, p, 1), v = packed_rows(qkv, o, p, 2);
  bring<D, OWN>(shared->own[0], packed_rows(qkv, o, p, 0), p.token, o.tokens, o.size);
  bring_step<D, STEP>(shared->stream, k, v, 0, at.keys, o.size);
  hg_copy_wait<0>();
  __syncthreads();
  factor<D> query(shared->own[0]);
  float sum[D / 8][4];
  clear<D>(sum);
  progress soft = {{-HG_INF, -HG_INF}, {0.f, 0.f}};
#pragma unroll 1
  for (int from = 0; from < at.end; from += STEP) {
    hg_copy_wait<0>();
    __syncthreads(); // the step is there, and everybody is done with the one before
    if (from + STEP < at.end) bring_step<D, STEP>(shared->stream, k, v, from + STEP, at.keys, o.size);
    if (from >= at.seen) continue;
    float s[STEP / 8][4], shrink[2];
    multiply<D, STEP>(s, query, shared->stream[from / STEP % 2][0]);
    if (from + STEP > at.whole) hide<true, STEP>(s, at.first, from, at.keys, o.causal);
    soft.take<STEP>(s, shrink, o.scale * LOG2_E);
#pragma unroll
    for (int n = 0; n < D / 8; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) sum[n][i] *= shrink[i / 2];
    mix<D, STEP>(sum, s, shared->stream[from / STEP % 2][1]);
  }
  float inverse[2];
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float total = soft.total[r];
    total += __shfl_xor_sync(HG_FULL, total, 1);
    total += __shfl_xor_sync(HG_FULL, total, 2);
    inverse[r] = at.seen > 0 ? 1.f / total : 0.f;
    int token = at.first + row_of(2 * r);
    if (hg_lane() % 4 == 0 && token < o.tokens)
      lse[(p.image * o.heads + p.head) * o.tokens + token] =
          at.seen > 0 ? fmaf(soft.top[r], o.scale, hg_log(total)) : -HG_INF;
  }
  i64 stride = (i64)o.heads * o.size;
  put<D>(y + result_at(o, p, at.first), stride, o.tokens - at.first, o.size, shared->own[0], sum, inverse);
}

// delta_of is δ of row lane/2 of the warp, ⟨dy, y⟩. dy is a tile.
template <int D> HG_DEVICE float delta_of(const bf16 *y, const bf16 *dy, const heads &o, const place &p, int first) {
  int row = hg_lane() / 2;
  float sum = 0.f;
  if (first + row < o.tokens) {
    y += result_at(o, p, first + row), dy += (16 * hg_warp() + row) * (D + 8);
#pragma unroll 2
    for (int column = hg_lane() % 2 * 8; column < o.size; column += 16) {
      float a[8], b[8];
      hg_unpack(*(const f4 *)(y + column), a), hg_unpack(*(const f4 *)(dy + column), b);
#pragma unroll
      for (int e = 0; e < 8; e++) sum = fmaf(a[e], b[e], sum);
    }
  }
  return sum + __shfl_xor_sync(HG_FULL, sum, 1);
}

template <int D>
HG_DEVICE void grad_q(bf16 *dqkv, float *delta, const bf16 *dy, const bf16 *y, const float *lse, const bf16 *qkv,
                      const int *length, const heads &o) {
  constexpr int STEP = 2048 / D;
  typedef room<D, 2, STEP> memory;
  HG_DYNAMIC(memory, shared);
  place p = tile_of(o);
  sight at = sight_of(o, length, p);
  strided k = packed_rows(qkv, o, p, 1), v = packed_rows(qkv, o, p, 2);
  bring<D, OWN>(shared->own[0], packed_rows(qkv, o, p, 0), p.token, o.tokens, o.size);
  bring<D, OWN>(shared->own[1], result_rows(dy, o, p), p.token, o.tokens, o.size);
  bring_step<D, STEP>(shared->stream, k, v, 0, at.keys, o.size);
  hg_copy_wait<0>();
  __syncthreads();
  factor<D> query(shared->own[0]), slope(shared->own[1]);
  i64 head = (p.image * o.heads + p.head) * o.tokens;
  float unit = o.scale * LOG2_E, own = delta_of<D>(y, shared->own[1], o, p, at.first), log[2], along[2];
  if (hg_lane() % 2 == 0 && at.first + hg_lane() / 2 < o.tokens) delta[head + at.first + hg_lane() / 2] = own;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    int token = at.first + row_of(2 * r);
    log[r] = token < o.tokens ? lse[head + token] * LOG2_E : 0.f;
    along[r] = __shfl_sync(HG_FULL, own, 2 * row_of(2 * r));
  }
  float sum[D / 8][4];
  clear<D>(sum);
#pragma unroll 1
  for (int from = 0; from < at.end; from += STEP) {
    hg_copy_wait<0>();
    __syncthreads();
    if (from + STEP < at.end) bring_step<D, STEP>(shared->stream, k, v, from + STEP, at.keys, o.size);
    if (from >= at.seen) continue;
    float s[STEP / 8][4], ds[STEP / 8][4];
    multiply<D, STEP>(s, query, shared->stream[from / STEP % 2][0]);
    multiply<D, STEP>(ds, slope, shared->stream[from / STEP % 2][1]);
    if (from + STEP > at.whole) hide<true, STEP>(s, at.first, from, at.keys, o.causal);
#pragma unroll
    for (int n = 0; n < STEP / 8; n++)
#pragma unroll
      for (int i = 0; i < 4; i++)
        ds[n][i] = hg_exp2(fmaf(s[n][i], unit, -log[i / 2])) * (ds[n][i] - along[i / 2]);
    mix<D, STEP>(sum, ds, shared->stream[from / STEP % 2][0]);
  }
  float by[2] = {o.scale, o.scale};
  i64 stride = (i64)3 * o.heads * o.size;
  put<D>(part(dqkv, o, p, 0, at.first), stride, o.tokens - at.first, o.size, shared->own[0], sum, by);
}

template <int D>
HG_DEVICE void grad_kv(bf16 *dqkv, const float *delta, const bf16 *dy, const float *lse, const bf16 *qkv,
                       const int *length, const heads &o) {
  constexpr int STEP = 2048 / D;
  typedef room<D, 2, STEP> memory;
  HG_DYNAMIC(memory, shared);
  place p = tile_of(o); // token is a key
  strided q = packed_rows(qkv, o, p, 0), slopes = result_rows(dy, o, p);
  int keys = o.keys(length, p.image), begin = o.causal ? p.token : 0, end = p.token < keys ? o.tokens : 0;
  int first = p.token + 16 * hg_warp(); // the warp's keys
  bring<D, OWN>(shared->own[0], packed_rows(qkv, o, p, 1), p.token, keys, o.size);
  bring<D, OWN>(shared->own[1], packed_rows(qkv, o, p, 2), p.token, keys, o.size);
  bring_step<D, STEP>(shared->stream, q, slopes, begin, o.tokens, o.size);
  hg_copy_wait<0>();
  __syncthreads();
  factor<D, D == 64> key(shared->own[0]), value(shared->own[1]);
  i64 head = (p.image * o.heads + p.head) * o.tokens;
  float unit = o.scale * LOG2_E, dk[D / 8][4], dv[D / 8][4];
  clear<D>(dk);
  clear<D>(dv);
#pragma unroll 1
  for (int from = begin; from < end; from += STEP) {
    hg_copy_wait<0>();
    __syncthreads();
    if (from + STEP < end) bring_step<D, STEP>(shared->stream, q, slopes, from + STEP, o.tokens, o.size);
    if (first >= keys || (o.causal && from + STEP <= first)) continue;
    const bf16 *queries = shared->stream[from / STEP % 2][0], *slope = shared->stream[from / STEP % 2][1];
    float log[STEP / 8][2], along[STEP / 8][2]; // under way while the products are computed
#pragma unroll
    for (int n = 0; n < STEP / 8; n++)
#pragma unroll
      for (int c = 0; c < 2; c++) {
        int token = from + column_of(n, c); // beyond the last, all is 0
        log[n][c] = token < o.tokens ? lse[head + token] : 0.f;
        along[n][c] = token < o.tokens ? delta[head + token] : 0.f;
      }
    float s[STEP / 8][4], ds[STEP / 8][4];
    multiply<D, STEP>(s, key, queries);
    multiply<D, STEP>(ds, value, slope);
    if (first + 16 > keys || (o.causal && from < first + 16)) hide<false, STEP>(s, first, from, keys, o.causal);
#pragma unroll
    for (int n = 0; n < STEP / 8; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        s[n][i] = hg_exp2(fmaf(s[n][i], unit, -log[n][i % 2] * LOG2_E));
        ds[n][i] = s[n][i] * (ds[n][i] - along[n][i % 2]);
      }
    mix<D, STEP>(dv, s, slope);
    mix<D, STEP>(dk, ds, queries);
  }
  float by[2] = {o.scale, o.scale}, one[2] = {1.f, 1.f};
  i64 stride = (i64)3 * o.heads * o.size;
  put<D>(part(dqkv, o, p, 1, first), stride, o.tokens - first, o.size, shared->own[0], dk, by);
  put<D>(part(dqkv, o, p, 2, first), stride, o.tokens - first, o.size, shared->own[1], dv, one);
}

// KERNEL says how many blocks of attention and attention_grad_q must fit on a multiprocessor.
#define ATTENTION(D, KERNEL)                                                                                          \
  KERNEL(THREADS, attention_##D##_bf16, bf16 *y, float *lse, const bf16 *qkv, const int *length, heads o) {           \
    forward<D>(y, lse, qkv, length, o);                                                                               \
  }                                                                                                                   \
  KERNEL(THREADS, attention_grad_q_##D##_bf16, bf16 *dqkv, float *delta, const bf16 *dy, const bf16 *y,               \
         const float *lse, const bf16 *qkv, const int *length, heads o) {                                             \
    grad_q<D>(dqkv, delta, dy, y, lse, qkv, length, o);                                                               \
  }                                                                                                                   \
  HG_KERNEL_TWICE(THREADS, attention_grad_kv_##D##_bf16, bf16 *dqkv, const float *delta, const bf16 *dy,              \
                  const float *lse, const bf16 *qkv, const int *length, heads o) {                                    \
    grad_kv<D>(dqkv, delta, dy, lse, qkv, length, o);                                                                 \
  }
ATTENTION(64, HG_KERNEL_THRICE)
ATTENTION(128, HG_KERNEL_TWICE)
