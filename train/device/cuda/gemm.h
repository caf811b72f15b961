// gemm.h: the tiled product that MatMul, Scores and the convolutions share. A block of
// 256 threads computes T × T elements, a thread (T/16)². Operands go through shared
// memory 16 columns at a time; the next ones are read meanwhile.
//
// An element is Σ_k a·b by fma in the order of k, in runs of 64 that are added up one
// after the other: its rounding depends on the range of k alone, neither on T nor on
// where its tile lies.
#pragma once
#include "hg.h"

#define HG_DEPTH 16 // columns of a step
#define HG_RUN 4    // steps whose products are summed before they join the rest

// Operands are structures with three methods: bind(i, m) assigns row m to slot i, at(k) moves to
// column k, and where(i, p) sets p to the element of slot i there, or returns false beyond the ends,
// where p must not be read. Threads walk along k if the elements of a row are adjacent in memory, and
// along m otherwise.

template <int T> struct hg_tiles {
  float a[HG_DEPTH][T + 4], b[HG_DEPTH][T + 4];
};

template <int T, bool ALONG_K, class F> HG_DEVICE void hg_bind(F &f, i64 m0) {
  if (ALONG_K) {
#pragma unroll
    for (int i = 0; i < T / 16; i++) f.bind(i, m0 + threadIdx.x / 16 + 16 * i);
  } else {
    f.bind(0, m0 + threadIdx.x % T);
  }
}

template <int T, bool ALONG_K, class F> HG_DEVICE void hg_fetch(float (&v)[T / 16], F &f, i64 k0) {
  if (ALONG_K) f.at(k0 + threadIdx.x % 16);
#pragma unroll
  for (int i = 0; i < T / 16; i++) {
    if (!ALONG_K) f.at(k0 + threadIdx.x / T + 256 / T * i);
    const float *p;
    v[i] = f.where(ALONG_K ? i : 0, p) ? *p : 0.f;
  }
}

template <int T, bool ALONG_K> HG_DEVICE void hg_keep(float (&tile)[HG_DEPTH][T + 4], const float (&v)[T / 16]) {
#pragma unroll
  for (int i = 0; i < T / 16; i++) {
    if (ALONG_K)
      tile[threadIdx.x % 16][threadIdx.x / 16 + 16 * i] = v[i];
    else
      tile[threadIdx.x / T + 256 / T * i][threadIdx.x % T] = v[i];
  }
}

// hg_gemm computes the tile at (m0, n0) over k in [k0, k1), where both operands end, and
// calls store(m, n, v) for runs of four columns.
template <int T, bool A_ALONG_K, bool B_ALONG_K, class A, class B, class S>
HG_DEVICE void hg_gemm(hg_tiles<T> &tiles, A a, B b, i64 m0, i64 n0, i64 k0, i64 k1, S store) {
  constexpr int W = T / 64; // runs of four rows and columns of a thread
  float sum[4 * W][4 * W], run[4 * W][4 * W], ra[T / 16], rb[T / 16];
#pragma unroll
  for (int i = 0; i < 4 * W; i++)
#pragma unroll
    for (int j = 0; j < 4 * W; j++) sum[i][j] = run[i][j] = 0.f;
  hg_bind<T, A_ALONG_K>(a, m0);
  hg_bind<T, B_ALONG_K>(b, n0);
  int ty = threadIdx.x / 16, tx = threadIdx.x % 16, steps = 0;
  hg_fetch<T, A_ALONG_K>(ra, a, k0);
  hg_fetch<T, B_ALONG_K>(rb, b, k0);
  for (i64 k = k0; k < k1; k += HG_DEPTH) {
    hg_keep<T, A_ALONG_K>(tiles.a, ra);
    hg_keep<T, B_ALONG_K>(tiles.b, rb);
    __syncthreads();
    if (k + HG_DEPTH < k1) {
      hg_fetch<T, A_ALONG_K>(ra, a, k + HG_DEPTH);
      hg_fetch<T, B_ALONG_K>(rb, b, k + HG_DEPTH);
    }
#pragma unroll
    for (int d = 0; d < HG_DEPTH; d++) {
      f4 va[W], vb[W];
#pragma unroll
      for (int i = 0; i < W; i++) {
        va[i] = *(const f4 *)&tiles.a[d][64 * i + 4 * ty];
        vb[i] = *(const f4 *)&tiles.b[d][64 * i + 4 * tx];
      }
#pragma unroll
      for (int i = 0; i < W; i++)
#pragma unroll
        for (int j = 0; j < W; j++) {
          float x[4] = {va[i].x, va[i].y, va[i].z, va[i].w}, y[4] = {vb[j].x, vb[j].y, vb[j].z, vb[j].w};
#pragma unroll
          for (int p = 0; p < 4; p++)
#pragma unroll
            for (int q = 0; q < 4; q++) run[4 * i + p][4 * j + q] = fmaf(x[p], y[q], run[4 * i + p][4 * j + q]);
        }
    }
    if (++steps == HG_RUN || k + HG_DEPTH >= k1) {
      steps = 0;
#pragma unroll
      for (int i = 0; i < 4 * W; i++)
#pragma unroll
        for (int j = 0; j < 4 * W; j++) {
          sum[i][j] += run[i][j];
          run[i][j] = 0.f;
        }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4 * W; i++)
#pragma unroll
    for (int j = 0; j < W; j++) {
      float v[4] = {sum[i][4 * j], sum[i][4 * j + 1], sum[i][4 * j + 2], sum[i][4 * j + 3]};
      store(m0 + i / 4 * 64 + 4 * ty + i % 4, n0 + 64 * j + 4 * tx, v);
    }
}

// hg_matrix is an operand in memory: element (m, k) lies at m·ld_m + k·ld_k.
template <class T, int SLOTS> struct hg_matrix {
  const T *p;
  i64 rows, ld_m, ld_k, end; // end: columns
  const T *row[SLOTS];
  i64 k;

  HG_METHOD void bind(int i, i64 m) { row[i] = m < rows ? p + m * ld_m : nullptr; }
  HG_METHOD void at(i64 to) { k = to; }
  HG_METHOD bool where(int i, const T *&at) const {
    at = row[i] + k * ld_k;
    return row[i] && k < end;
  }
};
