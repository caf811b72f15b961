// ranked: what Ranks, Ranked and RanksGrad make of the sorted items of sort.cu; key
// 0xFFFFFFFF is that of an item that does not take part. keys, rows [Q,G] without gaps,
// order I32 and shared U8 [Q,N], rank, ds [Q,G], number I32 [Q].
//
//   ranked_first   shared, order = level and column of the first N items, bit 7: as the one before
//   ranked_places  rank = place from base on; number = how many take part
//   ranked_slopes  ds = (place − ds) / (lambda·number), ds having been the places before
//
// A thread a place. Reads 9 bytes an item, the levels or the slopes at random, and writes
// 5, 4 and 4. Reference: ../reference/ranked.go, ../cpu/ranksgrad.go
#include "hg.h"

#define SORT_LAST 0xffffffffu

HG_KERNEL(256, ranked_first, u8 *shared, int *order, const u32 *keys, const int *rows, const u8 *sh, i64 queries,
          i64 items, i64 n, i64 lds, i64 ldo, i64 ldsh) {
  for (i64 e = hg_index(); e < queries * n; e += hg_stride()) {
    i64 q = e / n, place = e - q * n, at = q * items + place;
    int level = 255, row = -1;
    if (place < items && keys[at] != SORT_LAST) {
      row = rows[at];
      level = sh[q * ldsh + row];
      if (place > 0 && keys[at - 1] == keys[at]) level |= 0x80;
    }
    shared[q * lds + place] = (u8)level;
    if (order) order[q * ldo + place] = row;
  }
}

HG_KERNEL(256, ranked_places, float *rank, int *number, const u32 *keys, const int *rows, i64 queries, i64 items,
          i64 ldr, int base) {
  for (i64 e = hg_index(); e < queries * items; e += hg_stride()) {
    i64 q = e / items, place = e - q * items;
    bool exists = keys[e] != SORT_LAST;
    rank[q * ldr + rows[e]] = exists ? (float)(place + base) : 0.f;
    if (exists && (place == items - 1 || keys[e + 1] == SORT_LAST)) number[q] = (int)place + 1;
  }
}

HG_KERNEL(256, ranked_slopes, float *ds, const int *number, const u32 *keys, const int *rows, i64 queries, i64 items,
          i64 ldd, float lambda) {
  for (i64 e = hg_index(); e < queries * items; e += hg_stride()) {
    i64 q = e / items, place = e - q * items;
    if (keys[e] == SORT_LAST) continue;
    float *to = ds + q * ldd + rows[e];
    *to = (float)(((double)place - (double)*to) / ((double)number[q] * (double)lambda));
  }
}
