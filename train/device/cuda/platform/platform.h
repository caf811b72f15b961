// platform.h for clang, which compiles kernels to PTX without any header of NVIDIA's: how kernels are
// declared, thread coordinates, barriers, warp shuffles, integer atomics, and arithmetic that is one
// instruction. See hg.h.
#pragma once
#include "types.h"

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

// HG_DEVICE begins a function that kernels call.
#define HG_DEVICE static __device__ __inline__ __attribute__((always_inline))

// HG_METHOD begins a method that kernels call.
#define HG_METHOD __device__ __inline__ __attribute__((always_inline))

// HG_KERNEL begins a kernel. A launch has at most the given number of threads in a block.
#define HG_KERNEL(threads, name, ...) \
  extern "C" __global__ __attribute__((launch_bounds(threads, 1))) void name(__VA_ARGS__)

// HG_KERNEL_TWICE and HG_KERNEL_THRICE limit the registers of a thread so that two or three blocks of
// the kernel fit on a multiprocessor.
#define HG_KERNEL_TWICE(threads, name, ...) \
  extern "C" __global__ __attribute__((launch_bounds(threads, 2))) void name(__VA_ARGS__)
#define HG_KERNEL_THRICE(threads, name, ...) \
  extern "C" __global__ __attribute__((launch_bounds(threads, 3))) void name(__VA_ARGS__)

// HG_SHARED declares an array in the block's shared memory. It is not initialised.
#define HG_SHARED(type, name, ...) static __shared__ __attribute__((aligned(16))) type name __VA_ARGS__

// HG_DYNAMIC names the shared memory whose size is an argument of the launch.
extern __shared__ __attribute__((aligned(16))) u8 hg_dynamic[];
#define HG_DYNAMIC(type, name) type *name = (type *)hg_dynamic

struct hg_dim {
  u32 x, y, z;
};

HG_DEVICE hg_dim hg_thread() {
  return {(u32)__nvvm_read_ptx_sreg_tid_x(), (u32)__nvvm_read_ptx_sreg_tid_y(), (u32)__nvvm_read_ptx_sreg_tid_z()};
}

HG_DEVICE hg_dim hg_block() {
  return {(u32)__nvvm_read_ptx_sreg_ctaid_x(), (u32)__nvvm_read_ptx_sreg_ctaid_y(),
          (u32)__nvvm_read_ptx_sreg_ctaid_z()};
}

HG_DEVICE hg_dim hg_threads() {
  return {(u32)__nvvm_read_ptx_sreg_ntid_x(), (u32)__nvvm_read_ptx_sreg_ntid_y(), (u32)__nvvm_read_ptx_sreg_ntid_z()};
}

HG_DEVICE hg_dim hg_blocks() {
  return {(u32)__nvvm_read_ptx_sreg_nctaid_x(), (u32)__nvvm_read_ptx_sreg_nctaid_y(),
          (u32)__nvvm_read_ptx_sreg_nctaid_z()};
}

#define threadIdx hg_thread()
#define blockIdx hg_block()
#define blockDim hg_threads()
#define gridDim hg_blocks()

// hg_thread_anew and hg_block_anew are threadIdx.x and blockIdx.x, of which the compiler does not know it: what
// depends on them is computed again, and no register keeps it in between.
HG_DEVICE u32 hg_thread_anew() {
  u32 x;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
  return x;
}
HG_DEVICE u32 hg_block_anew() {
  u32 x;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
  return x;
}

HG_DEVICE u32 __float_as_uint(float v) { return __builtin_bit_cast(u32, v); }
HG_DEVICE float __uint_as_float(u32 v) { return __builtin_bit_cast(float, v); }
HG_DEVICE i64 __double_as_longlong(double v) { return __builtin_bit_cast(i64, v); }
HG_DEVICE double __longlong_as_double(i64 v) { return __builtin_bit_cast(double, v); }
HG_DEVICE u32 __umulhi(u32 a, u32 b) { return (u32)(((u64)a * b) >> 32); }

// hg_wide is the 64-bit product of two numbers. If the compiler hoists the widening of a factor out
// of a loop, it multiplies 64 bits by 64 instead.
HG_DEVICE u64 hg_wide(u32 a, u32 b) {
  u64 product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
}

// ---- barriers, shuffles, votes

__device__ __attribute__((convergent)) void __syncthreads() asm("llvm.nvvm.barrier0");
HG_DEVICE __attribute__((convergent)) void __syncwarp(u32 mask = HG_FULL) { __nvvm_bar_warp_sync(mask); }

HG_DEVICE int __shfl_sync(u32 mask, int v, int lane) { return __nvvm_shfl_sync_idx_i32(mask, v, lane, 31); }
HG_DEVICE int __shfl_xor_sync(u32 mask, int v, int x) { return __nvvm_shfl_sync_bfly_i32(mask, v, x, 31); }
HG_DEVICE int __shfl_down_sync(u32 mask, int v, int d) { return __nvvm_shfl_sync_down_i32(mask, v, d, 31); }
HG_DEVICE int __shfl_up_sync(u32 mask, int v, int d) { return __nvvm_shfl_sync_up_i32(mask, v, d, 0); }

// Other types are shuffled as 32-bit words.
#define HG_SHUFFLE(shuffle)                                                                \
  HG_DEVICE u32 shuffle(u32 mask, u32 v, int at) { return (u32)shuffle(mask, (int)v, at); } \
  HG_DEVICE float shuffle(u32 mask, float v, int at) {                                     \
    return __builtin_bit_cast(float, shuffle(mask, __builtin_bit_cast(int, v), at));       \
  }                                                                                        \
  HG_DEVICE u64 shuffle(u32 mask, u64 v, int at) {                                         \
    u64 low = shuffle(mask, (u32)v, at), high = shuffle(mask, (u32)(v >> 32), at);         \
    return high << 32 | low;                                                               \
  }                                                                                        \
  HG_DEVICE i64 shuffle(u32 mask, i64 v, int at) { return (i64)shuffle(mask, (u64)v, at); } \
  HG_DEVICE double shuffle(u32 mask, double v, int at) {                                   \
    return __builtin_bit_cast(double, shuffle(mask, __builtin_bit_cast(u64, v), at));      \
  }
HG_SHUFFLE(__shfl_sync)
HG_SHUFFLE(__shfl_xor_sync)
HG_SHUFFLE(__shfl_down_sync)
HG_SHUFFLE(__shfl_up_sync)
#undef HG_SHUFFLE

HG_DEVICE u32 __ballot_sync(u32 mask, bool v) { return (u32)__nvvm_vote_ballot_sync(mask, v); }
HG_DEVICE bool __any_sync(u32 mask, bool v) { return __nvvm_vote_any_sync(mask, v); }
HG_DEVICE bool __all_sync(u32 mask, bool v) { return __nvvm_vote_all_sync(mask, v); }

HG_DEVICE int __popc(u32 v) { return __builtin_popcount(v); }
HG_DEVICE int __popcll(u64 v) { return __builtin_popcountll(v); }
HG_DEVICE int __clz(u32 v) { return v ? __builtin_clz(v) : 32; }
HG_DEVICE int __ffs(u32 v) { return __builtin_ffs((int)v); }
HG_DEVICE u32 __brev(u32 v) { return __builtin_bitreverse32(v); }

// ---- integer atomics. There are none for floats, because their order would change sums.

#define HG_ATOMICS(type)                                                                                       \
  HG_DEVICE type atomicAdd(type *p, type v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }             \
  HG_DEVICE type atomicOr(type *p, type v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }               \
  HG_DEVICE type atomicMin(type *p, type v) { return __atomic_fetch_min(p, v, __ATOMIC_RELAXED); }             \
  HG_DEVICE type atomicMax(type *p, type v) { return __atomic_fetch_max(p, v, __ATOMIC_RELAXED); }             \
  HG_DEVICE type atomicExch(type *p, type v) { return __atomic_exchange_n(p, v, __ATOMIC_RELAXED); }           \
  HG_DEVICE type atomicCAS(type *p, type compare, type v) {                                                    \
    __atomic_compare_exchange_n(p, &compare, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                    \
    return compare;                                                                                            \
  }
HG_ATOMICS(int)
HG_ATOMICS(u32)
HG_ATOMICS(u64)
#undef HG_ATOMICS

// ---- arithmetic that is one instruction

HG_DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
HG_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
HG_DEVICE float sqrtf(float v) { return __nvvm_sqrt_rn_f(v); }
HG_DEVICE double sqrt(double v) { return __nvvm_sqrt_rn_d(v); }
HG_DEVICE float fabsf(float v) { return __builtin_fabsf(v); }
HG_DEVICE double fabs(double v) { return __builtin_fabs(v); }
HG_DEVICE float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); } // if one is NaN, the other
HG_DEVICE float floorf(float v) { return __builtin_floorf(v); }
HG_DEVICE double floor(double v) { return __builtin_floor(v); }
HG_DEVICE float ceilf(float v) { return __builtin_ceilf(v); }
HG_DEVICE float truncf(float v) { return __builtin_truncf(v); }
HG_DEVICE float rintf(float v) { return __builtin_rintf(v); }
HG_DEVICE double rint(double v) { return __builtin_rint(v); }
