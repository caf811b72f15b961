// philox.h: Philox 4x32-10, see ../philox.go.
#pragma once
#include "hg.h"

struct hg_words {
  u32 w[4];
};

// hg_philox returns the four words of block n of a stream.
HG_DEVICE hg_words hg_philox(u64 n, u32 stream, u32 key0, u32 key1) {
  u32 c0 = (u32)n, c1 = (u32)(n >> 32), c2 = stream, c3 = 0;
#pragma unroll
  for (int round = 0; round < 10; round++) {
    u64 p0 = (u64)0xD2511F53u * c0, p1 = (u64)0xCD9E8D57u * c2;
    c0 = (u32)(p1 >> 32) ^ c1 ^ key0;
    c2 = (u32)(p0 >> 32) ^ c3 ^ key1;
    c1 = (u32)p1, c3 = (u32)p0;
    key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// hg_unit maps a word to [0, 1).
HG_DEVICE float hg_unit(u32 word) { return (float)(word >> 8) * 5.9604644775390625e-8f; }
