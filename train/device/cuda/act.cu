// act: dst = f(x), and slope = f′(x). Reads an element and writes one of each result. Of many elements in
// BF16 a block looks both up in a table that it makes first: the bytes are the same.
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

template <int F, class T> HG_DEVICE void bend(T *slope, i64 lds, const T *x, i64 ldx, i64 rows, i64 width) {
  const T *const in[] = {x};
  const i64 ld[] = {ldx};
  hg_map(slope, lds, in, ld, rows, width, [](const float(&v)[1]) { return hg_slope(v[0], F); });
}

HG_KERNELS(256, act, (T *dst, i64 ldd, const T *x, i64 ldx, i64 rows, i64 width, int f),
           (dst, ldd, x, ldx, rows, width, f)) {
  HG_EACH(forward, f, dst, ldd, x, ldx, rows, width)
}

HG_KERNELS(256, act_slope, (T *slope, i64 lds, const T *x, i64 ldx, i64 rows, i64 width, int f),
           (slope, lds, x, ldx, rows, width, f)) {
  HG_EACH(bend, f, slope, lds, x, ldx, rows, width)
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

// put writes the i-th eight elements.
HG_DEVICE void put(bf16 *to, i64 i, const u32 (&words)[4]) {
  ((f4 *)to)[i] = {__uint_as_float(words[0]), __uint_as_float(words[1]), __uint_as_float(words[2]), __uint_as_float(words[3])};
}

// look is dst = f(x) and slope = f′(x), where these are not null. An entry of the table has both, f(x) in the low half.
template <int F> HG_DEVICE void look(u32 (&table)[ARGUMENTS], bf16 *dst, bf16 *slope, const bf16 *x, i64 n) {
  for (u32 i = threadIdx.x; i < ARGUMENTS; i += blockDim.x) {
    float v = argument(i);
    table[i] = hg_pair(dst ? hg_act(v, F) : 0.f, slope ? hg_slope(v, F) : 0.f);
  }
  __syncthreads();
  for (i64 i = hg_index(); i < n / 8; i += hg_stride()) {
    f4 raw = ((const f4 *)x)[i];
    u32 at[8], low[4], high[4];
    if (places(raw, at)) {
#pragma unroll
      for (int e = 0; e < 4; e++) {
        u32 first = table[at[2 * e]], second = table[at[2 * e + 1]];
        low[e] = (first & 0xffff) | second << 16, high[e] = first >> 16 | (second & 0xffff0000u);
      }
    } else {
      float v[8];
      hg_unpack(raw, v);
#pragma unroll
      for (int e = 0; e < 4; e++) {
        low[e] = hg_pair(hg_act(v[2 * e], F), hg_act(v[2 * e + 1], F));
        high[e] = hg_pair(hg_slope(v[2 * e], F), hg_slope(v[2 * e + 1], F));
      }
    }
    if (dst) put(dst, i, low);
    if (slope) put(slope, i, high);
  }
  for (i64 i = n / 8 * 8 + hg_index(); i < n; i += hg_stride()) {
    float v = x[i];
    if (dst) dst[i] = hg_act(v, F);
    if (slope) slope[i] = hg_slope(v, F);
  }
}

HG_KERNEL(256, act_table_bf16, bf16 *dst, bf16 *slope, const bf16 *x, i64 n, int f) {
  HG_SHARED(u32, table, [ARGUMENTS]);
  HG_EACH_GELU(look, f, table, dst, slope, x, n)
}
