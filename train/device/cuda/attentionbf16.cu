// attention of BF16 arrays by tiles on tensor cores (Dao, "FlashAttention-2", 2023): what
// attention.cu computes, for heads of up to 64 and up to 128 numbers. No array of T × T is
// stored.
//
// A warp of attention has 16 queries, and keys and values stream past the block. It keeps the greatest
// score of each row so far, and scales down what it has summed where a greater one comes.
// attention_grad_q has 16 queries to a warp too, attention_grad_kv 16 keys, which queries and dy stream
// past. So one warp computes an element of the gradient, in the order of the tokens. Both compute the
// probabilities again, from lse. Sums are F32; probabilities and the gradients of scores are rounded to
// BF16 before they are multiplied.
// A block with W warps reads 2·T·Dh elements of each head for 16·W of its tokens, most from the cache.
// Reference: ../reference/attention.go, ../cpu/attentiongrad.go
#include "attentiontiles.h"

// hide makes the score of a query with a key that it does not see −∞. Rows are queries, columns keys, of
// which the two rows of a thread see the first end[0] and end[1].
template <int COLUMNS> HG_DEVICE void hide(float (&s)[COLUMNS / 8][4], const int (&end)[2]) {
  int column = (int)(hg_thread_anew() % 4) * 2; // of the first score
#pragma unroll
  for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (8 * n + i % 2 >= end[i / 2] - column) s[n][i] = -HG_INF;
}

// hide_before is hide where rows are keys, which the queries from begin[0] and begin[1] on see.
template <int COLUMNS> HG_DEVICE void hide_before(float (&s)[COLUMNS / 8][4], const int (&begin)[2]) {
  int column = (int)(hg_thread_anew() % 4) * 2; // of the first score
#pragma unroll
  for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
    for (int i = 0; i < 4; i++)
      if (8 * n + i % 2 < begin[i / 2] - column) s[n][i] = -HG_INF;
}

// progress is the softmax of two rows so far: the greatest score, and the sum of the powers in
// the columns of this thread.
struct progress {
  float top[2], total[2];

  // take turns scores s into 2^((s − top)·unit). The sums so far must be multiplied by
  // shrink.
  template <int COLUMNS> HG_METHOD void take(float (&s)[COLUMNS / 8][4], float (&shrink)[2], float unit) {
    float most[2] = {top[0], top[1]};
#pragma unroll
    for (int n = 0; n < COLUMNS / 8; n++)
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
    for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        s[n][i] = hg_exp2(fmaf(s[n][i], unit, -top[i / 2] * unit));
        total[i / 2] += s[n][i];
      }
  }
};

template <int D> HG_DEVICE void forward(bf16 *y, float *lse, const bf16 *qkv, const int *length, const heads &o) {
  constexpr int STEP = 4096 / D;
  typedef steps<D, STEP> memory;
  HG_DYNAMIC(memory, shared);
  place p = tile_of(o, (int)blockIdx.x);
  sight at = sight_of(o, length, p);
  keys_values source = keys_values_of(qkv, o, p, at.keys);
  bf16 *own = owned<D, 1>(shared->stream[1]);
  bring_own<D>(own, packed_rows(qkv, o, p, 0), at.first, o.tokens, o.size);
  hg_copy_commit();
  bring_step<D, STEP>(shared->stream, source, 0, at.end, o.size);
  hg_copy_wait<1>();
  __syncwarp();
  factor<D> query(own);
  float sum[D / 8][4];
  clear<D>(sum);
  progress soft = {{-HG_INF, -HG_INF}, {0.f, 0.f}};
#pragma unroll 1
  for (int from = 0; from < at.end; from += STEP) {
    hg_copy_wait<0>();
    __syncthreads(); // the step is there, and everybody is done with what the next one replaces
    if (from + STEP < at.end) bring_step<D, STEP>(shared->stream, source, from + STEP, at.end, o.size);
    if (from >= at.seen) continue;
    const bf16 *keys = shared->stream[from / STEP % 2][0], *values = shared->stream[from / STEP % 2][1];
    narrowest<STEP>(at.seen - from, [&](auto columns) {
      constexpr int COLUMNS = columns.value;
      float s[COLUMNS / 8][4], shrink[2];
      multiply<D, COLUMNS>(s, query, keys);
      if (from + COLUMNS > at.whole(o)) hide<COLUMNS>(s, {at.ends(o, 0, from), at.ends(o, 1, from)});
      soft.take<COLUMNS>(s, shrink, o.scale * LOG2_E);
#pragma unroll
      for (int n = 0; n < D / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) sum[n][i] *= shrink[i / 2];
      mix<D, COLUMNS>(sum, s, values);
    });
  }
  p = tile_of(o, (int)hg_block_anew()); // no register keeps it during the loop
  u32 thread = hg_thread_anew();
  int lane = (int)(thread % 32), first = p.token + (int)(thread / 32) * ROWS;
  bool some = at.seen > 0;
  float inverse[2];
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float total = soft.total[r];
    total += __shfl_xor_sync(HG_FULL, total, 1);
    total += __shfl_xor_sync(HG_FULL, total, 2);
    inverse[r] = some ? 1.f / total : 0.f;
    int token = first + row_of(2 * r, lane);
    if (lane % 4 == 0 && token < o.tokens)
      lse[(p.image * o.heads + p.head) * o.tokens + token] = some ? fmaf(soft.top[r], o.scale, hg_log(total)) : -HG_INF;
  }
  i64 stride = (i64)o.heads * o.size;
  __syncthreads(); // everybody is done with the last step
  put<D>(y + result_at(o, p, first), stride, o.tokens - first, o.size, own, sum, inverse);
}

// delta_of is δ of row lane/2 of the warp, ⟨dy, y⟩. dy is the warp's tile.
template <int D> HG_DEVICE float delta_of(const bf16 *y, const bf16 *dy, const heads &o, const place &p, int first) {
  int row = hg_lane() / 2;
  float sum = 0.f;
  if (first + row < o.tokens) {
    y += result_at(o, p, first + row), dy += row * (D + 8);
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
  typedef steps<D, STEP> memory;
  HG_DYNAMIC(memory, shared);
  place p = tile_of(o, (int)blockIdx.x);
  sight at = sight_of(o, length, p);
  keys_values source = keys_values_of(qkv, o, p, at.keys);
  bf16 *own = owned<D, 2>(shared->stream[1]), *dy_own = own + ROWS * (D + 8);
  bring_own<D>(own, packed_rows(qkv, o, p, 0), at.first, o.tokens, o.size);
  bring_own<D>(dy_own, result_rows(dy, o, p), at.first, o.tokens, o.size);
  hg_copy_commit();
  bring_step<D, STEP>(shared->stream, source, 0, at.end, o.size);
  hg_copy_wait<1>();
  __syncwarp();
  factor<D> query(own), slope(dy_own);
  i64 head = (p.image * o.heads + p.head) * o.tokens;
  float unit = o.scale * LOG2_E, mine = delta_of<D>(y, dy_own, o, p, at.first), log[2], along[2];
  if (hg_lane() % 2 == 0 && at.first + hg_lane() / 2 < o.tokens) delta[head + at.first + hg_lane() / 2] = mine;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    int token = at.first + row_of(2 * r);
    log[r] = token < o.tokens ? lse[head + token] * LOG2_E : 0.f;
    along[r] = __shfl_sync(HG_FULL, mine, 2 * row_of(2 * r));
  }
  float sum[D / 8][4];
  clear<D>(sum);
#pragma unroll 1
  for (int from = 0; from < at.end; from += STEP) {
    hg_copy_wait<0>();
    __syncthreads();
    if (from + STEP < at.end) bring_step<D, STEP>(shared->stream, source, from + STEP, at.end, o.size);
    if (from >= at.seen) continue;
    const bf16 *keys = shared->stream[from / STEP % 2][0], *values = shared->stream[from / STEP % 2][1];
    narrowest<STEP>(at.seen - from, [&](auto columns) {
      constexpr int COLUMNS = columns.value;
      float s[COLUMNS / 8][4], ds[COLUMNS / 8][4];
      multiply<D, COLUMNS>(s, query, keys);
      multiply<D, COLUMNS>(ds, slope, values);
      if (from + COLUMNS > at.whole(o)) hide<COLUMNS>(s, {at.ends(o, 0, from), at.ends(o, 1, from)});
#pragma unroll
      for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++)
          ds[n][i] = hg_exp2(fmaf(s[n][i], unit, -log[i / 2])) * (ds[n][i] - along[i / 2]);
      mix<D, COLUMNS>(sum, ds, keys);
    });
  }
  float by[2] = {o.scale, o.scale};
  i64 stride = (i64)3 * o.heads * o.size;
  __syncthreads(); // everybody is done with the last step
  put<D>(part(dqkv, o, p, 0, at.first), stride, o.tokens - at.first, o.size, own, sum, by);
}

// marks are lse and δ of the queries of two steps, which take turns in memory.
template <int STEP> struct marks {
  float stream[2][2][STEP];

  // bring begins to copy the step at `from`, to the group of copies that the thread makes next. What is
  // beyond the last token is 0.
  HG_METHOD void bring(const float *lse, const float *delta, int from, int end) {
    if (threadIdx.x >= STEP) return;
    bool inside = from + (int)threadIdx.x < end;
    int at = from + (int)threadIdx.x;
    hg_copy_async<4>(&stream[from / STEP % 2][0][threadIdx.x], lse + at, inside);
    hg_copy_async<4>(&stream[from / STEP % 2][1][threadIdx.x], delta + at, inside);
  }
};

template <int D>
HG_DEVICE void grad_kv(bf16 *dqkv, const float *delta, const bf16 *dy, const float *lse, const bf16 *qkv,
                       const int *length, const heads &o) {
  constexpr int STEP = 2048 / D;
  struct memory {
    steps<D, STEP> tiles;
    marks<STEP> of;
  };
  HG_DYNAMIC(memory, shared);
  place p = tile_of(o, (int)blockIdx.x); // token is a key
  queries_slopes source = queries_slopes_of(qkv, dy, o, p);
  int keys = o.keys(length, p.image), begin = o.causal ? p.token : 0, end = p.token < keys ? o.tokens : 0;
  int first = p.token + ROWS * hg_warp(); // the warp's keys
  bf16 *own = owned<D, 2>(shared + 1), *own_value = own + ROWS * (D + 8);
  lse += (p.image * o.heads + p.head) * o.tokens, delta += (p.image * o.heads + p.head) * o.tokens;
  bring_own<D>(own, packed_rows(qkv, o, p, 1), first, keys, o.size);
  bring_own<D>(own_value, packed_rows(qkv, o, p, 2), first, keys, o.size);
  hg_copy_commit();
  shared->of.bring(lse, delta, begin, o.tokens);
  bring_step<D, STEP>(shared->tiles.stream, source, begin, end, o.size);
  hg_copy_wait<1>();
  __syncwarp();
  factor<D, D == 64> key(own), value(own_value);
  float unit = o.scale * LOG2_E, dk[D / 8][4], dv[D / 8][4];
  clear<D>(dk);
  clear<D>(dv);
#pragma unroll 1
  for (int from = begin; from < end; from += STEP) {
    hg_copy_wait<0>();
    __syncthreads();
    if (from + STEP < end) {
      shared->of.bring(lse, delta, from + STEP, o.tokens);
      bring_step<D, STEP>(shared->tiles.stream, source, from + STEP, end, o.size);
    }
    int skipped = o.causal ? hg_most(first - from, 0) : 0; // queries before all keys of the warp
    if (first >= keys || skipped >= STEP) continue;
    int turn = from / STEP % 2;
    const bf16 *queries = shared->tiles.stream[turn][0] + skipped * (D + 8);
    const bf16 *slope = shared->tiles.stream[turn][1] + skipped * (D + 8);
    const float *logs = shared->of.stream[turn][0] + skipped, *deltas = shared->of.stream[turn][1] + skipped;
    narrowest<STEP>(hg_least(STEP, end - from) - skipped, [&](auto columns) {
      constexpr int COLUMNS = columns.value;
      float s[COLUMNS / 8][4], ds[COLUMNS / 8][4];
      multiply<D, COLUMNS>(s, key, queries);
      multiply<D, COLUMNS>(ds, value, slope);
      if (first + ROWS > keys || (o.causal && from + skipped < first + ROWS)) {
        int seen[2]; // from which query on
#pragma unroll
        for (int r = 0; r < 2; r++) {
          int row = first + row_of(2 * r, (int)(hg_thread_anew() % 32));
          seen[r] = row >= keys ? COLUMNS + 8 : o.causal ? row - from - skipped : 0;
        }
        hide_before<COLUMNS>(s, seen);
      }
#pragma unroll
      for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
          s[n][i] = hg_exp2(fmaf(s[n][i], unit, -logs[column_of(n, i)] * LOG2_E));
          ds[n][i] = s[n][i] * (ds[n][i] - deltas[column_of(n, i)]);
        }
      mix<D, COLUMNS>(dv, s, slope);
      mix<D, COLUMNS>(dk, ds, queries);
    });
  }
  p = tile_of(o, (int)hg_block_anew()); // as in forward
  first = p.token + (int)(hg_thread_anew() / 32) * ROWS;
  float by[2] = {o.scale, o.scale}, one[2] = {1.f, 1.f};
  i64 stride = (i64)3 * o.heads * o.size;
  put<D>(part(dqkv, o, p, 1, first), stride, o.tokens - first, o.size, own, dk, by);
  put<D>(part(dqkv, o, p, 2, first), stride, o.tokens - first, o.size, own_value, dv, one);
}

// WARPS is how many a block of QUERIES has at most, and a block of KEYS has at most four. The kinds of kernel
// say how many blocks of the most warps must fit on a multiprocessor. attention.go chooses the warps.
#define ATTENTION(D, WARPS, QUERIES, KEYS)                                                                            \
  QUERIES(WARPS * 32, attention_##D##_bf16, bf16 *y, float *lse, const bf16 *qkv, const int *length, heads o) {       \
    forward<D>(y, lse, qkv, length, o);                                                                               \
  }                                                                                                                   \
  QUERIES(WARPS * 32, attention_grad_q_##D##_bf16, bf16 *dqkv, float *delta, const bf16 *dy, const bf16 *y,           \
          const float *lse, const bf16 *qkv, const int *length, heads o) {                                            \
    grad_q<D>(dqkv, delta, dy, y, lse, qkv, length, o);                                                               \
  }                                                                                                                   \
  KEYS(4 * 32, attention_grad_kv_##D##_bf16, bf16 *dqkv, const float *delta, const bf16 *dy, const float *lse,        \
       const bf16 *qkv, const int *length, heads o) {                                                                 \
    grad_kv<D>(dqkv, delta, dy, lse, qkv, length, o);                                                                 \
  }
ATTENTION(64, 8, HG_KERNEL_TWICE, HG_KERNEL_THRICE)
ATTENTION(128, 4, HG_KERNEL_TWICE, HG_KERNEL_TWICE)
