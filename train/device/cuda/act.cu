// act: dst = f(x), and dx = dy·f′(x). Reads an element of each input and writes one. Of many elements in
// BF16 a block looks f or f′ up in a table that it makes first: the bytes are the same.
// Reference: ../reference/act.go
#include "act.h"
#include "map.h"

// HG_EACH calls run<F> for the activation f: chosen for each element, it takes as long as the others.
#define HG_EACH(run, f, ...)                      \
  switch (f) {                                    \
  case HG_RELU: run<HG_RELU>(__VA_ARGS__); break; \
  case HG_IDENTITY: run<HG_IDENTITY>(__VA_ARGS__); break; \
  default: HG_EACH_GELU(run, f, __VA_ARGS__)      \
  }
#define HG_EACH_GELU(run, f, ...)                           \
  switch (f) {                                              \
  case HG_GELU: run<HG_GELU>(__VA_ARGS__); break;           \
  case HG_GELU_TANH: run<HG_GELU_TANH>(__VA_ARGS__); break; \
  default: run<HG_QUICK_GELU>(__VA_ARGS__);                 \
  }

template <int F, class T> HG_DEVICE void forward(T *dst, i64 ldd, const T *x, i64 ldx, i64 rows, i64 width) {
  const T *const in[] = {x};
  const i64 ld[] = {ldx};
  hg_map(dst, ldd, in, ld, rows, width, [](const float(&v)[1]) { return hg_act(v[0], F); });
}

template <int F, class T>
HG_DEVICE void back(T *dx, i64 ldd, const T *dy, i64 ldy, const T *x, i64 ldx, i64 rows, i64 width) {
  const T *const in[] = {dy, x};
  const i64 ld[] = {ldy, ldx};
  hg_map(dx, ldd, in, ld, rows, width, [](const float(&v)[2]) { return hg_act_grad(v[0], v[1], F); });
}

HG_KERNELS(256, act, (T *dst, i64 ldd, const T *x, i64 ldx, i64 rows, i64 width, int f),
           (dst, ldd, x, ldx, rows, width, f)) {
  HG_EACH(forward, f, dst, ldd, x, ldx, rows, width)
}

HG_KERNELS(256, act_grad, (T *dx, i64 ldd, const T *dy, i64 ldy, const T *x, i64 ldx, i64 rows, i64 width, int f),
           (dx, ldd, dy, ldy, x, ldx, rows, width, f)) {
  HG_EACH(back, f, dx, ldd, dy, ldy, x, ldx, rows, width)
}

// The table has the arguments from 2^−14 to 2^5 and their negatives. One has 16 bits, so there are few.
enum { LOWEST = (127 - 14) << 7, POSITIVE = (5 + 14) << 7, ARGUMENTS = 2 * POSITIVE };

// argument is the one at a place of the table, and place is the inverse: ARGUMENTS for one that is not there.
HG_DEVICE float argument(u32 i) {
  return hg_widen_bf16((u16)(i < POSITIVE ? LOWEST + i : 0x8000 + LOWEST + i - POSITIVE));
}
HG_DEVICE u32 place(u32 bits) {
  u32 i = (bits & 0x7fff) - LOWEST;
  if (i >= POSITIVE) return ARGUMENTS;
  return bits < 0x8000 ? i : i + POSITIVE;
}

// places are those of the eight elements in 16 bytes. It reports whether all of them are in the table.
HG_DEVICE bool places(f4 raw, u32 (&at)[8]) {
  u32 words[4] = {__float_as_uint(raw.x), __float_as_uint(raw.y), __float_as_uint(raw.z), __float_as_uint(raw.w)};
  u32 most = 0;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    at[2 * i] = place(words[i] & 0xffff), at[2 * i + 1] = place(words[i] >> 16);
    most = hg_most(most, hg_most(at[2 * i], at[2 * i + 1]));
  }
  return most < ARGUMENTS;
}

// value is f(x), or f′(x) of a gradient.
template <bool GRADIENT, int F> HG_DEVICE float value(float x) {
  return GRADIENT ? hg_act_grad(1.f, x, F) : hg_act(x, F);
}

// look is dst = f(x), or dst = dy·f′(x).
template <bool GRADIENT, int F>
HG_DEVICE void look(float (&table)[ARGUMENTS], bf16 *dst, const bf16 *dy, const bf16 *x, i64 n) {
  for (u32 i = threadIdx.x; i < ARGUMENTS; i += blockDim.x) table[i] = value<GRADIENT, F>(argument(i));
  __syncthreads();
  for (i64 i = hg_index(); i < n / 8; i += hg_stride()) {
    f4 raw = ((const f4 *)x)[i];
    float v[8], d[8];
    u32 at[8];
    if (places(raw, at)) {
#pragma unroll
      for (int e = 0; e < 8; e++) v[e] = table[at[e]];
    } else {
      hg_unpack(raw, v);
#pragma unroll
      for (int e = 0; e < 8; e++) v[e] = value<GRADIENT, F>(v[e]);
    }
    if (GRADIENT) {
      hg_unpack(((const f4 *)dy)[i], d);
#pragma unroll
      for (int e = 0; e < 8; e++) v[e] *= d[e];
    }
    ((f4 *)dst)[i] = hg_pack(v);
  }
  for (i64 i = n / 8 * 8 + hg_index(); i < n; i += hg_stride())
    dst[i] = value<GRADIENT, F>(x[i]) * (GRADIENT ? dy[i] : 1.f);
}

template <int F> HG_DEVICE void look_forward(float (&table)[ARGUMENTS], bf16 *dst, const bf16 *x, i64 n) {
  look<false, F>(table, dst, nullptr, x, n);
}

template <int F> HG_DEVICE void look_back(float (&table)[ARGUMENTS], bf16 *dx, const bf16 *dy, const bf16 *x, i64 n) {
  look<true, F>(table, dx, dy, x, n);
}

HG_KERNEL(256, act_table_bf16, bf16 *dst, const bf16 *x, i64 n, int f) {
  HG_SHARED(float, table, [ARGUMENTS]);
  HG_EACH_GELU(look_forward, f, table, dst, x, n)
}

HG_KERNEL(256, act_grad_table_bf16, bf16 *dx, const bf16 *dy, const bf16 *x, i64 n, int f) {
  HG_SHARED(float, table, [ARGUMENTS]);
  HG_EACH_GELU(look_back, f, table, dx, dy, x, n)
}
