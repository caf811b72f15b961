// conv: dst[p,k] = ReLU(Σ x[patch of p]·w[k] + bias[k] + residual[p,k]), the product of
// [pixels, r·s·c/groups] by [r·s·c/groups, k/groups] for each group;
// without relu it is linear, and other activations are a kernel of act.cu. Where statistics are
// wanted, parts [⌈pixels/T⌉][2][k] take the moments of each column of a tile (moments.h).
//
// conv_gradx: dx = Σ over taps and filters of dy·w + add, zero where mask is not positive,
// [input pixels, r·s·k/groups] by [r·s·k/groups, c/groups]. Where they are wanted, the sums of
// dx down the columns of a tile go to parts [⌈pixels/T⌉][c], which join.cu adds in order; with x,
// parts [⌈pixels/T⌉][2][c] also take those of dx·(x − mean). A launch has the pixels and taps of a
// phase (conv.h).
//
// conv_gradw: dw = acc·dw + dyᵀ·patches, [k/groups, pixels] by [pixels, r·s·c/groups].
// Pixels are cut into ranges, whose sums go to parts [splits][k·r·s·c/groups] and are
// added in order by conv_join.
//
// Images are [n,h,w,c], filters [k,r,s,c/groups]. Reference: ../reference/conv.go,
// ../cpu/convgradx.go, ../cpu/convgradw.go
#include "conv.h"
#include "moments.h"

struct epilogue {
  const float *bias, *residual;
  int relu;
  double *parts;
};

struct grad_epilogue {
  const float *add, *mask, *x, *mean;
  double *parts;
  hg_phase phase;
};

// room is the shared memory of a block: the tiles, and after the products what each of 16 rows of
// threads has of each column. A thread has at most 8 elements of a column, so floats do.
template <int T> union room {
  hg_tiles<T> tiles;
  float columns[3][16][T];
};

// keep adds v, the first or another element of a column of this thread, to its moments.
template <int T> HG_DEVICE void keep(float (&columns)[3][16][T], int y, int j, float v, bool first) {
  if (first) {
    columns[0][y][j] = v, columns[1][y][j] = columns[2][y][j] = 0.f;
    return;
  }
  float d = v - columns[0][y][j];
  columns[1][y][j] += d;
  columns[2][y][j] = fmaf(d, d, columns[2][y][j]);
}

template <int T>
HG_DEVICE void forward(room<T> &shared, float *dst, const float *x, const float *w, const hg_conv &o, const epilogue &e) {
  i64 rows = o.pixels(), taps = (i64)o.r * o.s * o.in_group(), across = (o.filters() + T - 1) / T, at = blockIdx.x;
  i64 down = (rows + T - 1) / T, j = at % across, i = at / across % down;
  int g = (int)(at / across / down), first = g * o.filters();
  hg_patches<float, T / 16> a = {x + g * o.in_group(), o, rows, taps};
  hg_matrix<float, T / 16> b = {w + first * taps, o.filters(), taps, 1, taps};
  hg_gemm<T, true, true>(shared.tiles, a, b, i * T, j * T, 0, taps, [&](i64 m, i64 n, const float(&v)[4]) {
    if (m >= rows) return;
    for (int q = 0; q < 4 && n + q < o.filters(); q++) {
      i64 k = first + n + q;
      float u = v[q];
      if (e.bias) u += e.bias[k];
      if (e.residual) u += e.residual[m * o.k + k];
      u = e.relu && u < 0.f ? 0.f : u;
      dst[m * o.k + k] = u;
      int y = (int)threadIdx.x / 16;
      if (e.parts) keep<T>(shared.columns, y, (int)(n - j * T) + q, u, m - i * T == 4 * y);
    }
  });
  if (!e.parts) return;
  __syncthreads();
  int column = (int)threadIdx.x;
  if (column >= T || j * T + column >= o.filters()) return;
  hg_moments all;
  all.begin(shared.columns[0][0][column]);
  for (int y = 0; y < 16; y++) {
    int n = 0;
    for (int lines = 4 * y; lines < T; lines += 64) n += (int)hg_most((i64)0, hg_least((i64)4, rows - i * T - lines));
    if (n) all.add(n, shared.columns[0][y][column], shared.columns[1][y][column], shared.columns[2][y][column]);
  }
  all.put(e.parts, i, o.k, first + j * T + column, hg_least((i64)T, rows - i * T));
}

template <int T>
HG_DEVICE void gradx(room<T> &shared, float *dx, const float *dy, const float *w, const hg_conv &o, const grad_epilogue &e) {
  i64 rows = (i64)o.n * o.h * o.w, taps = (i64)o.r * o.s * o.filters(), across = (o.in_group() + T - 1) / T, at = blockIdx.x;
  i64 down = (rows + T - 1) / T, j = at % across, i = at / across % down;
  int g = (int)(at / across / down), first = g * o.in_group();
  hg_sources<float, T / 16> a = {dy + g * o.filters(), o, rows, taps};
  hg_turned<float, T / 16> b = {w + (i64)g * o.filters() * e.phase.taps * o.in_group(), o, e.phase, taps};
  hg_gemm<T, true, false>(shared.tiles, a, b, i * T, j * T, 0, taps, [&](i64 m, i64 n, const float(&v)[4]) {
    int y = (int)threadIdx.x / 16, column = (int)(n - j * T);
    bool begins = m - i * T == 4 * y; // a thread's first row
    for (int q = 0; q < 4; q++) {
      float u = 0.f, along = 0.f;
      if (m < rows && n + q < o.in_group()) {
        i64 p = e.phase.pixel(o, m) * o.c + first + n + q;
        u = e.add ? v[q] + e.add[p] : v[q];
        if (e.mask && !(e.mask[p] > 0.f)) u = 0.f;
        dx[p] = u;
        if (e.x) along = u * (e.x[p] - e.mean[first + n + q]);
      }
      if (!e.parts) continue;
      float &sum = shared.columns[0][y][column + q], &turned = shared.columns[1][y][column + q];
      sum = begins ? u : sum + u;
      turned = begins ? along : turned + along;
    }
  });
  if (!e.parts) return;
  __syncthreads();
  int column = (int)threadIdx.x;
  if (column >= T || j * T + column >= o.in_group()) return;
  double sum = 0, along = 0;
  for (int y = 0; y < 16; y++) sum += shared.columns[0][y][column], along += shared.columns[1][y][column];
  i64 k = first + j * T + column, part = e.x ? 2 * i : i;
  e.parts[part * o.c + k] = sum;
  if (e.x) e.parts[(part + 1) * o.c + k] = along;
}

template <int T> HG_DEVICE void gradw(hg_tiles<T> &tiles, float *parts, const float *dy, const float *x, const hg_conv &o, i64 range) {
  i64 taps = (i64)o.r * o.s * o.in_group(), across = (taps + T - 1) / T, down = (o.filters() + T - 1) / T, at = blockIdx.x;
  i64 j = at % across, i = at / across % down, z = at / across / down, split = z / o.groups;
  int g = (int)(z % o.groups);
  i64 k0 = split * range, k1 = hg_least(o.pixels(), k0 + range);
  hg_matrix<float, T / 16> a = {dy + g * o.filters(), o.filters(), 1, o.k, k1};
  hg_columns_of_patches<float> b = {x + g * o.in_group(), o, taps, k1};
  float *part = parts + (split * o.groups + g) * o.filters() * taps;
  hg_gemm<T, false, false>(tiles, a, b, i * T, j * T, k0, k1, [&](i64 m, i64 n, const float(&v)[4]) {
    if (m >= o.filters()) return;
    for (int q = 0; q < 4 && n + q < taps; q++) part[m * taps + n + q] = v[q];
  });
}

#define CONV(T, GRADX)                                                                                            \
  HG_KERNEL(256, conv_##T, float *dst, const float *x, const float *w, hg_conv o, epilogue e) {                   \
    HG_SHARED(room<T>, shared, [1]);                                                                              \
    forward<T>(shared[0], dst, x, w, o, e);                                                                       \
  }                                                                                                               \
  GRADX(256, conv_gradx_##T, float *dx, const float *dy, const float *w, hg_conv o, grad_epilogue e) {            \
    HG_SHARED(room<T>, shared, [1]);                                                                              \
    gradx<T>(shared[0], dx, dy, w, o, e);                                                                          \
  }                                                                                                               \
  HG_KERNEL(256, conv_gradw_##T, float *parts, const float *dy, const float *x, hg_conv o, i64 range) {           \
    HG_SHARED(hg_tiles<T>, tiles, [1]);                                                                           \
    gradw<T>(tiles[0], parts, dy, x, o, range);                                                                   \
  }
CONV(64, HG_KERNEL_TWICE)
CONV(128, HG_KERNEL)

HG_KERNEL(256, conv_join, float *dw, float acc, const float *parts, i64 splits, i64 n) {
  for (i64 i = hg_index(); i < n; i += hg_stride()) {
    double sum = 0;
    for (i64 s = 0; s < splits; s++) sum += parts[s * n + i];
    dw[i] = (float)(acc != 0.f ? (double)acc * dw[i] + sum : sum);
  }
}
