// Options of the emulator, from the environment or from the functions of control.cc.
#pragma once

#include "emu.h"

#include <cstddef>
#include <string>

namespace hg_emu {

// Order is in which order threads, blocks and streams run where any order is legal.
enum Order { order_forward, order_reversed, order_shuffled };
extern Order order;

// order_set takes "forward", "reversed" or "shuffled:SEED". It returns false for
// anything else.
bool order_set(const char *text);

// random_below returns a number below n from the generator that the seed started.
u32 random_below(u32 n);

// choose picks one of n: the first, the last or any, as the order says.
u32 choose(u32 n);

// memory_limit is the size of the device's memory in bytes.
extern size_t memory_limit;

// driver_version is what cuDriverGetVersion says: 12040 is CUDA 12.4.
extern int driver_version;

// devices is how many there are. All have the same memory.
extern int devices;

// fail_set takes "function:n" or "function:n:code", several with commas between:
// the n-th call of the function from now on fails with the code. A kernel's name
// stands for its n-th execution. An empty text ends all. False: not understood.
bool fail_set(const char *text);

// fail_injected counts a call and returns the code that it is to fail with, or 0.
int fail_injected(const char *function);

// options_from_environment applies HGLD_EMU_ORDER, HGLD_EMU_MEMORY, HGLD_EMU_VERSION,
// HGLD_EMU_DEVICES and HGLD_EMU_FAIL where they have changed. It returns what is wrong with them.
std::string options_from_environment();

// options_reset sets all options to what the environment says, or their defaults.
std::string options_reset();

} // namespace hg_emu
