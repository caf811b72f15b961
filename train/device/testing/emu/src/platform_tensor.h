// platform_tensor.h for the emulator: train/device/cuda/platform/platform_tensor.h for a C++ compiler.
#pragma once
#include "platform.h"
#include "tensorcore.h"
#include "warpgroup.h"

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

HG_DEVICE u8 *hg_aligned(u8 *p) { return (u8 *)(((u64)p + 1023) / 1024 * 1024); }
HG_DEVICE u64 hg_tile_of(const void *tile, u32 next) { return hg_emu::tile_of(tile, next); }
template <bool A_ALONG_K, bool B_ALONG_K, int N> HG_DEVICE void hg_wgmma(float (&d)[N], u64 a, u64 b, bool more) {
  static_assert(N == 32 || N == 64, "16 × 64 or 16 × 128");
  float *registers[N];
  for (int i = 0; i < N; i++) registers[i] = d + i;
  hg_emu::wgmma(registers, N, a, b, more, !A_ALONG_K, !B_ALONG_K);
}
HG_DEVICE void hg_wgmma_fence() { hg_emu::wgmma_fence(); }
HG_DEVICE void hg_wgmma_commit() { hg_emu::wgmma_commit(); }
template <int N> HG_DEVICE void hg_wgmma_wait() { hg_emu::wgmma_wait(N); }
HG_DEVICE void hg_copied() { hg_emu::wgmma_proxy(); }
