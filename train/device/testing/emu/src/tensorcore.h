// tensorcore.h: tensor cores and asynchronous copies of the running thread.
#pragma once
#include "emu.h"

namespace hg_emu {

void mma(float *d, const u32 *a, const u32 *b);
void ldmatrix(u32 *v, const void *row, bool transposed);

// mma_multiply and ldmatrix_read do the work of a warp once all its lanes have arrived.
void mma_multiply(int warp);
void ldmatrix_read(int warp);

void copy_async(void *to, const void *from, u32 bytes);
void copy_commit();

// copy_wait makes the running thread's copies but those of the last groups. With a line of PTX,
// they are compared with what other threads do.
void copy_wait(u32 but, const char *file = nullptr, int line = 0);

} // namespace hg_emu
