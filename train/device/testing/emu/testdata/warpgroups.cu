// A product by wgmma, right and with planted faults.
#include "tensor.h"

enum { RIGHT, NO_WAIT, NO_FENCE, NO_PROXY, NO_BARRIER, A_WARP_LESS, OTHER_TILES, CHANGED };

// y [64][128] = a·b, or twice that, in steps of 16. a is BF16 [64][16]; b is [128][16], or [16][128] if across.
// Thread t writes what it has to y[64t] on.
HG_KERNEL(256, warpgroup_product, float *y, const u32 *a, const u32 *b, int across, int twice, int flaw) {
  HG_DYNAMIC(u8, memory);
  bf16 *left = (bf16 *)hg_aligned(memory), *right = left + 64 * 64;
  int t = (int)threadIdx.x;
  for (int piece = t; piece < 64 * 2; piece += 128) { // of eight elements
    int row = piece / 2, p = piece % 2;
    hg_copy_async<16>(left + row * 64 + (p ^ row % 8) * 8, a + 4 * piece, true);
  }
  for (int piece = t; piece < 128 * 2; piece += 128) {
    int row = across ? piece / 16 : piece / 2, p = across ? piece % 16 : piece % 2;
    bf16 *to = right + (across ? p / 8 * 16 * 64 : 0) + row * 64 + (p % 8 ^ row % 8) * 8;
    hg_copy_async<16>(to, b + 4 * piece, true);
  }
  hg_copy_commit();
  hg_copy_wait<0>();
  if (flaw != NO_PROXY) hg_copied();
  if (flaw != NO_BARRIER) __syncthreads();
  float d[64];
  u64 of_a = hg_tile_of(left, 0), of_b = hg_tile_of(right, 16 * 64 * 2);
  if (flaw == OTHER_TILES && t >= 64) of_a += 2;
  if (flaw != NO_FENCE) hg_wgmma_fence();
  if (flaw != A_WARP_LESS || t < 96) {
    for (int n = 0; n <= twice; n++) {
      if (across)
        hg_wgmma<true, false>(d, of_a, of_b, n > 0);
      else
        hg_wgmma<true, true>(d, of_a, of_b, n > 0);
    }
    hg_wgmma_commit();
  }
  if (flaw == CHANGED) { // registers of a product that is under way
    for (int i = 0; i < 64; i++) d[i] += 1.f;
    for (int i = 0; i < 64; i++) y[64 * t + i] = d[i];
  }
  if (flaw == NO_WAIT)
    for (int i = 0; i < 64; i++) y[64 * t + i] = d[i];
  hg_wgmma_wait<0>();
  for (int i = 0; flaw != NO_WAIT && flaw != CHANGED && i < 64; i++) y[64 * t + i] = d[i];
}
