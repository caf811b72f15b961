// conv of BF16 images and its gradients by wgmma: what convbf16.cu computes, in larger tiles, where channels
// and filters are multiples of eight. Only compute capability 9.0 has these kernels (sm_90a).
// Reference: ../reference/conv.go, ../cpu/convgradx.go, ../cpu/convgradw.go
#include "convbf16.h"
#include "wgmma.h"

#define CONV(M, N, name, compute) \
  HG_KERNEL(256, name##_##M##x##N##_bf16, tensor_conv p) { compute<hg_product_wg<M, N>>(p); }
CONV(256, 128, conv, forward)
CONV(256, 128, conv_gradx, gradx)
CONV(256, 128, conv_gradw, gradw)
CONV(128, 256, conv_gradw, gradw)
CONV(256, 64, conv, forward)
CONV(256, 64, conv_gradx, gradx)
CONV(256, 64, conv_gradw, gradw)
CONV(64, 256, conv_gradw, gradw)
