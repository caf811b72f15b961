// warpgroup.h: wgmma of the running thread's warpgroup, four warps that begin at a multiple of four.
#pragma once
#include "emu.h"

namespace hg_emu {

// Place of a tile in shared memory, as wgmma wants it: 14 bits of the address, and distances.
u64 tile_of(const void *tile, u32 next);

// wgmma begins the product of tiles of 64 × 16 and 16 × 2n, for n elements at d, which are 64 or fewer. It is
// computed at the wait, and d is NaN until then. With a line of PTX, what it reads is compared with what other threads write.
void wgmma(float *const *d, int n, u64 a, u64 b, bool more, bool a_across, bool b_across, const char *file = nullptr,
           int line = 0);
void wgmma_fence();
void wgmma_commit();
void wgmma_wait(u32 but);

// wgmma_proxy is fence.proxy.async. warpgroup_copied is told what a thread's asynchronous copies have written.
void wgmma_proxy();
void warpgroup_copied(const void *at, u32 bytes);

} // namespace hg_emu
