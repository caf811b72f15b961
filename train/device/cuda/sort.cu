// sort: for each query the items by (score falling, row), absent ones last: a stable
// radix sort of each row of keys [Q,G], from the lowest digit to the highest. rows [Q,G]
// receives the items' columns in that order. s, drank [Q,G], sh U8 [Q,G]; keys and rows
// have no gaps. A key rises as the score falls; −0 and +0 have one key.
// A row of up to 4,096 is sorted in shared memory by one block, of as many threads as it
// takes at 16 items each: reads 4 and writes 8 bytes an item. A longer one
// takes four passes of eight bits, each of a histogram of tiles, its sums and a scatter:
// reads 4·4 + 28 and writes 4·8 bytes an item. Making the keys reads 5 and writes 4.
// With few, a query of at most so many positives, by number[q], is left out.
// Reference: ../cpu/ranksort.go
#include "scan.h"

enum { SORT_TILE = 4096, SORT_EACH = 16, ABSENT_LEVEL = 255 };
#define SORT_LAST 0xffffffffu // the key of what does not take part

// sort_key never is SORT_LAST: the one NaN that would be becomes its neighbour.
HG_DEVICE u32 sort_key(float score) {
  u32 bits = __float_as_uint(score);
  if (bits == 0x80000000u) bits = 0;
  bits = bits >> 31 ? bits : ~bits & 0x7fffffffu;
  return hg_least(bits, SORT_LAST - 1);
}

// sort_none says that a query is left out.
HG_DEVICE bool sort_none(const int *number, i64 q, int few) { return few > 0 && number[q] <= few; }

// sort_keys: the keys of the items with sh ≥ least. With drank the scores of positives
// are moved by lambda·number[q]·drank.
HG_KERNEL(256, sort_keys, u32 *keys, const float *s, const u8 *sh, const float *drank, const int *number, i64 queries,
          i64 items, i64 lds, i64 ldsh, i64 ldd, float lambda, int least, int few) {
  i64 tiles = (items + 255) / 256, q = blockIdx.x / tiles, i = (blockIdx.x - q * tiles) * 256 + threadIdx.x;
  if (i >= items || sort_none(number, q, few)) return;
  int level = sh[q * ldsh + i];
  u32 key = SORT_LAST;
  if (level != ABSENT_LEVEL && level >= least) {
    float score = s[q * lds + i];
    if (drank && level >= 1) {
      score = (float)((double)score + (double)number[q] * (double)lambda * (double)drank[q * ldd + i]);
    }
    key = sort_key(score);
  }
  keys[q * items + i] = key;
}

// SortTile is a tile of items in shared memory, 16 a thread: sort_bytes of sort.go.
struct SortTile {
  u32 *keys, *rows; // at sort_at
  u16 *counts;      // of each digit and thread
  u32 *room;        // of block_scan
};

HG_DEVICE SortTile sort_tile(u32 *memory, int threads) {
  int size = threads * SORT_EACH * 33 / 32;
  u32 *counts = memory + 2 * size;
  return {memory, memory + size, (u16 *)counts, counts + threads * 8};
}

// sort_at is where item i of a tile lies: sixteen a thread are then in different banks.
HG_DEVICE int sort_at(int i) { return i + (i >> 5); }

// sort_split sorts the first n items of a tile by the four bits of their keys from shift
// on and keeps the order of equal ones: a thread counts the digits of 16 items, and the
// counts before its own, by digit and then by thread, are where its items go.
HG_DEVICE void sort_split(const SortTile &tile, int threads, int n, int shift) {
  int t = threadIdx.x, first = t * SORT_EACH, from = sort_at(first); // sixteen do not cross a gap
  u32 key[SORT_EACH], row[SORT_EACH];
  for (int d = 0; d < 16; d++) tile.counts[d * threads + t] = 0;
#pragma unroll
  for (int j = 0; j < SORT_EACH; j++) {
    if (first + j >= n) continue;
    key[j] = tile.keys[from + j];
    row[j] = tile.rows[from + j];
    tile.counts[(key[j] >> shift & 15) * threads + t]++;
  }
  __syncthreads();
  u32 sum = 0, total;
  for (int j = 0; j < 16; j++) sum += tile.counts[t * 16 + j];
  u32 at = block_scan(sum, tile.room, &total);
  for (int j = 0; j < 16; j++) {
    u32 count = tile.counts[t * 16 + j];
    tile.counts[t * 16 + j] = (u16)at;
    at += count;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < SORT_EACH; j++) {
    if (first + j >= n) continue;
    int to = sort_at(tile.counts[(key[j] >> shift & 15) * threads + t]++);
    tile.keys[to] = key[j];
    tile.rows[to] = row[j];
  }
  __syncthreads();
}

// sort_load reads n items of a tile. Without rows they are numbered from first on.
HG_DEVICE void sort_load(const SortTile &tile, const u32 *keys, const int *rows, i64 first, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    tile.keys[sort_at(i)] = keys[i];
    tile.rows[sort_at(i)] = rows ? (u32)rows[i] : (u32)(first + i);
  }
  __syncthreads();
}

// sort_small: a block sorts a row of up to 4,096 items in place.
HG_KERNEL(256, sort_small, u32 *keys, int *rows, const int *number, int items, int few) {
  HG_DYNAMIC(u32, memory);
  SortTile tile = sort_tile(memory, blockDim.x);
  i64 q = blockIdx.x;
  if (sort_none(number, q, few)) return;
  sort_load(tile, keys + q * items, nullptr, 0, items);
  for (int shift = 0; shift < 32; shift += 4) sort_split(tile, blockDim.x, items, shift);
  for (int i = threadIdx.x; i < items; i += blockDim.x) {
    keys[q * items + i] = tile.keys[sort_at(i)];
    rows[q * items + i] = (int)tile.rows[sort_at(i)];
  }
}

// sort_count: counts[q,tile,digit], a block a tile, of the eight bits from shift on.
HG_KERNEL(256, sort_count, u32 *counts, const u32 *keys, const int *number, i64 items, i64 tiles, int shift, int few) {
  HG_SHARED(u32, count, [256]);
  i64 q = blockIdx.x / tiles, first = (blockIdx.x - q * tiles) * SORT_TILE;
  if (sort_none(number, q, few)) return;
  int t = threadIdx.x, n = (int)hg_least((i64)SORT_TILE, items - first);
  count[t] = 0;
  __syncthreads();
  for (int i = t; i < n; i += 256) atomicAdd(&count[keys[q * items + first + i] >> shift & 255], 1u);
  __syncthreads();
  counts[(i64)blockIdx.x * 256 + t] = count[t];
}

// sort_sum turns counts into how many items of the query go before those of a tile and
// digit: a block a query, a thread a digit.
HG_KERNEL(256, sort_sum, u32 *counts, const int *number, i64 tiles, int few) {
  HG_SHARED(u32, room, [257]);
  if (sort_none(number, blockIdx.x, few)) return;
  u32 *mine = counts + (i64)blockIdx.x * tiles * 256 + threadIdx.x, sum = 0, total;
  for (i64 k = 0; k < tiles; k++) sum += mine[k * 256];
  u32 at = block_scan(sum, room, &total);
  for (i64 k = 0; k < tiles; k++) {
    u32 count = mine[k * 256];
    mine[k * 256] = at;
    at += count;
  }
}

// sort_scatter sorts a tile by the eight bits from shift on, so that items of a digit
// are neighbours, and writes these to their places.
HG_KERNEL(256, sort_scatter, u32 *keysOut, int *rowsOut, const u32 *keys, const int *rows, const u32 *counts,
          const int *number, i64 items, i64 tiles, int shift, int few) {
  HG_DYNAMIC(u32, memory);
  HG_SHARED(int, begin, [256]); // of each digit in the tile
  i64 q = blockIdx.x / tiles, first = (blockIdx.x - q * tiles) * SORT_TILE, at = q * items + first;
  if (sort_none(number, q, few)) return;
  int t = threadIdx.x, n = (int)hg_least((i64)SORT_TILE, items - first);
  SortTile tile = sort_tile(memory, 256);
  sort_load(tile, keys + at, rows ? rows + at : rows, first, n);
  sort_split(tile, 256, n, shift);
  sort_split(tile, 256, n, shift + 4);
  for (int i = t; i < n; i += 256) {
    u32 digit = tile.keys[sort_at(i)] >> shift & 255;
    if (i == 0 || (tile.keys[sort_at(i - 1)] >> shift & 255) != digit) begin[digit] = i;
  }
  __syncthreads();
  for (int i = t; i < n; i += 256) {
    u32 key = tile.keys[sort_at(i)], digit = key >> shift & 255;
    i64 to = q * items + counts[(i64)blockIdx.x * 256 + digit] + i - begin[digit];
    keysOut[to] = key;
    rowsOut[to] = (int)tile.rows[sort_at(i)];
  }
}
