// wgmma.h: the product of product.h by wgmma, which only compute capability 9.0 has. A block of two
// warpgroups computes M × N elements, 256 × 128 or 128 × 256, in steps of 64 columns: two steps are on
// their way from global memory while one is multiplied and another ends. mma.sync reads each fragment
// from shared memory into registers, for every warp; wgmma reads the tile where it lies. Both operands
// are copied in pieces of eight elements. The elements of a tile of 128 × 128, their sums and their
// epilogue have the order of product.h.
#pragma once
#include "product.h"

#define HG_WG_STEP 64
#define HG_WG_STAGES 4
#define HG_PANEL (64 * HG_WG_STEP) // elements of 64 rows of a step
#define HG_ROOM (128 * (128 + 8) + 3 * 256) // floats of a tile of 128 × 128, and of what its end keeps

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

// A warpgroup has two parts of 64 × 128. They lie below each other if M is 256, and side by side if N is.
template <int M> HG_DEVICE int hg_wg_row(int part) { return M == 256 ? hg_warp() / 4 * 128 + part * 64 : hg_warp() / 4 * 64; }
template <int M> HG_DEVICE int hg_wg_column(int part) { return M == 256 ? 0 : part * 128; }

// hg_wg_multiply begins to add the products of a step to sum. The first step writes it: if other instructions
// set it to 0, ptxas would end each wgmma before the next.
template <int M, int N, bool A_ALONG_K, bool B_ALONG_K>
HG_DEVICE void hg_wg_multiply(float (&sum)[2][64], const hg_wg_stage<M, N> &s, bool first) {
  hg_wgmma_fence();
#pragma unroll
  for (int k = 0; k < HG_WG_STEP; k += 16)
#pragma unroll
    for (int part = 0; part < 2; part++)
      hg_wgmma<A_ALONG_K, B_ALONG_K>(sum[part], hg_wg_part<A_ALONG_K>(s.a, hg_wg_row<M>(part), k),
                                     hg_wg_part<B_ALONG_K>(s.b, hg_wg_column<M>(part), k), k > 0 || !first);
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

// hg_wg_put writes both tiles of 128 × 128 through shared memory.
template <int M, class E>
HG_DEVICE void hg_wg_put(float *room, const float (&sum)[2][64], i64 m0, i64 n0, const hg_result &to, E &end) {
  __syncthreads();
#pragma unroll
  for (int part = 0; part < 2; part++) {
    int row = hg_wg_row<M>(part) + hg_warp() % 4 * 16 + hg_lane() / 4, tile = M == 256 ? row / 128 : part;
    float *at = room + tile * HG_ROOM + row % 128 * (128 + 8) + hg_lane() % 4 * 2;
#pragma unroll
    for (int j = 0; j < 16; j++) {
      const float *v = sum[part] + 4 * j;
      at[8 * j] = v[0], at[8 * j + 1] = v[1];
      at[8 * j + 8 * (128 + 8)] = v[2], at[8 * j + 8 * (128 + 8) + 1] = v[3];
    }
  }
  __syncthreads();
#pragma unroll 1
  for (int tile = 0; tile < 2; tile++) {
    i64 m = m0 + (M == 256 ? 128 * tile : 0), n = n0 + (M == 256 ? 0 : 128 * tile);
    E own = end;
    if (m < to.rows && n < to.cols) hg_put_tile<128>(room + tile * HG_ROOM, m, n, to, own);
  }
}

// hg_product_wg computes M × N elements as hg_product does T × T. The launch gives HG_WG_STAGES stages of shared
// memory and 1008 bytes more.
template <int M, int N> struct hg_product_wg {
  static constexpr int ROWS = M, COLS = N, OF_A = M / 32, OF_B = N / 32; // rows of an operand that a thread copies

  template <bool A_ALONG_K, bool B_ALONG_K, class A, class B, class E = hg_no_end>
  static HG_METHOD void product(A a, B b, int, int, i64 m0, i64 n0, i64 k0, i64 k1, const hg_result &to, E end = E()) {
    static_assert(2 * HG_ROOM * sizeof(float) <= HG_WG_STAGES * sizeof(hg_wg_stage<M, N>), "both tiles fit");
    HG_DYNAMIC(u8, memory);
    hg_wg_stage<M, N> *stages = (hg_wg_stage<M, N> *)hg_aligned(memory);
    float sum[2][64]; // the first step writes it
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
    hg_wg_put<M>((float *)stages, sum, m0, n0, to, end);
  }
};
