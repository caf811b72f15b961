// act: dst = f(x), and dx = dy·f′(x). Reads an element of each input and writes one.
// Reference: ../reference/act.go
#include "act.h"
#include "map.h"

// HG_EACH calls run<F> for the activation f: chosen for each element, it takes as long as the others.
#define HG_EACH(run, f, ...)                                \
  switch (f) {                                              \
  case HG_RELU: run<HG_RELU>(__VA_ARGS__); break;           \
  case HG_GELU: run<HG_GELU>(__VA_ARGS__); break;           \
  case HG_GELU_TANH: run<HG_GELU_TANH>(__VA_ARGS__); break; \
  case HG_QUICK_GELU: run<HG_QUICK_GELU>(__VA_ARGS__); break; \
  default: run<HG_IDENTITY>(__VA_ARGS__);                   \
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
