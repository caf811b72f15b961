// Race detection. Two threads race if they access the same bytes without synchronisation in between
// and at least one of them writes. Only kernels translated from PTX report races, because only they
// announce every access.
#pragma once

#include "emu.h"

namespace hg_emu {

// The block's shared memory, with all guards. It is mapped before the first kernel runs.
extern u64 window;
extern const u64 window_bytes;

// Access is one of a thread: where, how many bytes, how, and the line of the PTX.
enum How : u8 { reads, writes, updates }; // updates are atomic: they race with reads and writes only
struct Access {
  u64 at;
  u32 bytes;
  How how;
  const char *file;
  int line;
};

// race_shared ends the kernel if an access to shared memory races with another thread's: of the
// block since the last __syncthreads, and of the warp since its last __syncwarp. The offset is
// from the start of the block's shared memory.
void race_shared(const Access &access);

// race_global ends the kernel if an access to the device's memory races with another block's of
// the same launch. Threads of one block are not compared.
void race_global(const Access &access);

// The events that synchronise: the start of a launch or a block, __syncthreads and __syncwarp.
void race_begin_launch();
void race_begin_block();
void race_barrier();
void race_warp(int warp);

// race_forget drops what is known of a range of the device's memory.
void race_forget(u64 at, u64 bytes);

// race_map is told where the device's memory is.
void race_map(u64 device, u64 device_bytes);

} // namespace hg_emu
