// attentiontiles.h: what the kernels of attentionbf16.cu share. A warp owns ROWS tokens of a head, and a
// block has as many warps as the launch gives it. The other tokens stream through shared memory, STEP at
// a time; a step is copied while the previous one is multiplied. Of the last step, only the groups of
// ROWS tokens that the warp sees are multiplied. Heads have up to D numbers and are padded with zeros.
// Rows in shared memory are D + 8 elements apart, so that eight rows are in different banks.
#pragma once
#include "attention.h"
#include "tensor.h"

enum { ROWS = 16 };

#define LOG2_E 1.44269504f

// steps is the beginning of a block's shared memory: two steps of two arrays. The warps' own tokens are
// in what follows, or from the second step on where they are needed before it alone.
template <int D, int STEP> struct steps {
  bf16 stream[2][2][STEP * (D + 8)];
};

// owned is a warp's part of what begins at `from`: its rows of some arrays.
template <int D, int ARRAYS> HG_DEVICE bf16 *owned(void *from) {
  return (bf16 *)from + hg_warp() * ARRAYS * ROWS * (D + 8);
}

// block_rows is how many tokens a block owns.
HG_DEVICE int block_rows() { return (int)(blockDim.x / 32) * ROWS; }

// tile_of is the place of the first token of a block.
HG_DEVICE place tile_of(const heads &o, int block) {
  int tiles = (o.tokens + block_rows() - 1) / block_rows(), head = block / tiles;
  return {head / o.heads, head % o.heads, block % tiles * block_rows(), true};
}

// strided is an array's rows of one head: the first token's, and the bytes to the next's.
struct strided {
  const bf16 *first;
  u32 stride;

  HG_METHOD const bf16 *row(int at) const { return (const bf16 *)((const u8 *)first + hg_wide((u32)at, stride)); }
};

HG_DEVICE strided packed_rows(const bf16 *qkv, const heads &o, const place &p, int which) {
  return {part(qkv, o, p, which, 0), (u32)(3 * o.heads * o.size) * (u32)sizeof(bf16)};
}

// result_at is the place of a token's result in y.
HG_DEVICE i64 result_at(const heads &o, const place &p, int token) {
  return ((p.image * o.tokens + token) * o.heads + p.head) * o.size;
}

HG_DEVICE strided result_rows(const bf16 *y, const heads &o, const place &p) {
  return {y + result_at(o, p, 0), (u32)(o.heads * o.size) * (u32)sizeof(bf16)};
}

// bring_own begins to copy the warp's rows, from token `first` on: zeros from token `end` on.
template <int D> HG_DEVICE void bring_own(bf16 *tile, const strided &r, int first, int end, int size) {
  constexpr int ACROSS = D / 8, DOWN = 32 / ACROSS;
  int row = hg_lane() / ACROSS, column = hg_lane() % ACROSS * 8;
#pragma unroll
  for (int i = 0; i < ROWS; i += DOWN) {
    int at = first + row + i;
    bool inside = at < end && column < size;
    hg_copy_async<16>(tile + (row + i) * (D + 8) + column, r.row(at) + column, inside);
  }
}

// keys_values are the rows of keys before `end`, and those of values at a distance in bytes.
struct keys_values {
  strided keys;
  u32 apart;
  int end;

  HG_METHOD const bf16 *row(int which, int at) const {
    const bf16 *key = keys.row(at);
    return which ? (const bf16 *)((const u8 *)key + apart) : key;
  }
};

HG_DEVICE keys_values keys_values_of(const bf16 *qkv, const heads &o, const place &p, int keys) {
  return {packed_rows(qkv, o, p, 1), (u32)(o.heads * o.size) * (u32)sizeof(bf16), keys};
}

// queries_slopes are the rows of queries and of dy.
struct queries_slopes {
  strided arrays[2];
  int end;

  HG_METHOD const bf16 *row(int which, int at) const { return arrays[which].row(at); }
};

HG_DEVICE queries_slopes queries_slopes_of(const bf16 *qkv, const bf16 *dy, const heads &o, const place &p) {
  return {{packed_rows(qkv, o, p, 0), result_rows(dy, o, p)}, o.tokens};
}

// bring_step begins to copy the step at `from` of two arrays: the groups with tokens before `needed`, in
// which tokens from their end on are zeros. The steps take turns in memory.
template <int D, int STEP, class ARRAYS>
HG_DEVICE void bring_step(bf16 (&stream)[2][2][STEP * (D + 8)], const ARRAYS &arrays, int from, int needed, int size) {
  constexpr int ACROSS = D / 8;
  u32 thread = hg_thread_anew();
  int column = (int)(thread % ACROSS) * 8;
  int down = blockDim.x / ACROSS, rows = hg_least(STEP, (needed - from + ROWS - 1) & -ROWS);
  bf16 *tiles = stream[from / STEP % 2][0] + column;
#pragma unroll 1
  for (int row = (int)(thread / ACROSS); row < rows; row += down) {
    bool inside = from + row < arrays.end && column < size;
    hg_copy_async<16>(tiles + row * (D + 8), arrays.row(0, from + row) + column, inside);
    hg_copy_async<16>(tiles + (STEP + row) * (D + 8), arrays.row(1, from + row) + column, inside);
  }
  hg_copy_commit();
}

// number is an argument that the compiler knows.
template <int N> struct number {
  static constexpr int value = N;
};

// narrowest calls step with the least multiple of ROWS that has `columns`, or MOST.
template <int MOST, class F> HG_DEVICE void narrowest(int columns, F &&step) {
  if constexpr (MOST > ROWS) {
    if (columns <= MOST - ROWS) return narrowest<MOST - ROWS>(columns, step);
  }
  step(number<MOST>());
}

// row_of and column_of are the place of element v[n][i] of a product.
HG_DEVICE int row_of(int i, int lane = hg_lane()) { return lane / 4 + i / 2 * 8; }
HG_DEVICE int column_of(int n, int i) { return 8 * n + hg_lane() % 4 * 2 + i % 2; }

// sight is what a block of queries, and a warp of it, sees.
struct sight {
  int keys;  // of the image
  int end;   // where those of the block end
  int first; // the warp's first query
  int seen;  // where the keys of the warp end, 0 without a query

  // whole is where the keys end that all its queries see, or less.
  HG_METHOD int whole(const heads &o) const { return o.causal ? seen - (ROWS - 1) : seen; }

  // ends returns how many keys from token `from` on one of a thread's two queries sees.
  HG_METHOD int ends(const heads &o, int r, int from) const {
    int row = row_of(2 * r, (int)(hg_thread_anew() % 32));
    return o.causal ? hg_least(keys - from, first - from + row + 1) : keys - from;
  }
};

HG_DEVICE sight sight_of(const heads &o, const int *length, const place &p) {
  int keys = o.keys(length, p.image), first = p.token + ROWS * hg_warp();
  int end = o.causal ? hg_least(keys, p.token + block_rows()) : keys;
  return {keys, end, first, first < o.tokens ? hg_least(end, o.causal ? first + ROWS : end) : 0};
}

// factor is a warp's rows as fragments. They are kept in registers, or loaded when
// needed if registers are scarce.
template <int D, bool HELD = true> struct factor {
  u32 held[HELD ? D / 16 : 1][4];
  const bf16 *tile;

  HG_METHOD explicit factor(const bf16 *rows) { // lane 8j + r has row r of matrix j
    tile = rows + hg_lane() % 16 * (D + 8) + hg_lane() / 16 * 8;
#pragma unroll
    for (int k = 0; HELD && k < D / 16; k++) hg_ldmatrix<false>(held[k], tile + 16 * k);
  }

  HG_METHOD const u32 (&part(int k))[4] {
    if (!HELD) hg_ldmatrix<false>(held[0], tile + 16 * k);
    return held[HELD ? k : 0];
  }
};

// multiply computes the scalar products of the rows of a, of which the product has its rows, with
// those of a tile, of which it has its columns.
template <int D, int COLUMNS, bool HELD>
HG_DEVICE void multiply(float (&v)[COLUMNS / 8][4], factor<D, HELD> &a, const bf16 *tile) {
  tile += (hg_lane() / 16 * 8 + hg_lane() % 8) * (D + 8) + hg_lane() / 8 % 2 * 8;
#pragma unroll
  for (int n = 0; n < COLUMNS / 8; n++)
#pragma unroll
    for (int i = 0; i < 4; i++) v[n][i] = 0.f;
#pragma unroll
  for (int k = 0; k < D / 16; k++) {
    const u32(&left)[4] = a.part(k);
#pragma unroll
    for (int n = 0; n < COLUMNS / 16; n++) {
      u32 b[4];
      hg_ldmatrix<false>(b, tile + 16 * n * (D + 8) + 16 * k);
      hg_mma(v[2 * n], left, {b[0], b[1]});
      hg_mma(v[2 * n + 1], left, {b[2], b[3]});
    }
  }
}

// mix adds the product of w and a tile to sum. w is a product, and is rounded to BF16.
template <int D, int COLUMNS>
HG_DEVICE void mix(float (&sum)[D / 8][4], const float (&w)[COLUMNS / 8][4], const bf16 *tile) {
  tile += hg_lane() % 16 * (D + 8) + hg_lane() / 16 * 8;
#pragma unroll
  for (int k = 0; k < COLUMNS / 16; k++) {
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

// put writes by[i / 2]·sum to `count` rows at `to`, of the warp's 16. It goes through a tile of the warp,
// which is no longer needed, to have eight columns side by side.
template <int D>
HG_DEVICE void put(bf16 *to, i64 stride, int count, int size, bf16 *tile, const float (&sum)[D / 8][4],
                   const float (&by)[2]) {
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
    if (row < count && column < size)
      *(f4 *)(to + row * stride + column) = *(const f4 *)(tile + row * (D + 8) + column);
  }
}
