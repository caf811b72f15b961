// Counters of what a kernel translated from PTX asks of a multiprocessor: the instructions of all threads,
// and for each line with an access the wavefronts of shared memory and the sectors of global memory.
#pragma once

#include "race.h"

namespace hg_emu {

// counting says whether accesses are counted.
extern bool counting;

// instructions are those that all threads executed.
extern u64 instructions;

// count_access adds an access of the running thread. Accesses of a warp's lanes belong together if they are
// of one line, lie between the same two points at which the warp synchronised, and are as often executed
// since the first of them.
void count_access(const Access &access, bool shared);

// The events that bound what belongs together: a barrier of the block, and of a warp.
void count_barrier();
void count_warp(int warp);

// count_end adds up what a block did.
void count_end();

} // namespace hg_emu
