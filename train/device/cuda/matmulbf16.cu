// matmul of BF16 matrices on tensor cores: c = act(alpha·op(a)·op(b) + beta·add + bias) for a
// batch of matrices, c being BF16 or F32. If there are few tiles, k is cut into ranges, each
// with blocks of its own: their sums go to parts [splits][batch][m][n] in F32, which
// matmul_join_bf16 adds in order. Reads (m·n/T)·2k elements from global memory.
// Reference: ../reference/matmul.go
#include "matmulbf16.h"

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
