// Tensor cores on the processor. The places of elements are those that the PTX ISA gives
// for mma.m16n8k16 and ldmatrix, written down from there and not from the kernels.
#include "tensorcore.h"
#include "codes.h"
#include "launch.h"
#include "race.h"

#include <cstring>
#include <string>
#include <vector>

namespace hg_emu {

// Operands are the matrices of a warp's mma, put together from the lanes' fragments. The lane that
// comes last multiplies them for all.
struct Operands {
  double a[16][16], b[16][8], sum[16][8];
};
static Operands operands[most_warps];

static double widened(u32 bits) {
  bits <<= 16;
  float v;
  memcpy(&v, &bits, 4);
  return v;
}

static void together(Vote vote) { warp(0xffffffffu, vote, 0, lane()); }

// The sum of a product is exact but for the rounding of float64, and then added to d and
// rounded once. A card may round each addition, and in another order.
void mma(float *d, const u32 *a, const u32 *b) {
  Operands &o = operands[place.number / 32];
  u32 group = lane() >> 2, within = lane() % 4;
  for (u32 i = 0; i < 8; i++) {
    u32 row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
    u32 col = within * 2 + (i & 1) + (i < 4 ? 0 : 8);
    o.a[row][col] = widened(i & 1 ? a[i / 2] >> 16 : a[i / 2] & 0xffff);
  }
  for (u32 i = 0; i < 4; i++) {
    u32 row = within * 2 + (i & 1) + (i < 2 ? 0 : 8);
    o.b[row][group] = widened(i & 1 ? b[i / 2] >> 16 : b[i / 2] & 0xffff);
  }
  together(vote_mma);
  for (u32 i = 0; i < 4; i++) {
    u32 row = i < 2 ? group : group + 8, col = within * 2 + (i & 1);
    d[i] = (float)(d[i] + o.sum[row][col]);
  }
}

void mma_multiply(int warp) {
  Operands &o = operands[warp];
  memset(o.sum, 0, sizeof o.sum);
  for (int row = 0; row < 16; row++)
    for (int k = 0; k < 16; k++)
      for (int col = 0; col < 8; col++) o.sum[row][col] += o.a[row][k] * o.b[k][col];
}

// Rows are what the lanes of a warp bring to ldmatrix, and the elements that each finds. The lane
// that comes last reads for all.
struct Rows {
  const void *row[32];
  bool transposed[32];
  u32 found[32][4];
};
static Rows rows_of[most_warps];

void ldmatrix(u32 *v, const void *row, bool transposed) {
  if ((u64)row % 16 != 0)
    launch_fail(error_misaligned_address, "ldmatrix: a row at an address that 16 does not divide");
  if (!shared_holds(row, 16)) launch_fail(error_illegal_address, "ldmatrix: a row outside shared memory");
  Rows &r = rows_of[place.number / 32];
  r.row[lane()] = row;
  r.transposed[lane()] = transposed;
  together(vote_ldmatrix);
  memcpy(v, r.found[lane()], sizeof r.found[0]);
}

void ldmatrix_read(int warp) {
  Rows &r = rows_of[warp];
  for (u32 lane = 0; lane < 32; lane++)
    for (u32 j = 0; j < 4; j++) {
      u16 pair[2];
      for (u32 i = 0; i < 2; i++) {
        u32 row = lane / 4, col = lane % 4 * 2 + i;
        if (r.transposed[lane]) std::swap(row, col);
        memcpy(&pair[i], (const u16 *)r.row[8 * j + row] + col, 2);
      }
      memcpy(&r.found[lane][j], pair, 4);
    }
}

// ---- asynchronous copies. On a card the bytes arrive at some time between the copy and the wait
// for it. Here they are NaN from the copy on and right from the wait on, so that a kernel computes
// with NaN if it does not wait, or if it refills what others have not read yet.

struct Copy {
  void *to;
  const void *from; // nullptr: zeros
  u32 bytes, group;
};
static std::vector<Copy> copies[most_threads];
static u32 groups[most_threads]; // committed

void copies_begin(int threads) {
  for (int i = 0; i < threads; i++) {
    copies[i].clear();
    groups[i] = 0;
  }
}

void copy_async(void *to, const void *from, u32 bytes) {
  if ((u64)to % bytes != 0 || (u64)from % bytes != 0)
    launch_fail(error_misaligned_address, "cp.async: an address that " + std::to_string(bytes) + " does not divide");
  if (!shared_holds(to, bytes)) launch_fail(error_illegal_address, "cp.async: a copy to outside shared memory");
  if (shared_holds(from, 1)) launch_fail(error_illegal_address, "cp.async: a copy from shared memory");
  memset(to, 0xff, bytes);
  copies[place.number].push_back({to, from, bytes, groups[place.number]});
}

void copy_commit() { groups[place.number]++; }

void copy_wait(u32 but, const char *file, int line) {
  std::vector<Copy> &list = copies[place.number];
  size_t n = 0;
  for (; n < list.size() && list[n].group + but < groups[place.number]; n++) {
    const Copy &c = list[n];
    if (file) race_shared({(u64)c.to - window, c.bytes, writes, file, line});
    if (c.from)
      memcpy(c.to, c.from, c.bytes);
    else
      memset(c.to, 0, c.bytes);
  }
  list.erase(list.begin(), list.begin() + (long)n);
}

} // namespace hg_emu
