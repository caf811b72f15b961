// What the imitations of NVIDIA's libraries have in common. They check how they are called,
// and compute plainly on the emulator's memory. A wrong call is a complaint, which a test
// reads: its status alone would only make the caller compute otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

// Of the emulator; see ../src/library.cc.
extern "C" int hgEmuQueue(void *stream, void (*work)(const void *), const void *data, size_t n);
extern "C" int hgEmuHolds(uint64_t address, size_t n);
extern "C" int hgEmuInjected(const char *function);

#define HG_API extern "C" __attribute__((visibility("default")))

namespace {

std::string complaints; // one a line
int queued;             // products or convolutions

// complain keeps a text and returns the status of a wrong argument.
int complain(int status, const std::string &text) {
  complaints += text + "\n";
  return status;
}

// Numbers are float or, as CUDA calls it, BF16.
float load(const void *at, bool is_short, int64_t i) {
  if (!is_short) return ((const float *)at)[i];
  uint32_t bits = (uint32_t)((const uint16_t *)at)[i] << 16;
  float v;
  memcpy(&v, &bits, 4);
  return v;
}

// store rounds to the nearest number, ties to even.
void store(void *at, bool is_short, int64_t i, float v) {
  if (!is_short) {
    ((float *)at)[i] = v;
    return;
  }
  uint32_t bits;
  memcpy(&bits, &v, 4);
  bool nan = (bits & 0x7fffffff) > 0x7f800000;
  ((uint16_t *)at)[i] = nan ? 0x7fff : (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

bool aligned(uint64_t address, uint64_t to) { return to == 0 || address % to == 0; }

} // namespace
