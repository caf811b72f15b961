// wgmma.h: the product of product.h by wgmma, which only compute capability 9.0 has. A block of two
// warpgroups computes M × N elements: 256 × 128 or 128 × 256, and of narrow products 256 × 64 or 64 × 256. It
// does so in steps of 64 columns: two steps are on their way from global memory while one is multiplied
// and another ends. mma.sync reads each fragment from shared memory into registers, for every warp;
// wgmma reads the tile where it lies. Both operands are copied in pieces of eight elements. The elements
// of a tile of 128 × 128, or 64 × 64, their sums and their epilogue have the order of product.h.
#pragma once
#include "product.h"

#define HG_WG_STEP 64
#define HG_WG_STAGES 4
#define HG_PANEL (64 * HG_WG_STEP) // elements of 64 rows of a step

template <int M, int N> struct hg_wg_stage {
  bf16 a[M * HG_WG_STEP], b[N * HG_WG_STEP];
};

// hg_wg_bring begins to copy the step at k0 of an operand with T rows: panels of 64 rows of 128 bytes,
// along k, or panels of 64 columns of m if ALONG_K is false. In each row the pieces are permuted, so that
// eight pieces that wgmma reads at once are in different banks.
template <int T, bool ALONG_K, class F> HG_DEVICE void hg_wg_bring(bf16 *tile, F &f, i64 k0) {
  const bf16 *from;
  if (ALONG_K) {
    int row = threadIdx.x / 8, piece = threadIdx.x % 8;
    bf16 *to = tile + row * HG_WG_STEP + (piece ^ row % 8) * 8;
    f.at(k0 + piece * 8);
#pragma unroll
    for (int i = 0; i < T / 32; i++) {
      bool there = f.where(i, from);
      hg_copy_async<16>(to + 32 * i * HG_WG_STEP, from, there);
    }
    return;
  }
  constexpr int ACROSS = T / 8, DOWN = 256 / ACROSS;
  int row = threadIdx.x / ACROSS, piece = threadIdx.x % ACROSS;
  bf16 *to = tile + piece / 8 * HG_PANEL + row * 64 + (piece % 8 ^ row % 8) * 8;
#pragma unroll
  for (int i = 0; i < HG_WG_STEP / DOWN; i++) {
    f.at(k0 + row + DOWN * i);
    bool there = f.where(0, from);
    hg_copy_async<16>(to + DOWN * i * 64, from, there);
  }
}

// hg_wg_bind binds the rows that a thread copies.
template <int T, bool ALONG_K, class F> HG_DEVICE void hg_wg_bind(F &f, i64 m0) {
  if (!ALONG_K) {
    f.bind(0, m0 + threadIdx.x % (T / 8) * 8);
    return;
  }
#pragma unroll
  for (int i = 0; i < T / 32; i++) f.bind(i, m0 + threadIdx.x / 8 + 32 * i);
}

// hg_wg_part describes the part of a tile that begins at row m, a multiple of 64, and column k.
template <bool ALONG_K> HG_DEVICE u64 hg_wg_part(const bf16 *tile, int m, int k) {
  return hg_tile_of(tile + m / 64 * HG_PANEL + (ALONG_K ? k : k * 64), 2 * HG_PANEL);
}

// hg_wg_shape is how a block is cut. Each warpgroup has parts of 64 rows, each of which is one wgmma: below each
// other if M is 256, and else side by side. The results are written in tiles of SIDE × SIDE.
template <int M, int N> struct hg_wg_shape {
  static constexpr int COLUMNS = N < 128 ? N : 128;                 // of a part
  static constexpr int PARTS = M * N / 2 / (64 * COLUMNS);          // of a warpgroup
  static constexpr int SIDE = M < 128 || N < 128 ? 64 : 128;
  static constexpr int TILES = M * N / (SIDE * SIDE);
  static constexpr int ROOM = SIDE * (SIDE + 8) + 3 * 256; // floats of a tile, and of what its end keeps

  static HG_METHOD int row(int part) {
    if (M == 256) return hg_warp() / 4 * 128 + part * 64;
    return M == 128 ? hg_warp() / 4 * 64 : 0;
  }
  static HG_METHOD int column(int part) {
    if (M == 256) return 0;
    return M == 128 ? part * 128 : hg_warp() / 4 * 128;
  }
};

// hg_wg_sum is the elements of a thread.
template <int M, int N> using hg_wg_sum = float[hg_wg_shape<M, N>::PARTS][hg_wg_shape<M, N>::COLUMNS / 2];

// hg_wg_multiply begins to add the products of a step to sum. The first step writes it: if other instructions
// set it to 0, ptxas would end each wgmma before the next.
template <int M, int N, bool A_ALONG_K, bool B_ALONG_K>
HG_DEVICE void hg_wg_multiply(hg_wg_sum<M, N> &sum, const hg_wg_stage<M, N> &s, bool first) {
  typedef hg_wg_shape<M, N> shape;
  hg_wgmma_fence();
#pragma unroll
  for (int k = 0; k < HG_WG_STEP; k += 16)
#pragma unroll
    for (int part = 0; part < shape::PARTS; part++)
      hg_wgmma<A_ALONG_K, B_ALONG_K>(sum[part], hg_wg_part<A_ALONG_K>(s.a, shape::row(part), k),
                                     hg_wg_part<B_ALONG_K>(s.b, shape::column(part), k), k > 0 || !first);
  hg_wgmma_commit();
}

// hg_wg_fill begins to copy a step of both operands, if there are so many.
template <bool A_ALONG_K, bool B_ALONG_K, int M, int N, class A, class B>
HG_DEVICE void hg_wg_fill(hg_wg_stage<M, N> *stages, A &a, B &b, i64 k0, int step, int steps) {
  if (step < steps) {
    hg_wg_stage<M, N> &to_fill = stages[step % HG_WG_STAGES];
    hg_wg_bring<M, A_ALONG_K>(to_fill.a, a, k0 + (i64)step * HG_WG_STEP);
    hg_wg_bring<N, B_ALONG_K>(to_fill.b, b, k0 + (i64)step * HG_WG_STEP);
  }
  hg_copy_commit();
}

// hg_wg_put writes the tiles through shared memory.
template <int M, int N, class E>
HG_DEVICE void hg_wg_put(float *room, const hg_wg_sum<M, N> &sum, i64 m0, i64 n0, const hg_result &to, E &end) {
  typedef hg_wg_shape<M, N> shape;
  constexpr int SIDE = shape::SIDE, ACROSS = N / SIDE, PITCH = SIDE + 8;
  __syncthreads();
#pragma unroll
  for (int part = 0; part < shape::PARTS; part++) {
    int row = shape::row(part) + hg_warp() % 4 * 16 + hg_lane() / 4;
#pragma unroll
    for (int j = 0; j < shape::COLUMNS / 8; j++) {
      int column = shape::column(part) + 8 * j, tile = row / SIDE * ACROSS + column / SIDE;
      float *at = room + tile * shape::ROOM + row % SIDE * PITCH + column % SIDE + hg_lane() % 4 * 2;
      const float *v = sum[part] + 4 * j;
      at[0] = v[0], at[1] = v[1];
      at[8 * PITCH] = v[2], at[8 * PITCH + 1] = v[3];
    }
  }
  __syncthreads();
#pragma unroll 1
  for (int tile = 0; tile < shape::TILES; tile++) {
    i64 m = m0 + tile / ACROSS * SIDE, n = n0 + tile % ACROSS * SIDE;
    E own = end;
    if (m < to.rows && n < to.cols) hg_put_tile<SIDE>(room + tile * shape::ROOM, m, n, to, own);
  }
}

// hg_product_wg computes M × N elements as hg_product does T × T. The launch gives HG_WG_STAGES stages of shared
// memory and 1008 bytes more.
template <int M, int N> struct hg_product_wg {
  static constexpr int ROWS = M, COLS = N, OF_A = M / 32, OF_B = N / 32; // rows of an operand that a thread copies

  template <bool A_ALONG_K, bool B_ALONG_K, class A, class B, class E = hg_no_end>
  static HG_METHOD void product(A a, B b, int, int, i64 m0, i64 n0, i64 k0, i64 k1, const hg_result &to, E end = E()) {
    static_assert(hg_wg_shape<M, N>::TILES * hg_wg_shape<M, N>::ROOM * sizeof(float) <=
                      HG_WG_STAGES * sizeof(hg_wg_stage<M, N>), "all tiles fit");
    HG_DYNAMIC(u8, memory);
    hg_wg_stage<M, N> *stages = (hg_wg_stage<M, N> *)hg_aligned(memory);
    hg_wg_sum<M, N> sum; // the first step writes it
    hg_wg_bind<M, A_ALONG_K>(a, m0);
    hg_wg_bind<N, B_ALONG_K>(b, n0);
    int steps = (int)((k1 - k0 + HG_WG_STEP - 1) / HG_WG_STEP);
    hg_wg_fill<A_ALONG_K, B_ALONG_K>(stages, a, b, k0, 0, steps);
    hg_wg_fill<A_ALONG_K, B_ALONG_K>(stages, a, b, k0, 1, steps);
#pragma unroll 1
    for (int s = 0; s < steps; s++) {
      hg_copy_wait<1>(); // all but step s + 1
      hg_copied();
      __syncthreads(); // step s is there, and everybody is done with step s − 2
      hg_wg_multiply<M, N, A_ALONG_K, B_ALONG_K>(sum, stages[s % HG_WG_STAGES], s == 0);
      hg_wg_fill<A_ALONG_K, B_ALONG_K>(stages, a, b, k0, s + 2, steps);
      hg_wgmma_wait<1>(); // step s − 1
    }
    hg_copy_wait<0>();
    hg_wgmma_wait<0>();
    hg_wg_put<M, N>((float *)stages, sum, m0, n0, to, end);
  }
};
