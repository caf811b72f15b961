// platform.h for the emulator: train/device/cuda/platform/platform.h for a C++ compiler.
#pragma once
#include "emu.h"

namespace hg_emu {

// Arithmetic that is one instruction lives in this namespace, so that a compiler
// which calls the C library for it does not find our function under that name.
inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float sqrtf(float v) { return __builtin_sqrtf(v); }
inline double sqrt(double v) { return __builtin_sqrt(v); }
inline float fabsf(float v) { return __builtin_fabsf(v); }
inline double fabs(double v) { return __builtin_fabs(v); }
inline float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
inline float floorf(float v) { return __builtin_floorf(v); }
inline double floor(double v) { return __builtin_floor(v); }
inline float ceilf(float v) { return __builtin_ceilf(v); }
inline double ceil(double v) { return __builtin_ceil(v); }
inline float truncf(float v) { return __builtin_truncf(v); }
inline double trunc(double v) { return __builtin_trunc(v); }
inline float rintf(float v) { return __builtin_rintf(v); }
inline double rint(double v) { return __builtin_rint(v); }

} // namespace hg_emu

#define HG_DEVICE static inline __attribute__((always_inline, unused))
#define HG_METHOD inline __attribute__((always_inline))

#define HG_KERNEL(threads, name, ...)                                    \
  extern "C" void name(__VA_ARGS__);                                     \
  static hg_emu::Registration hg_registration_##name(#name, threads, name); \
  extern "C" void name(__VA_ARGS__)

#define HG_KERNEL_TWICE HG_KERNEL
#define HG_KERNEL_THRICE HG_KERNEL

// The slot belongs to the declaration: a device function called twice has the same
// memory twice, as on a card.
#define HG_SHARED(type, name, ...)                                                  \
  typedef type hg_type_##name __VA_ARGS__;                                          \
  static hg_emu::Slot hg_slot_##name = {#name, (u32)sizeof(hg_type_##name), 0, nullptr}; \
  hg_type_##name &name = *(hg_type_##name *)hg_emu::shared(hg_slot_##name)

#define HG_DYNAMIC(type, name) type *name = (type *)hg_emu::dynamic()

#define threadIdx ((const hg_emu::Dim &)hg_emu::place.thread)
#define blockIdx ((const hg_emu::Dim &)hg_emu::place.block)
#define blockDim ((const hg_emu::Dim &)hg_emu::place.threads)
#define gridDim ((const hg_emu::Dim &)hg_emu::place.blocks)

HG_DEVICE u32 hg_thread_anew() { return threadIdx.x; }
HG_DEVICE u32 hg_block_anew() { return blockIdx.x; }

HG_DEVICE u32 __float_as_uint(float v) { return hg_emu::from_bits<u32>(hg_emu::to_bits(v)); }
HG_DEVICE float __uint_as_float(u32 v) { return hg_emu::from_bits<float>(v); }
HG_DEVICE i64 __double_as_longlong(double v) { return hg_emu::from_bits<i64>(hg_emu::to_bits(v)); }
HG_DEVICE double __longlong_as_double(i64 v) { return hg_emu::from_bits<double>((u64)v); }
HG_DEVICE u32 __umulhi(u32 a, u32 b) { return (u32)(((u64)a * b) >> 32); }
HG_DEVICE u64 hg_wide(u32 a, u32 b) { return (u64)a * b; }

// ---- barriers, shuffles, votes

HG_DEVICE void __syncthreads() { hg_emu::barrier(); }
HG_DEVICE void __syncwarp(u32 mask = HG_FULL) { hg_emu::warp(mask, hg_emu::vote_sync, 0, 0); }

// Where the lane asked for lies outside the warp, a lane gets its own value back.
#define HG_SHUFFLE(type)                                                                                    \
  HG_DEVICE type __shfl_sync(u32 mask, type v, int at) {                                                    \
    return hg_emu::from_bits<type>(hg_emu::warp(mask, hg_emu::vote_shuffle, hg_emu::to_bits(v), at & 31));  \
  }                                                                                                         \
  HG_DEVICE type __shfl_xor_sync(u32 mask, type v, int x) {                                                 \
    u32 from = hg_emu::lane() ^ (x & 31);                                                                   \
    return hg_emu::from_bits<type>(hg_emu::warp(mask, hg_emu::vote_xor, hg_emu::to_bits(v), from));         \
  }                                                                                                         \
  HG_DEVICE type __shfl_down_sync(u32 mask, type v, int d) {                                                \
    u32 own = hg_emu::lane(), from = own + (d & 31);                                                        \
    from = from > 31 ? own : from;                                                                          \
    return hg_emu::from_bits<type>(hg_emu::warp(mask, hg_emu::vote_down, hg_emu::to_bits(v), from));        \
  }                                                                                                         \
  HG_DEVICE type __shfl_up_sync(u32 mask, type v, int d) {                                                  \
    u32 own = hg_emu::lane(), from = own - (d & 31);                                                        \
    from = from > 31 ? own : from;                                                                          \
    return hg_emu::from_bits<type>(hg_emu::warp(mask, hg_emu::vote_up, hg_emu::to_bits(v), from));          \
  }
HG_SHUFFLE(int)
HG_SHUFFLE(u32)
HG_SHUFFLE(float)
HG_SHUFFLE(double)
HG_SHUFFLE(u64)
HG_SHUFFLE(i64)
#undef HG_SHUFFLE

HG_DEVICE u32 __ballot_sync(u32 mask, bool v) { return (u32)hg_emu::warp(mask, hg_emu::vote_ballot, v, 0); }
HG_DEVICE bool __any_sync(u32 mask, bool v) { return __ballot_sync(mask, v) != 0; }
HG_DEVICE bool __all_sync(u32 mask, bool v) { return __ballot_sync(mask, v) == mask; }

HG_DEVICE int __popc(u32 v) { return __builtin_popcount(v); }
HG_DEVICE int __popcll(u64 v) { return __builtin_popcountll(v); }
HG_DEVICE int __clz(u32 v) { return v ? __builtin_clz(v) : 32; }
HG_DEVICE int __ffs(u32 v) { return __builtin_ffs((int)v); }
HG_DEVICE u32 __brev(u32 v) {
  v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
  v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
  v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(v);
}

// ---- integer atomics. A fiber is never interrupted, so they are plain operations.
// There are none of floats: their order would change sums.

#define HG_ATOMIC(type, name, result)  \
  HG_DEVICE type name(type *p, type v) { \
    type old = *p;                     \
    *p = result;                       \
    return old;                        \
  }
#define HG_ATOMICS(type)                             \
  HG_ATOMIC(type, atomicAdd, (type)((u64)old + (u64)v)) \
  HG_ATOMIC(type, atomicOr, old | v)                 \
  HG_ATOMIC(type, atomicMin, v < old ? v : old)      \
  HG_ATOMIC(type, atomicMax, old < v ? v : old)      \
  HG_ATOMIC(type, atomicExch, v)                     \
  HG_DEVICE type atomicCAS(type *p, type compare, type v) { \
    type old = *p;                                   \
    if (old == compare) *p = v;                      \
    return old;                                      \
  }
HG_ATOMICS(int)
HG_ATOMICS(u32)
HG_ATOMICS(u64)
#undef HG_ATOMICS
#undef HG_ATOMIC

using hg_emu::ceil;
using hg_emu::ceilf;
using hg_emu::fabs;
using hg_emu::fabsf;
using hg_emu::floor;
using hg_emu::floorf;
using hg_emu::fma;
using hg_emu::fmaf;
using hg_emu::fmaxf;
using hg_emu::rint;
using hg_emu::rintf;
using hg_emu::sqrt;
using hg_emu::sqrtf;
using hg_emu::trunc;
using hg_emu::truncf;
