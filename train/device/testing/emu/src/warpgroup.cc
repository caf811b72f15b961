// wgmma on the processor. Tiles are described as the PTX ISA says in "Matrix descriptor format" and
// "Strides", of which the kernels use the layouts with swizzles of 128 bytes, along k and across it; the
// fragment of d is that of "wgmma.m64nNk16". Written from there and not from the kernels.
#include "warpgroup.h"
#include "codes.h"
#include "launch.h"
#include "race.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

namespace hg_emu {

static const int group_threads = 128;
static const int most_groups = most_threads / group_threads;
static const int rows = 64, most_columns = 128, depth = 16;

// Product is a wgmma of a warpgroup. The thread that first waits for it multiplies for all.
struct Product {
  u64 a, b;
  int columns;
  bool more, a_across, b_across;
  bool computed;
  double sum[rows][most_columns];
};

// Group is the products of a warpgroup in their order. The first have been dropped.
struct Group {
  std::deque<Product> products;
  u64 dropped;
};
static Group groups[most_groups];

// Pending is a product that a thread has begun. before is what d was, where no earlier product gives it.
struct Pending {
  int n;
  float *d[64];
  float before[64];
  bool starts;
  u64 number; // of the product
  u32 group;
  const char *file;
  int line;
};
struct Thread {
  std::deque<Pending> pending;
  u64 begun; // products
  u32 committed;
  bool fenced; // since registers may have been used otherwise
};
static Thread threads[most_threads];
static bool used;

// Sixteen bytes of dynamic memory that an asynchronous copy wrote can be read by wgmma if their writer has
// executed fence.proxy.async since: then its count has gone on.
struct Written {
  u16 thread;
  u32 count; // 0: nobody
};
static const u32 pieces = (256 << 10) / 16;
static Written written[pieces];
static u32 fences[most_threads];
static u32 fence_count = 1; // counts go on from block to block

static u32 piece_of(const void *at) { return (u32)(((u64)at - (u64)shared_dynamic_at(0)) / 16 % pieces); }

void warpgroups_begin(int count) {
  fence_count++;
  for (int i = 0; i < count; i++) fences[i] = fence_count;
  if (!used) return;
  used = false;
  for (Group &g : groups) g = {};
  for (Thread &t : threads) t = {};
}

std::string warpgroups_check() {
  if (!used) return "";
  for (int i = 0; i < block.count; i++) {
    const Thread &t = threads[i], &first = threads[i / group_threads * group_threads];
    if (!t.pending.empty()) return "thread " + std::to_string(i) + " ends while a wgmma is under way";
    if (t.begun != first.begun)
      return "thread " + std::to_string(i) + " began " + std::to_string(t.begun) +
             " wgmma, and the first of its warpgroup " + std::to_string(first.begun);
  }
  return "";
}

void warpgroup_copied(const void *at, u32 bytes) {
  for (u32 i = 0; i < bytes; i += 16) written[piece_of((const u8 *)at + i)] = {(u16)place.number, fences[place.number]};
}

void wgmma_proxy() { fences[place.number] = ++fence_count; }

u64 tile_of(const void *tile, u32 next) {
  return ((u64)tile - window) >> 4 & 0x3fff | (u64)(next >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// refuse ends the kernel.
[[noreturn]] static void refuse(int code, const std::string &what) { launch_fail(code, "wgmma: " + what); }

// element returns element i of column k of a tile: rows of 128 bytes, in groups of eight.
static const u8 *element(u64 tile, bool across, u32 i, u32 k) {
  u32 start = (u32)(tile & 0x3fff) << 4, lead = (u32)(tile >> 16 & 0x3fff) << 4, stride = (u32)(tile >> 32 & 0x3fff) << 4;
  u32 at = start;
  if (across)
    at += i % 64 * 2 + i / 64 * lead + k % 8 * 128 + k / 8 * stride;
  else
    at += i % 8 * 128 + i / 8 * stride + k * 2;
  return shared_dynamic_at(at ^ (at >> 7 & 7) << 4);
}

static double widened(const u8 *at) {
  u16 bits;
  memcpy(&bits, at, 2);
  u32 all = (u32)bits << 16;
  float v;
  memcpy(&v, &all, 4);
  return v;
}

// reads announces what a product reads of a tile. computing: it is read now.
static void reads_of(u64 tile, bool across, int n, bool computing, const char *file, int line) {
  for (int i = 0; i < n; i += across ? 8 : 1)
    for (int k = 0; k < depth; k += across ? 1 : 8) {
      const u8 *at = element(tile, across, (u32)i, (u32)k);
      if (!shared_holds(at, 16)) refuse(error_illegal_address, "a tile outside dynamic shared memory");
      if (file) race_shared({(u64)at - window, 16, How::reads, file, line});
      const Written &w = written[piece_of(at)];
      if (computing && w.count != 0 && fences[w.thread] == w.count)
        refuse(error_launch_failed, "it reads what thread " + std::to_string(w.thread) +
                                        " has copied, without a fence.proxy.async in between");
    }
}

static void read_tiles(const Product &p, bool computing, const char *file, int line) {
  reads_of(p.a, p.a_across, rows, computing, file, line);
  reads_of(p.b, p.b_across, p.columns, computing, file, line);
}

static void compute(Product &p) {
  static double a[rows][depth], b[depth][most_columns];
  for (int k = 0; k < depth; k++) {
    for (int i = 0; i < rows; i++) a[i][k] = widened(element(p.a, p.a_across, (u32)i, (u32)k));
    for (int j = 0; j < p.columns; j++) b[k][j] = widened(element(p.b, p.b_across, (u32)j, (u32)k));
  }
  memset(p.sum, 0, sizeof p.sum);
  for (int i = 0; i < rows; i++)
    for (int k = 0; k < depth; k++)
      for (int j = 0; j < p.columns; j++) p.sum[i][j] += a[i][k] * b[k][j];
  p.computed = true;
}

// described refuses a description that the kernels do not use.
static void described(u64 tile) {
  if (tile >> 62 != 1 || (tile >> 49 & 7) != 0)
    refuse(error_launch_failed, "a tile without swizzles of 128 bytes, or with an offset");
}

void wgmma(float *const *d, int n, u64 a, u64 b, bool more, bool a_across, bool b_across, const char *file, int line) {
  if (block.count % group_threads != 0) refuse(error_launch_failed, "the block has no whole warpgroups");
  used = true;
  Thread &t = threads[place.number];
  Group &g = groups[place.number / group_threads];
  if (t.begun == g.dropped + g.products.size()) {
    described(a);
    described(b);
    g.products.push_back({a, b, 2 * n, more, a_across, b_across, false, {}});
    read_tiles(g.products.back(), false, file, line);
  }
  const Product &p = g.products[t.begun - g.dropped];
  if (p.a != a || p.b != b || p.columns != 2 * n || p.more != more || p.a_across != a_across || p.b_across != b_across)
    refuse(error_launch_failed, "the threads of a warpgroup differ");
  Pending next = {n, {}, {}, true, t.begun++, t.committed, file, line};
  for (const Pending &earlier : t.pending) next.starts = next.starts && earlier.d[0] != d[0];
  if (next.starts && !t.fenced) refuse(error_launch_failed, "no wgmma.fence since registers may have been used otherwise");
  for (int i = 0; i < n; i++) {
    next.d[i] = d[i];
    next.before[i] = *d[i];
    *d[i] = NAN;
  }
  t.pending.push_back(next);
}

void wgmma_fence() { threads[place.number].fenced = true; }
void wgmma_commit() { threads[place.number].committed++; }

// finish gives the running thread its part of its first pending product.
static void finish() {
  Thread &t = threads[place.number];
  Group &g = groups[place.number / group_threads];
  Pending done = t.pending.front();
  t.pending.pop_front();
  Product &p = g.products[done.number - g.dropped];
  if (!p.computed) {
    read_tiles(p, true, done.file, done.line);
    compute(p);
  }
  Pending *follows = nullptr;
  for (Pending &later : t.pending)
    if (!follows && later.d[0] == done.d[0]) follows = &later;
  u32 warp = place.number / 32 % 4, row = warp * 16 + lane() / 4, column = lane() % 4 * 2;
  for (u32 i = 0; i < (u32)done.n; i++) {
    double sum = p.sum[row + i % 4 / 2 * 8][i / 4 * 8 + column + i % 2];
    float v = (float)((p.more ? done.before[i] : 0.f) + sum);
    (follows ? follows->before[i] : *done.d[i]) = v;
  }
  if (!follows) t.fenced = false;
}

// drop forgets the products of the running thread's warpgroup that all its threads have.
static void drop() {
  u32 first = place.number / group_threads * group_threads;
  Group &g = groups[place.number / group_threads];
  u64 least = ~0ull;
  for (u32 i = first; i < first + group_threads; i++) {
    const Thread &t = threads[i];
    u64 n = t.pending.empty() ? t.begun : t.pending.front().number;
    least = n < least ? n : least;
  }
  for (; g.dropped < least; g.dropped++) g.products.pop_front();
}

void wgmma_wait(u32 but) {
  Thread &t = threads[place.number];
  bool any = false;
  while (!t.pending.empty() && t.pending.front().group + but < t.committed) {
    finish();
    any = true;
  }
  if (any) drop();
}

} // namespace hg_emu
