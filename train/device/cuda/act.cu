// act: dst = f(x), and dx = dy·f′(x). Reads an element of each input and writes one.
// Reference: ../reference/act.go
#include "act.h"
#include "map.h"

HG_KERNELS(256, act, (T *dst, i64 ldd, const T *x, i64 ldx, i64 rows, i64 width, int f),
           (dst, ldd, x, ldx, rows, width, f)) {
  const T *const in[] = {x};
  const i64 ld[] = {ldx};
  hg_map(dst, ldd, in, ld, rows, width, [=](const float(&v)[1]) { return hg_act(v[0], f); });
}

HG_KERNELS(256, act_grad, (T *dx, i64 ldd, const T *dy, i64 ldy, const T *x, i64 ldx, i64 rows, i64 width, int f),
           (dx, ldd, dy, ldy, x, ldx, rows, width, f)) {
  const T *const in[] = {dy, x};
  const i64 ld[] = {ldy, ldx};
  hg_map(dx, ldd, in, ld, rows, width, [=](const float(&v)[2]) { return hg_act_grad(v[0], v[1], f); });
}
