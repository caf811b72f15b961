// relugrad: the epilogue of a gradient in memory: dx = dy + add where y is positive, else 0, its
// column sums (columns.h), and with x those of dx·(x − mean). x is [rows, c]; dx may be dy or
// add, and may be null where only the sums are wanted; add, y and x may be null. Reads each array
// once. Reference: ../cpu/relugrad.go
#include "columns.h"
#include "map.h"

HG_KERNELS(256, relugrad, (T *dx, const T *dy, const T *y, i64 n), (dx, dy, y, n)) {
  const T *const in[] = {dy, y};
  const i64 ld[] = {n, n};
  hg_map(dx, n, in, ld, 1, n, [](const float(&v)[2]) { return v[1] > 0.f ? v[0] : 0.f; });
}

HG_KERNELS(256, relugrad_add, (T *dx, const T *dy, const T *add, const T *y, i64 n), (dx, dy, add, y, n)) {
  const T *const in[] = {dy, add, y ? y : dy};
  const i64 ld[] = {n, n, n};
  hg_map(dx, n, in, ld, 1, n, [=](const float(&v)[3]) { return !y || v[2] > 0.f ? v[0] + v[1] : 0.f; });
}

// ended makes v the E elements from i on of the result, as they are stored.
template <int E, class T> HG_DEVICE void ended(float (&v)[E], T *dx, const T *dy, const T *add, const T *y, i64 i) {
  float more[E], gate[E];
  hg_take<E>(dy + i, v);
  if (add) hg_take<E>(add + i, more);
  if (y) hg_take<E>(y + i, gate);
#pragma unroll
  for (int e = 0; e < E; e++) {
    if (add) v[e] += more[e];
    if (y && !(gate[e] > 0.f)) v[e] = 0.f;
  }
  hg_as_stored<E, T>(v);
  if (dx) hg_give<E>(dx + i, v);
}

// lanes is 0 where 16 bytes of a row cannot be read at once.
HG_KERNELS(256, relugrad_sums, (double *parts, T *dx, const T *dy, const T *add, const T *y, i64 rows, i64 c, int lanes),
           (parts, dx, dy, add, y, rows, c, lanes)) {
  HG_SHARED(double, room, HG_ROOM(T));
  auto sum = [=](i64 r, i64 j, auto &sums) {
    constexpr int E = sizeof(sums[0]) / sizeof(sums[0][0]);
    float v[E];
    ended<E>(v, dx, dy, add, y, r * c + j);
#pragma unroll
    for (int e = 0; e < E; e++) sums[0][e].add(v[e]);
  };
  hg_put_sums<1> put = {parts, c};
  if (lanes)
    hg_columns<1, 16 / sizeof(T)>(rows, c, lanes, room, sum, put);
  else
    hg_columns<1, 1>(rows, c, 32, room, sum, put);
}

HG_KERNELS(256, relugrad_along,
           (double *parts, T *dx, const T *dy, const T *add, const T *y, const T *x, const float *mean, i64 rows, i64 c,
            int lanes),
           (parts, dx, dy, add, y, x, mean, rows, c, lanes)) {
  HG_SHARED(double, room, HG_ROOM(T));
  auto sum = [=](i64 r, i64 j, auto &sums) {
    constexpr int E = sizeof(sums[0]) / sizeof(sums[0][0]);
    float v[E], z[E], m[E];
    ended<E>(v, dx, dy, add, y, r * c + j);
    hg_take<E>(x + r * c + j, z);
    hg_take<E>(mean + j, m);
#pragma unroll
    for (int e = 0; e < E; e++) {
      sums[0][e].add(v[e]);
      sums[1][e].add_product(v[e], z[e] - m[e]);
    }
  };
  hg_put_sums<2> put = {parts, c};
  if (lanes)
    hg_columns<2, 16 / sizeof(T)>(rows, c, lanes, room, sum, put);
  else
    hg_columns<2, 1>(rows, c, 32, room, sum, put);
}
