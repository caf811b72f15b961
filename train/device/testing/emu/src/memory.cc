#include "memory.h"
#include "options.h"
#include "race.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

#ifdef HG_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace hg_emu {

// The map is far larger than the memory that can be in use, so addresses are not
// given out again for long and the use of freed memory faults.
static const size_t range_size = (size_t)64 << 30;
static const size_t page = (size_t)sysconf(_SC_PAGESIZE);
static const size_t huge = 8 << 20;      // an allocation that is worth large pages
static const size_t alignment = 256; // of what the driver gives out

// The pattern around an allocation is a NaN as a float and as a double.
static const u32 pattern = 0xfff5a5c3u;

static uintptr_t range;
static uintptr_t cursor; // where the search for room begins
static size_t used;
static std::map<uintptr_t, Allocation> allocations; // by their pages
static Allocation *opened;

struct Freed {
  uintptr_t end;
  size_t size;
};
static std::map<uintptr_t, Freed> freed; // by their start, for messages
static const size_t most_freed = 4096;

static bool map_once() {
  if (range) return true;
  void *p = mmap(nullptr, range_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    perror("hg emulator: no address space for the device's memory");
    return false;
  }
  race_map((u64)p, range_size);
  range = cursor = ((uintptr_t)p + page - 1) / page * page;
  return true;
}

static uintptr_t range_end() { return range + range_size - page; }

// find_room returns size free bytes at or after an address, or 0.
static uintptr_t find_room(uintptr_t at, size_t size) {
  auto next = allocations.lower_bound(at);
  if (next != allocations.begin()) {
    auto before = std::prev(next);
    if (before->second.end + page > at) at = before->second.end + page;
  }
  for (; next != allocations.end(); ++next) {
    if (at + size + page <= next->first) return at;
    at = next->second.end + page;
  }
  return at + size <= range_end() ? at : 0;
}

static void fill_pattern(uintptr_t from, uintptr_t to) {
  for (uintptr_t p = from; p < to; p++) *(u8 *)p = (u8)(pattern >> (p % 4 * 8));
}

static bool has_pattern(uintptr_t from, uintptr_t to) {
  for (uintptr_t p = from; p < to; p++)
    if (*(u8 *)p != (u8)(pattern >> (p % 4 * 8))) return false;
  return true;
}

// near_start is where the pattern before an allocation begins that is checked.
static uintptr_t near_start(const Allocation &a) {
  return a.start - a.pages > alignment ? a.start - alignment : a.pages;
}

uintptr_t memory_alloc(size_t size, Context *owner) {
  if (!map_once() || size > memory_limit || used + size > memory_limit) return 0;
  size_t padded = (size + alignment - 1) / alignment * alignment;
  size_t bytes = (padded + page - 1) / page * page;
  uintptr_t at = find_room(cursor + page, bytes);
  if (!at) at = find_room(range + page, bytes);
  if (!at || mprotect((void *)at, bytes, PROT_READ | PROT_WRITE) != 0) return 0;
  Allocation a = {at, at + bytes, at + bytes - padded, size, owner, false, nullptr};
  if (bytes >= huge) madvise((void *)at, bytes, MADV_HUGEPAGE); // makes opening and closing it cheap
  memset((void *)a.start, 0xff, size);
#ifdef HG_ASAN
  __asan_poison_memory_region((void *)a.pages, a.start - a.pages);
  __asan_unpoison_memory_region((void *)a.start, size);
  __asan_poison_memory_region((void *)(a.start + size), a.end - a.start - size);
#else
  fill_pattern(near_start(a), a.start);
  fill_pattern(a.start + size, a.end);
#endif
  mprotect((void *)at, bytes, PROT_NONE);
  auto f = freed.lower_bound(a.pages); // what is given out anew; no two of them overlap
  if (f != freed.begin() && std::prev(f)->second.end > a.pages) --f;
  while (f != freed.end() && f->first < a.end) f = freed.erase(f);
  allocations[at] = a;
  cursor = a.end;
  used += size;
  return a.start;
}

// owner_of finds the allocation whose pages hold an address.
static Allocation *owner_of(uintptr_t address) {
  auto next = allocations.upper_bound(address);
  if (next == allocations.begin()) return nullptr;
  Allocation &a = std::prev(next)->second;
  return address < a.end ? &a : nullptr;
}

static std::string name_of(const Allocation &a) {
  char text[128];
  snprintf(text, sizeof text, "the allocation of %zu bytes at 0x%zx", a.size, (size_t)a.start);
  return text;
}

static std::string check(const Allocation &a) {
#ifndef HG_ASAN
  if (!has_pattern(a.start + a.size, a.end)) return "wrote past the end of " + name_of(a);
  if (!has_pattern(near_start(a), a.start)) return "wrote before the start of " + name_of(a);
#endif
  return "";
}

static void close(Allocation &a) {
  mprotect((void *)a.pages, a.end - a.pages, PROT_NONE);
  a.open = false;
}

// release gives the pages back and keeps them inaccessible.
static void release(std::map<uintptr_t, Allocation>::iterator it) {
  const Allocation &a = it->second;
  mmap((void *)a.pages, a.end - a.pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
#ifdef HG_ASAN
  __asan_unpoison_memory_region((void *)a.pages, a.end - a.pages);
#endif
  race_forget(a.pages, a.end - a.pages);
  if (freed.size() == most_freed) freed.erase(freed.begin());
  freed[a.start] = {a.end, a.size};
  used -= a.size;
  allocations.erase(it);
}

std::string memory_free(uintptr_t start) {
  Allocation *a = owner_of(start);
  if (!a || a->start != start) return "cuMemFree of " + memory_describe(start);
  memory_close();
  memory_open(start);
  std::string damage = check(*a);
  memory_close();
  release(allocations.find(a->pages));
  return damage;
}

void memory_free_all(Context *owner) {
  memory_close();
  for (auto it = allocations.begin(); it != allocations.end();) {
    auto next = std::next(it);
    if (it->second.owner == owner) release(it);
    it = next;
  }
}

size_t memory_used() { return used; }

bool memory_holds(uintptr_t address, size_t n) {
  const Allocation *a = owner_of(address);
  return a && address >= a->start && n <= a->size && address - a->start <= a->size - n;
}

bool memory_open(uintptr_t address) {
  Allocation *a = owner_of(address);
  if (!a || a->open || mprotect((void *)a->pages, a->end - a->pages, PROT_READ | PROT_WRITE) != 0) return false;
  a->open = true;
  a->next_open = opened;
  opened = a;
  return true;
}

void memory_close() {
  for (; opened; opened = opened->next_open) close(*opened);
}

std::string memory_check() {
  for (Allocation *a = opened; a; a = a->next_open) {
    std::string damage = check(*a);
    if (!damage.empty()) return damage;
  }
  return "";
}

bool memory_in_range(uintptr_t address) { return range && address >= range && address < range + range_size; }

std::string memory_describe(uintptr_t address) {
  char text[256];
  if (!memory_in_range(address)) {
    snprintf(text, sizeof text, "address 0x%zx, which is not in the device's memory", (size_t)address);
    return text;
  }
  for (const auto &[start, f] : freed)
    if (address >= start && address < start + f.size) {
      snprintf(text, sizeof text, "address 0x%zx, in an allocation of %zu bytes that was freed", (size_t)address,
               f.size);
      return text;
    }
  auto next = allocations.upper_bound(address);
  const Allocation *before = next == allocations.begin() ? nullptr : &std::prev(next)->second;
  if (before && address >= before->start + before->size) {
    snprintf(text, sizeof text, "address 0x%zx, %zu bytes past the end of %s", (size_t)address,
             (size_t)(address - before->start - before->size), name_of(*before).c_str());
  } else if (before && address >= before->start) {
    snprintf(text, sizeof text, "address 0x%zx, in %s", (size_t)address, name_of(*before).c_str());
  } else if (next != allocations.end() || before) {
    const Allocation &a = before && address < before->end ? *before : next->second;
    snprintf(text, sizeof text, "address 0x%zx, %zu bytes before %s", (size_t)address, (size_t)(a.start - address),
             name_of(a).c_str());
  } else {
    snprintf(text, sizeof text, "address 0x%zx, in no allocation", (size_t)address);
  }
  return text;
}

struct Pinned {
  size_t size;
  Context *owner;
};
static std::map<uintptr_t, Pinned> pinned; // by their start

void *pinned_alloc(size_t size, Context *owner) {
  size_t bytes = (size + page - 1) / page * page;
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  memset(p, 0xff, size);
  pinned[(uintptr_t)p] = {size, owner};
  return p;
}

static void unmap(std::map<uintptr_t, Pinned>::iterator it) {
  munmap((void *)it->first, (it->second.size + page - 1) / page * page);
  pinned.erase(it);
}

bool pinned_free(void *start) {
  auto it = pinned.find((uintptr_t)start);
  if (it == pinned.end()) return false;
  unmap(it);
  return true;
}

void pinned_free_all(Context *owner) {
  for (auto it = pinned.begin(); it != pinned.end();) {
    auto next = std::next(it);
    if (it->second.owner == owner) unmap(it);
    it = next;
  }
}

bool pinned_holds(const void *address, size_t n) {
  auto next = pinned.upper_bound((uintptr_t)address);
  if (next == pinned.begin()) return false;
  auto it = std::prev(next);
  size_t from = (uintptr_t)address - it->first;
  return n <= it->second.size && from <= it->second.size - n;
}

} // namespace hg_emu
