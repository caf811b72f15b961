// ptx.h has the functions that translated PTX calls (see ../ptx). As in the PTX ISA, an address in
// shared memory is an offset in the block's window. A generic address is a pointer.
#pragma once

#include "count.h"
#include "race.h"
#include "tensorcore.h"

typedef signed char i8;
typedef short i16;
typedef int i32;

namespace hg_emu {

// misaligned ends the kernel.
[[noreturn]] void misaligned(const Access &access);
[[noreturn]] void misplaced(const Access &access, const char *space);

} // namespace hg_emu

#define HG_PTX_LINE __FILE__, __LINE__
#define HG_PTX_KERNEL(threads, name) static hg_emu::Registration registration_##name(#name, threads, name);

// Bytes is a parameter that is a struct.
template <int N, int ALIGN> struct alignas(ALIGN) Bytes {
  u8 of[N];
};

// Several are the elements of one load or store.
template <class T, int N> struct Several {
  T of[N];
};

// ---- registers

template <class T, class F> inline T bits(F v) {
  static_assert(sizeof(T) == sizeof(F), "bits of one size");
  T to;
  __builtin_memcpy(&to, &v, sizeof to);
  return to;
}

template <class T> inline T shift_left(T v, u32 n) { return n >= sizeof(T) * 8 ? (T)0 : (T)(v << n); }
template <class T> inline T shift_right(T v, u32 n) {
  const u32 most = sizeof(T) * 8;
  if (n < most) return (T)(v >> n);
  return v < 0 ? (T)-1 : (T)0;
}
template <class T> inline T bit_field(T v, u32 at, u32 n) {
  at &= 255, n &= 255;
  T field = shift_right(v, at);
  return n >= sizeof(T) * 8 ? field : (T)(field & (shift_left((T)1, n) - 1));
}
template <class T> inline T inverse(T v) { return (T)~v; }
template <> inline bool inverse(bool v) { return !v; }

// Division by 0 is unspecified for integers.
template <class T> inline T divide(T a, T b) { return b == 0 ? (T)~(T)0 : b == (T)-1 ? (T)(0 - a) : (T)(a / b); }
template <> inline u32 divide(u32 a, u32 b) { return b == 0 ? ~0u : a / b; }
template <> inline u64 divide(u64 a, u64 b) { return b == 0 ? ~0ull : a / b; }
template <> inline float divide(float a, float b) { return a / b; }
template <> inline double divide(double a, double b) { return a / b; }
template <class T> inline T remainder(T a, T b) { return b == 0 ? a : b == (T)-1 && (T)-1 < 0 ? (T)0 : (T)(a % b); }

// Where one operand is NaN, min and max return the other; −0 is less than +0.
template <class T> inline T least(T a, T b) { return a < b ? a : b; }
template <class T> inline T most(T a, T b) { return a < b ? b : a; }
template <class T> inline T least_float(T a, T b) {
  if (a != a || b != b) return a != a ? b : a;
  return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}
template <> inline float least(float a, float b) { return least_float(a, b); }
template <> inline double least(double a, double b) { return least_float(a, b); }
template <> inline float most(float a, float b) { return -least_float(-a, -b); }
template <> inline double most(double a, double b) { return -least_float(-a, -b); }

template <class T> inline T negative(T v) { return (T)(0 - (u64)v); }
template <> inline float negative(float v) { return -v; }
template <> inline double negative(double v) { return -v; }
template <class T> inline T absolute(T v) { return v < 0 ? negative(v) : v; }
template <> inline float absolute(float v) { return __builtin_fabsf(v); }
template <> inline double absolute(double v) { return __builtin_fabs(v); }
template <class T> inline T reciprocal(T v) { return 1 / v; }
template <class T> T root(T v);
template <> inline float root(float v) { return __builtin_sqrtf(v); }
template <> inline double root(double v) { return __builtin_sqrt(v); }
template <class T> T fma_rn(T a, T b, T c);
template <> inline float fma_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
template <> inline double fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

// ftz takes subnormal numbers for 0 of their sign.
inline float flush(float v) { return __builtin_fabsf(v) < 0x1p-126f ? __builtin_copysignf(0.f, v) : v; }
template <class T> T exp2_ftz(T v);
template <> inline float exp2_ftz(float v) { return flush(__builtin_exp2f(flush(v))); }

// ---- conversions

inline float whole_rni(float v) { return __builtin_rintf(v); }
inline double whole_rni(double v) { return __builtin_rint(v); }
inline float whole_rzi(float v) { return __builtin_truncf(v); }
inline double whole_rzi(double v) { return __builtin_trunc(v); }
inline float whole_rmi(float v) { return __builtin_floorf(v); }
inline double whole_rmi(double v) { return __builtin_floor(v); }
inline float whole_rpi(float v) { return __builtin_ceilf(v); }
inline double whole_rpi(double v) { return __builtin_ceil(v); }

// to_integer converts an integral number; what lies outside becomes the nearest, NaN becomes 0.
template <class T> inline T to_integer(double v) {
  if (v != v) return 0;
  const bool is_signed = (T)-1 < 0;
  const int width = (int)sizeof(T) * 8 - is_signed;
  const double limit = 2.0 * (double)(1ull << (width - 1)), lowest = is_signed ? -limit : 0;
  if (v >= limit) return (T)((1ull << (width - 1)) - 1 + (1ull << (width - 1)));
  return v < lowest ? (T)lowest : (T)v;
}

// to_bf16 rounds to the nearest, ties to even; NaN becomes 0x7fff.
inline u16 to_bf16(float v) {
  if (v != v) return 0x7fff;
  u32 all = bits<u32>(v);
  return (u16)((all + 0x7fff + (all >> 16 & 1)) >> 16);
}

// ---- memory

inline u64 to_shared(u64 generic) { return generic - hg_emu::window; }
inline u64 from_shared(u64 offset) { return hg_emu::window + (u32)offset; }
inline bool in_window(u64 generic) { return generic - hg_emu::window < hg_emu::window_bytes; }
inline u64 shared_address(hg_emu::Slot &slot) { return to_shared((u64)hg_emu::shared(slot)); }
inline u64 shared_dynamic() { return to_shared((u64)hg_emu::dynamic()); }

// checked returns the pointer of an access to a space. A vector's address is a multiple of its size.
inline u8 *global_pointer(u64 at, hg_emu::Access access) {
  access.at = at;
  if (at % access.bytes != 0) hg_emu::misaligned(access);
  if (in_window(at)) hg_emu::misplaced(access, "global");
  hg_emu::race_global(access);
  if (hg_emu::counting) hg_emu::count_access(access, false);
  return (u8 *)at;
}
inline u8 *shared_pointer(u64 at, hg_emu::Access access) {
  access.at = at;
  if (at % access.bytes != 0) hg_emu::misaligned(access);
  if (at >= hg_emu::window_bytes) hg_emu::misplaced(access, "shared");
  hg_emu::race_shared(access);
  if (hg_emu::counting) hg_emu::count_access(access, true);
  return (u8 *)from_shared(at);
}
inline u8 *generic_pointer(u64 at, hg_emu::Access access) {
  return in_window(at) ? shared_pointer(to_shared(at), access) : global_pointer(at, access);
}

#define HG_PTX_SPACE(space)                                                                                         \
  template <class T, int N> inline Several<T, N> load_##space(u64 at, const char *file, int line) {                 \
    Several<T, N> v;                                                                                                \
    __builtin_memcpy(&v, space##_pointer(at, {0, (u32)sizeof v, hg_emu::reads, file, line}), sizeof v);             \
    return v;                                                                                                       \
  }                                                                                                                 \
  template <class T, int N> inline void store_##space(u64 at, const Several<T, N> &v, const char *file, int line) { \
    __builtin_memcpy(space##_pointer(at, {0, (u32)sizeof v, hg_emu::writes, file, line}), &v, sizeof v);            \
  }
HG_PTX_SPACE(global)
HG_PTX_SPACE(shared)
HG_PTX_SPACE(generic)
#undef HG_PTX_SPACE

template <class T, int N> inline Several<T, N> load_param(u64 at, const char *file, int line) {
  Several<T, N> v;
  if (at % sizeof(T) != 0) hg_emu::misaligned({at, (u32)sizeof v, hg_emu::reads, file, line});
  __builtin_memcpy(&v, (const void *)at, sizeof v);
  return v;
}

#define HG_PTX_ATOMIC(name, result)                                             \
  template <class T> inline T atomic_##name(u8 *(*pointer)(u64, hg_emu::Access), u64 at, T v, const char *file, \
                                            int line) {                         \
    T *p = (T *)pointer(at, {0, (u32)sizeof v, hg_emu::updates, file, line}), old = *p; \
    *p = (T)(result);                                                           \
    return old;                                                                 \
  }
HG_PTX_ATOMIC(add, old + v)
HG_PTX_ATOMIC(or, old | v)
HG_PTX_ATOMIC(min, v < old ? v : old)
HG_PTX_ATOMIC(max, old < v ? v : old)
HG_PTX_ATOMIC(exch, v)
#undef HG_PTX_ATOMIC

// ---- what lanes do together

// Of shfl's c, the low five bits bound the source, and bits 8 to 12 cut the warp into segments.
#define HG_PTX_SHUFFLE(name, vote, from, inside)                                    \
  inline u32 shuffle_##name(u32 v, u32 b, u32 c, u32 mask) {                        \
    u32 own = hg_emu::lane(), segment = c >> 8 & 31, first = own & segment;         \
    u32 last = first | (c & 31 & ~segment), at = from;                              \
    b &= 31;                                                                        \
    at = from;                                                                      \
    (void)first, (void)last;                                                        \
    return (u32)hg_emu::warp(mask, hg_emu::vote, v, inside ? at : own);             \
  }
HG_PTX_SHUFFLE(up, vote_up, own - b, (int)at >= (int)last)
HG_PTX_SHUFFLE(down, vote_down, own + b, at <= last)
HG_PTX_SHUFFLE(bfly, vote_xor, own ^ b, at <= last)
HG_PTX_SHUFFLE(idx, vote_shuffle, first | (b & ~segment), at <= last)
#undef HG_PTX_SHUFFLE

inline void load_matrix(u32 *v, u64 row, bool turned, const char *file, int line) {
  hg_emu::ldmatrix(v, shared_pointer(row, {0, 16, hg_emu::reads, file, line}), turned);
}

// copy_async writes shared memory at some time between its call and the wait for it.
inline void copy_async(u64 to, u64 from, u32 bytes, u32 given, const char *file, int line) {
  u8 *at = shared_pointer(to, {0, bytes, hg_emu::writes, file, line});
  if (given > 0) global_pointer(from, {0, bytes, hg_emu::reads, file, line});
  if (given != 0 && given != bytes) hg_emu::misplaced({from, given, hg_emu::reads, file, line}, "cp.async of a part");
  hg_emu::copy_async(at, given > 0 ? (const void *)from : nullptr, bytes);
}
inline void copy_wait(u32 but, const char *file, int line) { hg_emu::copy_wait(but, file, line); }
