// conv of BF16 images and filters on tensor cores, and its gradients: the products of
// conv.cu by product.h. conv_gradw writes the sums of ranges of pixels in F32 to parts
// [splits][k·r·s·c/groups], which conv_join of conv.cu adds in order. conv and conv_gradx have the
// epilogues of conv.cu, where add is the residual of conv_gradx's result. A thread adds up at most
// 64 elements of a column in F32.
// Reference: ../reference/conv.go, ../cpu/convgradx.go, ../cpu/convgradw.go
#include "convbf16.h"

#define CONV(T)                                                            \
  HG_KERNEL_TWICE(256, conv_##T##_bf16, tensor_conv p) { forward<hg_product<T>>(p); }        \
  HG_KERNEL_TWICE(256, conv_gradx_##T##_bf16, tensor_conv p) { gradx<hg_product<T>>(p); }    \
  HG_KERNEL_TWICE(256, conv_gradw_##T##_bf16, tensor_conv p) { gradw<hg_product<T>>(p); }
CONV(64)
CONV(128)
