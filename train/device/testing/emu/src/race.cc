#include "race.h"
#include "codes.h"
#include "launch.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

namespace hg_emu {

// reserve maps memory of zeros, of which only what is touched takes room.
static void *reserve(u64 bytes) {
  void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    perror("hg emulator: no address space to watch over races");
    abort();
  }
  return p;
}

// ---- shared memory

// Touch is the last access of a kind to a byte. In an epoch, the time between two barriers of the
// block, several threads may read; readers says whether they are of other warps too.
struct Touch {
  u32 epoch, warp_epoch;
  u16 thread;
  bool atomic;
  int line;
};
enum Readers : u8 { one, one_warp, several_warps };
struct Cell {
  Touch write, read;
  Readers readers;
};

static const u64 shared_bytes = 2 << 20; // more than the window has
static Cell *cells;
static u32 epoch = 1, warp_epochs[most_warps];

// ordered reports whether an earlier access of another thread comes before now for certain.
static bool ordered(const Touch &t) {
  if (t.epoch != epoch) return true;
  return t.thread / 32 == place.number / 32 && t.warp_epoch != warp_epochs[place.number / 32];
}

[[noreturn]] static void report(const Access &now, const char *space, const char *before, const char *who, u32 other,
                                int line) {
  static const char *const verbs[] = {"reads", "writes", "updates"};
  char text[256], at[64] = "";
  if (line > 0) snprintf(at, sizeof at, " at line %d", line);
  snprintf(text, sizeof text, "race: %s:%d %s %s memory that %s %u %s%s, without synchronisation in between",
           now.file, now.line, verbs[now.how], space, who, other, before, at);
  launch_fail(error_launch_failed, text);
}

static void conflict(const Access &a, const Cell &c) {
  u32 own = place.number;
  bool both_atomic = a.how == updates && c.write.atomic;
  if (c.write.thread != own && !both_atomic && !ordered(c.write))
    report(a, "shared", "wrote", "thread", c.write.thread, c.write.line);
  if (a.how == reads || c.read.epoch != epoch) return;
  bool same_warp = c.read.thread / 32 == own / 32;
  if (c.readers == several_warps || (c.readers == one_warp && !(same_warp && ordered(c.read))) ||
      (c.readers == one && c.read.thread != own && !ordered(c.read)))
    report(a, "shared", "read", "thread", c.read.thread, c.read.line);
}

void race_shared(const Access &a) {
  if (!cells) cells = (Cell *)reserve(shared_bytes * sizeof(Cell));
  if (a.at + a.bytes > shared_bytes) return; // outside the window, which the access itself reports
  Touch now = {epoch, warp_epochs[place.number / 32], (u16)place.number, a.how == updates, a.line};
  for (u64 i = a.at; i < a.at + a.bytes; i++) {
    Cell &c = cells[i];
    conflict(a, c);
    if (a.how != reads) {
      c.write = now;
      continue;
    }
    if (c.read.epoch != epoch)
      c.readers = one;
    else if (c.read.thread / 32 != now.thread / 32)
      c.readers = several_warps;
    else if (c.read.thread != now.thread && c.readers == one)
      c.readers = one_warp;
    c.read = now;
  }
}

void race_barrier() { epoch++; }
void race_warp(int warp) { warp_epochs[warp]++; }

void misaligned(const Access &a) {
  char text[256];
  snprintf(text, sizeof text, "%s:%d: an access of %u bytes at 0x%llx, which %u does not divide", a.file, a.line,
           a.bytes, a.at, a.bytes);
  launch_fail(error_misaligned_address, text);
}

void misplaced(const Access &a, const char *space) {
  char text[256];
  snprintf(text, sizeof text, "%s:%d: an access of %u bytes at 0x%llx, which is not in %s memory", a.file, a.line,
           a.bytes, a.at, space);
  launch_fail(error_illegal_address, text);
}

// ---- the device's memory

// Blocks have numbers that no other block of the process has. A launch begins at first.
struct Stamp {
  u32 write, read; // the block; several is set where other blocks of the launch have read too
};
static const u32 several = 1u << 31;
static Stamp *stamps; // of each byte
static u64 device, device_bytes;
static u32 current, first;

void race_map(u64 start, u64 bytes) {
  stamps = (Stamp *)reserve(bytes * sizeof(Stamp));
  device = start;
  device_bytes = bytes;
}

void race_begin_launch() { first = current + 1; }

void race_begin_block() {
  epoch++;
  current = (current + 1) & ~several;
  if (current == 0) current = 1, first = 1;
}

void race_global(const Access &a) {
  if (a.at < device || a.at + a.bytes > device + device_bytes) return;
  for (Stamp *s = stamps + (a.at - device), *end = s + a.bytes; s < end; s++) {
    if (a.how == updates) continue;
    if (s->write >= first && s->write != current) report(a, "global", "wrote", "block", s->write - first, 0);
    u32 reader = s->read & ~several;
    bool fresh_read = reader < first;
    if (a.how == writes) {
      bool others = !fresh_read && (reader != current || s->read & several);
      if (others) report(a, "global", "read", "block", reader - first, 0);
      s->write = current;
    } else {
      s->read = fresh_read || s->read == current ? current : current | several;
    }
  }
}

void race_forget(u64 at, u64 bytes) {
  const u64 page = 64 << 10; // a multiple of every page size
  u64 from = (u64)(stamps + (at - device)), to = (u64)(stamps + (at - device + bytes));
  from = (from + page - 1) / page * page, to = to / page * page;
  if (stamps && to > from) madvise((void *)from, to - from, MADV_DONTNEED);
}

} // namespace hg_emu
