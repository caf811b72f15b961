// matmul of BF16 matrices on tensor cores: c = act(alpha·op(a)·op(b) + beta·add + bias) for a
// batch of matrices, c being BF16 or F32. If there are few tiles, k is cut into ranges, each
// with blocks of its own: their sums go to parts [splits][batch][m][n] in F32, which
// matmul_join_bf16 adds in order. Reads (m·n/T)·2k elements from global memory.
// Reference: ../reference/matmul.go
#include "product.h"

struct tensor_matmul {
  hg_result c;
  const bf16 *a, *b;
  float *parts;
  i64 k, lda, ldb, next_a, next_b, next_c; // next: from one matrix to the next
  i64 batch, splits, range;                // range: columns of a split
  int unit_a, unit_b;                      // elements that lie side by side
};

// of_matrix moves the result to a matrix of the batch.
HG_DEVICE hg_result of_matrix(const tensor_matmul &o, i64 matrix) {
  hg_result c = o.c;
  i64 skip = matrix * o.next_c;
  c.c = c.f32 ? (void *)((float *)c.c + skip) : (void *)((bf16 *)c.c + skip);
  c.add = c.f32 ? (const void *)((const float *)c.add + skip) : (const void *)((const bf16 *)c.add + skip);
  if (c.residual) c.residual += skip;
  return c;
}

// multiply computes the tile of the block. P is an hg_product.
template <class P, bool TRANS_A, bool TRANS_B> HG_DEVICE void multiply(const tensor_matmul &o) {
  i64 m = o.c.rows, n = o.c.cols, across = (n + P::COLS - 1) / P::COLS, down = (m + P::ROWS - 1) / P::ROWS, at = blockIdx.x;
  i64 j = at % across, i = at / across % down, z = at / across / down;
  i64 matrix = z % o.batch, split = z / o.batch, k0 = split * o.range, k1 = hg_least(o.k, k0 + o.range);
  hg_result c = of_matrix(o, matrix);
  if (o.splits > 1)
    c = {o.parts + (split * o.batch + matrix) * m * n, nullptr, nullptr, nullptr, n, m, n, 1.f, 0.f, 1, (m * n | n) % 8 == 0, 0};
  hg_matrix<bf16, P::OF_A> a = {o.a + matrix * o.next_a, m, TRANS_A ? 1 : o.lda, TRANS_A ? o.lda : 1, k1};
  hg_matrix<bf16, P::OF_B> b = {o.b + matrix * o.next_b, n, TRANS_B ? o.ldb : 1, TRANS_B ? 1 : o.ldb, k1};
  P::template product<!TRANS_A, TRANS_B>(a, b, o.unit_a, o.unit_b, i * P::ROWS, j * P::COLS, k0, k1, c);
}

#define MATMUL(T, name, trans_a, trans_b) \
  HG_KERNEL_TWICE(256, name, tensor_matmul o) { multiply<hg_product<T>, trans_a, trans_b>(o); }
MATMUL(64, matmul_nn_64_bf16, false, false)
MATMUL(64, matmul_nt_64_bf16, false, true)
MATMUL(64, matmul_tn_64_bf16, true, false)
MATMUL(64, matmul_tt_64_bf16, true, true)
MATMUL(128, matmul_nn_128_bf16, false, false)
MATMUL(128, matmul_nt_128_bf16, false, true)
MATMUL(128, matmul_tn_128_bf16, true, false)
MATMUL(128, matmul_tt_128_bf16, true, true)

HG_KERNEL(256, matmul_join_bf16, tensor_matmul o) {
  i64 size = o.c.rows * o.c.cols;
  for (i64 i = hg_index(); i < o.batch * size; i += hg_stride()) {
    i64 matrix = i / size, m = (i - matrix * size) / o.c.cols, n = i - matrix * size - m * o.c.cols;
    double sum = 0;
    for (i64 s = 0; s < o.splits; s++) sum += o.parts[s * o.batch * size + i];
    hg_result c = of_matrix(o, matrix);
    float v = hg_act(c.joined((float)sum, m * c.ld + n, n), c.act);
    if (c.f32)
      ((float *)c.c)[m * c.ld + n] = v;
    else
      ((bf16 *)c.c)[m * c.ld + n] = v;
  }
}
