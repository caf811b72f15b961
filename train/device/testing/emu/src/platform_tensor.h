// platform_tensor.h for the emulator: train/device/cuda/platform/platform_tensor.h for a C++ compiler.
#pragma once
#include "platform.h"
#include "tensorcore.h"

HG_DEVICE void hg_mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) { hg_emu::mma(d, a, b); }
template <bool TRANSPOSED> HG_DEVICE void hg_ldmatrix(u32 (&v)[4], const void *row) {
  hg_emu::ldmatrix(v, row, TRANSPOSED);
}
template <int BYTES> HG_DEVICE void hg_copy_async(void *to, const void *from, bool there) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "a copy has 4, 8 or 16 bytes");
  hg_emu::copy_async(to, there ? from : nullptr, BYTES);
}
HG_DEVICE void hg_copy_commit() { hg_emu::copy_commit(); }
template <int N> HG_DEVICE void hg_copy_wait() { hg_emu::copy_wait(N); }
HG_DEVICE float hg_exp2(float x) { return __builtin_exp2f(x); }
