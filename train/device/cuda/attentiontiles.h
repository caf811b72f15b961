// attentiontiles.h: what the kernels of attentionbf16.cu share. A block owns OWN tokens of a
// head, 16 for each of its four warps. The other tokens stream through shared memory, STEP at a
// time; a step is copied while the previous one is multiplied. Heads have up to D numbers and are
// padded with zeros. Rows in shared memory are D + 8 elements apart, so that eight rows are in
// different banks.
#pragma once
#include "attention.h"
#include "tensor.h"

enum { OWN = 64, THREADS = 128 };

#define LOG2_E 1.44269504f

// room is a block's shared memory, which the launch gives: arrays of its own tokens, and two
// steps of two others.
template <int D, int ARRAYS, int STEP> struct room {
  bf16 own[ARRAYS][OWN * (D + 8)], stream[2][2][STEP * (D + 8)];
};

// tile_of is the place of a block's first token.
HG_DEVICE place tile_of(const heads &o) {
  int at = (int)blockIdx.x, tiles = (o.tokens + OWN - 1) / OWN, head = at / tiles;
  return {head / o.heads, head % o.heads, at % tiles * OWN, true};
}

// strided is an array's rows of one head: the first token's, and the elements to the next's.
struct strided {
  const bf16 *first;
  i64 stride;
};

HG_DEVICE strided packed_rows(const bf16 *qkv, const heads &o, const place &p, int which) {
  return {part(qkv, o, p, which, 0), (i64)3 * o.heads * o.size};
}

// result_at is the place of a token's result in y.
HG_DEVICE i64 result_at(const heads &o, const place &p, int token) {
  return ((p.image * o.tokens + token) * o.heads + p.head) * o.size;
}

HG_DEVICE strided result_rows(const bf16 *y, const heads &o, const place &p) {
  return {y + result_at(o, p, 0), (i64)o.heads * o.size};
}

// bring begins to copy rows [from, from + ROWS), zeros from row `end` on.
template <int D, int ROWS> HG_DEVICE void bring(bf16 *tile, const strided &r, int from, int end, int size) {
  constexpr int ACROSS = D / 8, DOWN = THREADS / ACROSS;
  static_assert(ROWS % DOWN == 0, "the threads share the rows evenly");
  int row = threadIdx.x / ACROSS, column = threadIdx.x % ACROSS * 8;
#pragma unroll
  for (int i = 0; i < ROWS; i += DOWN) {
    int at = from + row + i;
    bool inside = at < end && column < size;
    hg_copy_async<16>(tile + (row + i) * (D + 8) + column, r.first + at * r.stride + column, inside);
  }
}

// bring_step begins to copy the step at `from` of two arrays; the steps take turns in memory.
template <int D, int STEP>
HG_DEVICE void bring_step(bf16 (&stream)[2][2][STEP * (D + 8)], const strided &a, const strided &b, int from, int end,
                          int size) {
  bring<D, STEP>(stream[from / STEP % 2][0], a, from, end, size);
  bring<D, STEP>(stream[from / STEP % 2][1], b, from, end, size);
  hg_copy_commit();
}

// sight is what a block of queries, and a warp of it, sees.
struct sight {
  int keys;  // of the image
  int end;   // where those of the block end
  int first; // the warp's first query
  int seen;  // where the keys of the warp end, 0 without a query
  int whole; // up to here all its queries see all keys
};

HG_DEVICE sight sight_of(const heads &o, const int *length, const place &p) {
  int keys = o.keys(length, p.image), first = p.token + 16 * hg_warp();
  if (first >= o.tokens) return {keys, o.causal ? hg_least(keys, p.token + OWN) : keys, first, 0, 0};
  if (!o.causal) return {keys, keys, first, keys, keys};
  return {keys, hg_least(keys, p.token + OWN), first, hg_least(keys, first + 16), hg_least(keys, first + 1)};
}

// factor is the warp's 16 rows of a tile as fragments. They are kept in registers, or loaded when
// needed if registers are scarce.
template <int D, bool HELD = true> struct factor {
  u32 held[HELD ? D / 16 : 1][4];
  const bf16 *tile;

  HG_METHOD explicit factor(const bf16 *rows) { // lane 8j + r has row r of matrix j
    tile = rows + (hg_warp() * 16 + hg_lane() % 16) * (D + 8) + hg_lane() / 16 * 8;
#pragma unroll
    for (int k = 0; HELD && k < D / 16; k++) hg_ldmatrix<false>(held[k], tile + 16 * k);
  }

  HG_METHOD const u32 (&part(int k))[4] {
    if (!HELD) hg_ldmatrix<false>(held[0], tile + 16 * k);
    return held[HELD ? k : 0];
  }
};

// row_of and column_of are the place of element v[n][i] of a product.
HG_DEVICE int row_of(int i) { return hg_lane() / 4 + i / 2 * 8; }
HG_DEVICE int column_of(int n, int i) { return 8 * n + hg_lane() % 4 * 2 + i % 2; }

// multiply computes the scalar products of the rows of a, of which the product has its rows, with
// those of a tile, of which it has its columns.
template <int D, int STEP, bool HELD>
HG_DEVICE void multiply(float (&v)[STEP / 8][4], factor<D, HELD> &a, const bf16 *tile) {
  tile += (hg_lane() / 16 * 8 + hg_lane() % 8) * (D + 8) + hg_lane() / 8 % 2 * 8;
#pragma unroll
  for (int n = 0; n < STEP / 8; n++)
#pragma unroll
    for (int i = 0; i < 4; i++) v[n][i] = 0.f;
#pragma unroll
  for (int k = 0; k < D / 16; k++) {
    const u32(&left)[4] = a.part(k);
#pragma unroll
    for (int n = 0; n < STEP / 16; n++) {
      u32 b[4];
      hg_ldmatrix<false>(b, tile + 16 * n * (D + 8) + 16 * k);
      hg_mma(v[2 * n], left, {b[0], b[1]});
      hg_mma(v[2 * n + 1], left, {b[2], b[3]});
    }
  }
}

// mix adds the product of w and a tile to sum. w is a product, and is rounded to BF16.
template <int D, int STEP>
HG_DEVICE void mix(float (&sum)[D / 8][4], const float (&w)[STEP / 8][4], const bf16 *tile) {
  tile += hg_lane() % 16 * (D + 8) + hg_lane() / 16 * 8;
#pragma unroll
  for (int k = 0; k < STEP / 16; k++) {
    const float(&left)[4] = w[2 * k], (&right)[4] = w[2 * k + 1];
    u32 a[4] = {hg_pair(left[0], left[1]), hg_pair(left[2], left[3]), hg_pair(right[0], right[1]),
                hg_pair(right[2], right[3])};
#pragma unroll
    for (int n = 0; n < D / 16; n++) {
      u32 b[4];
      hg_ldmatrix<true>(b, tile + 16 * k * (D + 8) + 16 * n);
      hg_mma(sum[2 * n], a, {b[0], b[1]});
      hg_mma(sum[2 * n + 1], a, {b[2], b[3]});
    }
  }
}

template <int D> HG_DEVICE void clear(float (&sum)[D / 8][4]) {
#pragma unroll
  for (int n = 0; n < D / 8; n++)
#pragma unroll
    for (int i = 0; i < 4; i++) sum[n][i] = 0.f;
}

// put writes by[i / 2]·sum to `count` rows at `to`, of the warp's 16. It goes through the warp's
// rows of a tile, which are no longer needed, to have eight columns side by side.
template <int D>
HG_DEVICE void put(bf16 *to, i64 stride, int count, int size, bf16 *tile, const float (&sum)[D / 8][4],
                   const float (&by)[2]) {
  tile += hg_warp() * 16 * (D + 8);
  __syncwarp();
#pragma unroll
  for (int n = 0; n < D / 8; n++)
#pragma unroll
    for (int i = 0; i < 4; i += 2)
      *(u32 *)(tile + row_of(i) * (D + 8) + column_of(n, i)) =
          hg_pair(by[i / 2] * sum[n][i], by[i / 2] * sum[n][i + 1]);
  __syncwarp();
#pragma unroll 1
  for (int c = hg_lane(); c < 16 * D / 8; c += 32) {
    int row = c / (D / 8), column = c % (D / 8) * 8;
    if (row < count && column < size) *(f4 *)(to + row * stride + column) = *(const f4 *)(tile + row * (D + 8) + column);
  }
}
