// shared: sh[q,g] = the number of label columns [from, to) in which ql[q] and gl[g]
// are equal. Where one of them is −1, a finer equal column makes the column equal, and a
// coarser different one makes it different. sh is 255 where a column that ql[q] has stays
// unknown, where ql[q] has none, and where gl[g] is −1 in every column. The query's own
// row self[q], if there is one, becomes what own says.
// sh U8 [Q,G], ql I32 [Q,L], gl I32 [G,L], self I32 [Q] or null. A block takes 256
// gallery rows and 16 queries, so that gl is read once for 16 rows of sh; it reads
// 4·L·G·Q/16 bytes and writes Q·G. Reference: ../reference/shared.go
#include "hg.h"

enum { SHARED_QUERIES = 16, ABSENT_LEVEL = 255 };
enum { SELF_LEVEL, SELF_ABSENT, SELF_ZERO };

HG_KERNEL(256, shared_u8, u8 *sh, const int *ql, const int *gl, const int *self, i64 queries, i64 items, i64 lds,
          i64 ldq, i64 ldg, int levels, int from, int to, int own) {
  i64 tiles = (items + 255) / 256, part = blockIdx.x / tiles;
  i64 g = (blockIdx.x - part * tiles) * 256 + threadIdx.x, first = part * SHARED_QUERIES;
  if (g >= items) return;
  int count[SHARED_QUERIES];
  for (int j = 0; j < SHARED_QUERIES; j++) count[j] = 0;
  bool exists = false;
  unsigned equal = 0, asked = 0, unknown = 0; // a bit for each query; columns go from the finest up
  for (int l = 0; l < levels; l++) {
    int c = gl[g * ldg + l];
    exists = exists || c >= 0;
    bool within = l >= from && l < to;
#pragma unroll
    for (int j = 0; j < SHARED_QUERIES; j++) {
      int a = ql[hg_least(first + j, queries - 1) * ldq + l];
      unsigned bit = 1u << j;
      bool has = a >= 0, both = has && c >= 0;
      if (both && a == c) equal |= bit;
      if (both && a != c) unknown &= ~bit;
      if (within && has) asked |= bit;
      if (within && has && !both && !(equal & bit)) unknown |= bit;
      count[j] += within && (both ? a == c : (equal & bit) != 0);
    }
  }
  asked &= ~unknown;
#pragma unroll
  for (int j = 0; j < SHARED_QUERIES; j++) {
    i64 q = first + j;
    if (q >= queries) break;
    bool known = exists && (asked >> j & 1);
    int level = known ? count[j] : ABSENT_LEVEL;
    if (known && self && self[q] == g && own != SELF_LEVEL) level = own == SELF_ABSENT ? ABSENT_LEVEL : 0;
    sh[q * lds + g] = (u8)level;
  }
}
