// matmul: c = ReLU(alpha·op(a)·op(b) + beta·add + bias) for a batch of matrices, op
// transposing where the kernel's name says t. c is [m, n], the sum runs over k. add may be
// c. With beta 0 it is not read; without relu it is linear. Other activations are a kernel of
// act.cu. If there are few tiles, k is cut into ranges, each with blocks of its own:
// their sums go to parts [splits][batch][m][n], which matmul_finish adds in order.
// Reads (m·n/T)·2k floats from global memory. Reference: ../reference/matmul.go
#include "gemm.h"

struct matmul {
  float *c;
  const float *a, *b, *bias, *add; // add is laid out as c
  float *parts;
  i64 m, n, k, lda, ldb, ldc, next_a, next_b, next_c; // next: from one matrix to the next
  i64 batch, splits, range;                           // range: columns of a split
  float alpha, beta;
  int relu;
};

// finished is the element of column n that is stored at a place.
HG_DEVICE float finished(const matmul &o, i64 at, i64 n, float v) {
  v *= o.alpha;
  if (o.beta != 0.f) v = fmaf(o.beta, o.add[at], v);
  if (o.bias) v += o.bias[n];
  return o.relu && v < 0.f ? 0.f : v;
}

template <int T, bool TRANS_A, bool TRANS_B> HG_DEVICE void multiply(hg_tiles<T> &tiles, const matmul &o) {
  i64 across = (o.n + T - 1) / T, down = (o.m + T - 1) / T, at = blockIdx.x;
  i64 j = at % across, i = at / across % down, z = at / across / down;
  i64 matrix = z % o.batch, split = z / o.batch, k0 = split * o.range, k1 = hg_least(o.k, k0 + o.range);
  float *part = o.parts + (split * o.batch + matrix) * o.m * o.n;
  hg_matrix<float, T / 16> a = {o.a + matrix * o.next_a, o.m, TRANS_A ? 1 : o.lda, TRANS_A ? o.lda : 1, k1};
  hg_matrix<float, T / 16> b = {o.b + matrix * o.next_b, o.n, TRANS_B ? o.ldb : 1, TRANS_B ? 1 : o.ldb, k1};
  hg_gemm<T, !TRANS_A, TRANS_B>(tiles, a, b, i * T, j * T, k0, k1, [&](i64 m, i64 n, const float(&v)[4]) {
    if (m >= o.m) return;
    for (int q = 0; q < 4 && n + q < o.n; q++) {
      if (o.splits > 1)
        part[m * o.n + n + q] = v[q];
      else
        o.c[matrix * o.next_c + m * o.ldc + n + q] = finished(o, matrix * o.next_c + m * o.ldc + n + q, n + q, v[q]);
    }
  });
}

#define MATMUL(T, name, trans_a, trans_b)                                                                             \
  HG_KERNEL(256, name, matmul o) {                                                                                    \
    HG_SHARED(hg_tiles<T>, tiles, [1]);                                                                               \
    multiply<T, trans_a, trans_b>(tiles[0], o);                                                                       \
  }
MATMUL(64, matmul_nn_64, false, false)
MATMUL(64, matmul_nt_64, false, true)
MATMUL(64, matmul_tn_64, true, false)
MATMUL(64, matmul_tt_64, true, true)
MATMUL(128, matmul_nn_128, false, false)
MATMUL(128, matmul_nt_128, false, true)
MATMUL(128, matmul_tn_128, true, false)
MATMUL(128, matmul_tt_128, true, true)

HG_KERNEL(256, matmul_finish, matmul o) {
  i64 size = o.m * o.n;
  for (i64 i = hg_index(); i < o.batch * size; i += hg_stride()) {
    i64 matrix = i / size, m = (i - matrix * size) / o.n, n = i - matrix * size - m * o.n;
    double sum = 0;
    for (i64 s = 0; s < o.splits; s++) sum += o.parts[s * o.batch * size + i];
    i64 at = matrix * o.next_c + m * o.ldc + n;
    o.c[at] = finished(o, at, n, (float)sum);
  }
}
