// Shared memory of the running block.
#include "codes.h"
#include "launch.h"
#include "race.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

#ifdef HG_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace hg_emu {

// Declarations lie apart by a gap that holds a pattern, so a write past an array's
// end is found when the block ends; the address sanitizer finds it at once. The gaps
// do not count against the limit. Dynamic memory ends at a page that nothing may touch.
static const u32 gap = 64;
static const u32 page = 64 << 10;
static const u32 room = 1 << 20;   // for declarations and their gaps
static const u32 dynamic_room = 256 << 10;
static const u8 gap_byte = 0xe7;
static const u32 static_limit = 48 << 10; // of declarations, whatever the launch allows

static u8 *base; // guard page, declarations, guard page, dynamic memory, guard page
static u8 *statics, *dynamics;
static u32 used;     // bytes of statics, with gaps
static u32 declared; // bytes without gaps
static u32 dynamic_bytes, limit;
static std::vector<Slot *> slots; // of this launch

u64 window;
const u64 window_bytes = (u64)page * 3 + room + dynamic_room;

static void map_once() {
  if (base) return;
  size_t size = (size_t)page * 3 + room + dynamic_room;
  void *p = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    perror("hg emulator: no memory for a block");
    abort();
  }
  base = (u8 *)p;
  window = (u64)base;
  statics = base + page;
  mprotect(statics, room, PROT_READ | PROT_WRITE);
  mprotect(statics + room + page, dynamic_room, PROT_READ | PROT_WRITE);
}

static u8 *dynamic_end() { return statics + room + page + dynamic_room; }

void shared_begin(u32 bytes, u32 most) {
  map_once();
#ifdef HG_ASAN
  __asan_unpoison_memory_region(statics, used);
#endif
  used = declared = 0;
  slots.clear();
  dynamic_bytes = bytes;
  limit = most;
  dynamics = dynamic_end() - (bytes + 15) / 16 * 16;
}

void shared_poison() {
  for (const Slot *s : slots) memset(s->address, 0xff, s->bytes);
  if (dynamic_bytes > 0) memset(dynamics, 0xff, dynamic_bytes);
}

void *claim(Slot &slot) {
  u32 start = used, padded = (slot.bytes + 15) / 16 * 16;
  u32 most = declared + slot.bytes > static_limit ? static_limit : limit;
  if (declared + slot.bytes > static_limit || declared + slot.bytes + dynamic_bytes > limit) {
    char text[256];
    snprintf(text, sizeof text,
             "%s needs %u bytes of shared memory; with %u declared before and %u dynamic that is more than %u",
             slot.name, slot.bytes, declared, dynamic_bytes, most);
    launch_fail(error_launch_out_of_resources, text);
  }
  slot.launch = launch_number;
  slot.address = statics + start;
  memset(slot.address, 0xff, slot.bytes);
#ifdef HG_ASAN
  __asan_poison_memory_region(statics + start + slot.bytes, padded - slot.bytes + gap);
#else
  memset(statics + start + slot.bytes, gap_byte, padded - slot.bytes + gap);
#endif
  declared += slot.bytes;
  used = start + padded + gap;
  slots.push_back(&slot);
  return slot.address;
}

void *dynamic() {
  if (dynamic_bytes == 0) launch_fail(error_illegal_address, "HG_DYNAMIC in a launch without dynamic shared memory");
  return dynamics;
}

std::string shared_check() {
#ifndef HG_ASAN
  for (const Slot *s : slots) {
    const u8 *p = (const u8 *)s->address + s->bytes;
    u32 padding = (16 - s->bytes % 16) % 16 + gap;
    for (u32 i = 0; i < padding; i++)
      if (p[i] != gap_byte) {
        char text[256];
        snprintf(text, sizeof text, "wrote %u bytes past the end of the shared array %s of %u bytes", i, s->name,
                 s->bytes);
        return text;
      }
  }
#endif
  return "";
}

bool shared_holds(const void *address, u32 bytes) {
  const u8 *p = (const u8 *)address;
  return (p >= statics && p + bytes <= statics + used) || (p >= dynamics && p + bytes <= dynamics + dynamic_bytes);
}

bool shared_guards(const void *address) {
  const u8 *p = (const u8 *)address;
  if (!base || p < base || p >= dynamic_end() + page) return false;
  return p < statics || p >= dynamic_end() || (p >= statics + room && p < statics + room + page);
}

} // namespace hg_emu
