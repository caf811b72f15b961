// product.h: the tiled product of BF16 matrices on tensor cores that matmulbf16.cu and
// convbf16.cu share. A block of 256 threads computes T × T elements, its eight warps
// T/2 × T/4 each, in steps of 32 columns, of which three are on their way from global memory
// while a fourth is multiplied. Operands are those of gemm.h; runs of `unit` elements of
// them lie side by side in memory and are copied together. An element is the sum over k in
// F32 on the tensor core, then bias, residual and activation, and is rounded once.
#pragma once
#include "act.h"
#include "conv.h"
#include "tensor.h"

#define HG_STEP 32   // columns of a step
#define HG_STAGES 4  // steps in shared memory
#define HG_PITCH 40  // elements from row to row there: eight rows begin in different banks

// hg_stage is a step of both operands, as rows of k, or as columns of T + 8 elements.
template <int T> struct hg_stage {
  bf16 a[T * HG_PITCH], b[T * HG_PITCH];
};

// hg_result is the matrix that a product is written to, and what is done to an element
// v first: act(alpha·v + beta·add + bias + residual), or alpha·v·residual if `times`. add may be c; with beta 0, it is
// not read.
struct hg_result {
  void *c;
  const void *add;      // of the type of c, and laid out as it
  const float *bias;    // of a column, or null
  const bf16 *residual; // laid out as c, or null
  i64 ld, rows, cols;
  float alpha, beta;
  int f32;  // c is F32, otherwise BF16
  int wide; // eight elements of a row from a multiple of 8 on lie at a multiple of 16 bytes
  int act;
  int times; // residual is a factor

  HG_METHOD float joined(float v, i64 at, i64 n) const {
    v *= alpha;
    if (beta != 0.f) v = fmaf(beta, f32 ? ((const float *)add)[at] : (float)((const bf16 *)add)[at], v);
    if (bias) v += bias[n];
    if (residual) v = times ? v * residual[at] : v + residual[at];
    return v;
  }

  // put writes eight elements of row m from column n on, after end has changed them. v is
  // memory of this thread, shift the bias of the columns.
  template <class E> HG_METHOD void put(i64 m, i64 n, float *v, const float (&shift)[8], E &end) const {
    if (m >= rows || n >= cols) return;
    i64 at = end.row(m) * ld + n;
    if (wide && n + 8 <= cols) {
      put_eight(at, v, shift, end);
      return;
    }
    int count = (int)hg_least(cols - n, (i64)8);
#pragma unroll 1
    for (int q = 0; q < count; q++) {
      float u = end.one(hg_act(joined(v[q], at + q, n + q), act), at + q, q);
      v[q] = u;
      if (f32)
        ((float *)c)[at + q] = u;
      else
        ((bf16 *)c)[at + q] = u;
    }
  }

  // put_eight keeps its elements in registers: in shared memory, lanes that are eight words apart
  // have four banks.
  template <class E> HG_METHOD void put_eight(i64 at, float *v, const float (&shift)[8], E &end) const {
    float u[8], more[8];
    hg_take<8>(v, u);
    typename E::others others = end.bring(at); // on their way meanwhile
    if (residual) hg_take<8>(residual + at, more);
#pragma unroll
    for (int q = 0; q < 8; q++) {
      u[q] *= alpha;
      if (beta != 0.f) u[q] = fmaf(beta, f32 ? ((const float *)add)[at + q] : (float)((const bf16 *)add)[at + q], u[q]);
      if (bias) u[q] += shift[q];
      if (residual) u[q] = times ? u[q] * more[q] : u[q] + more[q];
    }
    if (act == HG_RELU) {
#pragma unroll
      for (int q = 0; q < 8; q++) u[q] = hg_act(u[q], HG_RELU);
    } else if (act != HG_IDENTITY) {
      // Registers have no index: each takes its turn as the first. Eight copies of the code are too many.
#pragma unroll 1
      for (int turn = 0; turn < 8; turn++) {
        float first = hg_act(u[0], act);
#pragma unroll
        for (int q = 0; q < 7; q++) u[q] = u[q + 1];
        u[7] = first;
      }
    }
    end.eight(u, others);
    if (end.reads_tile()) hg_give<8>(v, u);
    if (f32)
      hg_give<8>((float *)c + at, u);
    else
      hg_give<8>((bf16 *)c + at, u);
  }
};

// An end is what happens to a result beside what hg_result says. row is where row m of the product
// lies in memory. begin learns the first of the eight
// columns of a thread and how many there are in all. bring reads the others that it needs for eight
// elements, eight changes these, and one changes a single one, that of column q of a thread. finish
// follows when the whole tile is written. If reads_tile, it finds the result in shared memory.
//
// hg_no_end leaves a result as it is.
struct hg_no_end {
  struct others {};
  HG_METHOD i64 row(i64 m) const { return m; }
  HG_METHOD void begin(i64, i64) {}
  HG_METHOD others bring(i64) const { return {}; }
  HG_METHOD void eight(float (&)[8], const others &) {}
  HG_METHOD float one(float v, i64, int) { return v; }
  HG_METHOD bool reads_tile() const { return false; }
  template <int T> HG_METHOD void finish(float *, i64, i64, const hg_result &) {}
};

// hg_piece copies `unit` elements from slot i of an operand, zeros beyond its ends.
template <class F> HG_DEVICE void hg_piece(bf16 *to, const F &f, int i, int unit) {
  const bf16 *from;
  bool there = f.where(i, from);
  if (unit == 8)
    hg_copy_async<16>(to, from, there);
  else if (unit == 4)
    hg_copy_async<8>(to, from, there);
  else
    to->bits = there ? from->bits : 0;
}

// hg_row is the row that a thread copies if four threads share one. Shared memory serves 128 bytes at
// a time, from eight threads, if they are in different banks. The two rows of eight threads are
// therefore four apart: they begin 320 bytes apart, in different halves of the banks. Adjacent rows
// begin 80 bytes apart and would share four banks.
HG_DEVICE int hg_row() {
  int row = threadIdx.x / 4;
  return row / 8 * 8 + row % 2 * 4 + row / 2 % 4;
}

// hg_bring begins to copy the step at k0 of an operand. A thread has runs of eight. UNIT is unit, or
// 0 where it is not known.
template <int T, bool ALONG_K, int UNIT, class F>
HG_DEVICE void hg_bring(bf16 *tile, F &f, i64 m0, i64 k0, int units) {
  const int unit = UNIT ? UNIT : units;
  if (ALONG_K) {
    int row = hg_row(), column = threadIdx.x % 4 * 8;
#pragma unroll 1
    for (int p = column; p < column + 8; p += unit) {
      f.at(k0 + p);
#pragma unroll
      for (int i = 0; i < T / 64; i++) hg_piece(tile + (row + 64 * i) * HG_PITCH + p, f, i, unit);
    }
    return;
  }
  constexpr int ACROSS = T / 8, DOWN = 256 / ACROSS;
  int row = threadIdx.x / ACROSS, column = threadIdx.x % ACROSS * 8;
#pragma unroll 1
  for (int p = column; p < column + 8; p += unit) {
    f.bind(0, m0 + p);
#pragma unroll
    for (int i = 0; i < HG_STEP / DOWN; i++) {
      f.at(k0 + row + DOWN * i);
      hg_piece(tile + (row + DOWN * i) * (T + 8) + p, f, 0, unit);
    }
  }
}

// hg_fragment_a loads the fragment of a 16 × 16 part of a at (m, k), hg_fragments_b those of
// two parts of b side by side, 16 × 8 each, at (k, n). Lane 8j + r has row r of matrix j.
template <int T, bool ALONG_K> HG_DEVICE void hg_fragment_a(u32 (&v)[4], const bf16 *tile, int m, int k) {
  int j = hg_lane() / 8, r = hg_lane() % 8, right = (j >> 1) * 8, below = (j & 1) * 8;
  if (ALONG_K)
    hg_ldmatrix<false>(v, tile + (m + below + r) * HG_PITCH + k + right);
  else
    hg_ldmatrix<true>(v, tile + (k + right + r) * (T + 8) + m + below);
}

template <int T, bool ALONG_K> HG_DEVICE void hg_fragments_b(u32 (&v)[2][2], const bf16 *tile, int n, int k) {
  int j = hg_lane() / 8, r = hg_lane() % 8, right = (j >> 1) * 8, below = (j & 1) * 8;
  u32 all[4];
  if (ALONG_K)
    hg_ldmatrix<false>(all, tile + (n + right + r) * HG_PITCH + k + below);
  else
    hg_ldmatrix<true>(all, tile + (k + below + r) * (T + 8) + n + right);
  v[0][0] = all[0], v[0][1] = all[1], v[1][0] = all[2], v[1][1] = all[3];
}

// hg_multiply adds the products of a step to sum.
template <int T, bool A_ALONG_K, bool B_ALONG_K>
HG_DEVICE void hg_multiply(float (&sum)[T / 32][T / 32][4], const hg_stage<T> &s) {
  int m = hg_warp() / 4 * (T / 2), n = hg_warp() % 4 * (T / 4);
#pragma unroll
  for (int k = 0; k < HG_STEP; k += 16) {
    u32 a[T / 32][4], b[T / 64][2][2];
#pragma unroll
    for (int i = 0; i < T / 32; i++) hg_fragment_a<T, A_ALONG_K>(a[i], s.a, m + 16 * i, k);
#pragma unroll
    for (int j = 0; j < T / 64; j++) hg_fragments_b<T, B_ALONG_K>(b[j], s.b, n + 16 * j, k);
#pragma unroll
    for (int i = 0; i < T / 32; i++)
#pragma unroll
      for (int j = 0; j < T / 32; j++) hg_mma(sum[i][j], a[i], b[j / 2][j % 2]);
  }
}

// hg_vector reads eight numbers of a vector of n that may be null, with zeros beyond its end.
HG_DEVICE void hg_vector(float (&v)[8], const float *from, i64 at, i64 n) {
#pragma unroll
  for (int q = 0; q < 8; q++) v[q] = from && at + q < n ? from[at + q] : 0.f;
}

// hg_put_tile writes a tile that lies in shared memory in rows of T + 8: a thread has eight columns
// side by side, the same of all its rows.
template <int T, class E> HG_DEVICE void hg_put_tile(float *room, i64 m0, i64 n0, const hg_result &to, E &end) {
  int q = threadIdx.x % (T / 8) * 8;
  i64 n = n0 + q;
  float shift[8];
  hg_vector(shift, to.bias, n, to.cols);
  end.begin(n, to.cols);
#pragma unroll 1
  for (int r = threadIdx.x / (T / 8); r < T; r += 256 / (T / 8)) to.put(m0 + r, n, room + r * (T + 8) + q, shift, end);
  end.template finish<T>(room, m0, n0, to);
}

// hg_put writes the tile through shared memory, where it has the place of the stages.
template <int T, class E>
HG_DEVICE void hg_put(float *room, const float (&sum)[T / 32][T / 32][4], i64 m0, i64 n0, const hg_result &to, E &end) {
  static_assert(T * (T + 8) * 4 <= HG_STAGES * sizeof(hg_stage<T>), "the tile fits");
  int row = hg_warp() / 4 * (T / 2) + hg_lane() / 4, column = hg_warp() % 4 * (T / 4) + hg_lane() % 4 * 2;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < T / 32; i++)
#pragma unroll
    for (int j = 0; j < T / 32; j++) {
      float *at = room + (row + 16 * i) * (T + 8) + column + 8 * j;
      at[0] = sum[i][j][0], at[1] = sum[i][j][1];
      at[8 * (T + 8)] = sum[i][j][2], at[8 * (T + 8) + 1] = sum[i][j][3];
    }
  __syncthreads();
  hg_put_tile<T>(room, m0, n0, to, end);
}

// hg_steps adds the products of all steps to sum. UNIT is both operands' unit, or 0.
template <int T, bool A_ALONG_K, bool B_ALONG_K, int UNIT, class A, class B>
HG_DEVICE void hg_steps(float (&sum)[T / 32][T / 32][4], hg_stage<T> *stages, A &a, B &b, int unit_a, int unit_b, i64 m0,
                        i64 n0, i64 k0, i64 k1) {
  int steps = (int)((k1 - k0 + HG_STEP - 1) / HG_STEP), next = 0;
#pragma unroll 1
  for (int s = 1 - HG_STAGES; s < steps; s++) {
    if (s >= 0) {
      hg_copy_wait<HG_STAGES - 2>(); // all but the steps after s
      __syncthreads();               // and everybody is done with step s − 1
    }
    if (next < steps) {
      hg_stage<T> &to_fill = stages[next % HG_STAGES];
      hg_bring<T, A_ALONG_K, UNIT>(to_fill.a, a, m0, k0 + (i64)next * HG_STEP, unit_a);
      hg_bring<T, B_ALONG_K, UNIT>(to_fill.b, b, n0, k0 + (i64)next * HG_STEP, unit_b);
    }
    next++;
    hg_copy_commit();
    if (s >= 0) hg_multiply<T, A_ALONG_K, B_ALONG_K>(sum, stages[s % HG_STAGES]);
  }
}

// hg_product computes tiles of T × T. product computes the one at (m0, n0) over k in [k0, k1), where both
// operands end. The launch gives HG_STAGES stages of shared memory.
template <int T> struct hg_product {
  static constexpr int ROWS = T, COLS = T, OF_A = T / 64, OF_B = T / 64; // rows of an operand that a thread copies

  template <bool A_ALONG_K, bool B_ALONG_K, class A, class B, class E = hg_no_end>
  static HG_METHOD void product(A a, B b, int unit_a, int unit_b, i64 m0, i64 n0, i64 k0, i64 k1, const hg_result &to,
                                E end = E()) {
    HG_DYNAMIC(hg_stage<T>, stages);
    float sum[T / 32][T / 32][4];
#pragma unroll
    for (int i = 0; i < T / 32; i++)
#pragma unroll
      for (int j = 0; j < T / 32; j++)
#pragma unroll
        for (int q = 0; q < 4; q++) sum[i][j][q] = 0.f;
    if (A_ALONG_K)
#pragma unroll
      for (int i = 0; i < T / 64; i++) a.bind(i, m0 + hg_row() + 64 * i);
    if (B_ALONG_K)
#pragma unroll
      for (int i = 0; i < T / 64; i++) b.bind(i, n0 + hg_row() + 64 * i);
    // The choice is made here, since in the loop it takes as long as the products.
    if (unit_a == 8 && unit_b == 8)
      hg_steps<T, A_ALONG_K, B_ALONG_K, 8>(sum, stages, a, b, 8, 8, m0, n0, k0, k1);
    else
      hg_steps<T, A_ALONG_K, B_ALONG_K, 0>(sum, stages, a, b, unit_a, unit_b, m0, n0, k0, k1);
    hg_copy_wait<0>();
    hg_put<T>((float *)stages, sum, m0, n0, to, end);
  }
};
