// The device's memory, and pinned memory of the host.
#pragma once

#include "emu.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace hg_emu {

struct Context;

// Allocation is memory that cuMemAlloc gave out. Its pages are its own; what they
// hold beside it is filled with a pattern, and behind them lies a guard page.
struct Allocation {
  uintptr_t pages, end; // of the pages
  uintptr_t start;
  size_t size;
  Context *owner;
  bool open; // accessible at the moment
  Allocation *next_open;
};

// memory_alloc returns an address, or 0 where the limit or the range is used up. The
// bytes are all 0xff.
uintptr_t memory_alloc(size_t size, Context *owner);

// memory_free returns the text of an error, empty if there was none: an address that
// was not given out, or a pattern that was written over.
std::string memory_free(uintptr_t start);
void memory_free_all(Context *owner);
size_t memory_used();

// memory_holds reports whether n bytes at an address lie inside one allocation.
bool memory_holds(uintptr_t address, size_t n);

// memory_open makes the pages of an allocation accessible that holds the address. It
// is called by the signal handler, and false says that no allocation does.
bool memory_open(uintptr_t address);

// memory_close makes all of the device's memory inaccessible again.
void memory_close();

// memory_check looks for patterns that were written over, in what is open.
std::string memory_check();

// memory_in_range reports whether an address belongs to the device's map at all;
// memory_describe says where it lies.
bool memory_in_range(uintptr_t address);
std::string memory_describe(uintptr_t address);

// Pinned memory. pinned_free returns false for an address that was not given out.
void *pinned_alloc(size_t size, Context *owner);
bool pinned_free(void *start);
void pinned_free_all(Context *owner);
bool pinned_holds(const void *address, size_t n);

} // namespace hg_emu
