// matmul of BF16 matrices by wgmma: what matmulbf16.cu computes, in larger tiles, where pieces of eight
// elements lie side by side in both matrices. Only compute capability 9.0 has these kernels (sm_90a).
// Reads (m·n/N + m·n/M)·k elements from global memory.
// Reference: ../reference/matmul.go
#include "matmulbf16.h"
#include "wgmma.h"

#define MATMUL(M, N, name, trans_a, trans_b)                                 \
  HG_KERNEL(256, matmul_##name##_##M##x##N##_bf16, tensor_matmul o) {        \
    multiply<hg_product_wg<M, N>, trans_a, trans_b>(o);                            \
  }
MATMUL(256, 128, nn, false, false)
MATMUL(256, 128, nt, false, true)
MATMUL(256, 128, tn, true, false)
MATMUL(256, 128, tt, true, true)
MATMUL(128, 256, tn, true, false)
MATMUL(256, 64, tn, true, false)
MATMUL(64, 256, tn, true, false)
