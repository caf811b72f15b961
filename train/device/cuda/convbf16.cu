// conv of BF16 images and filters on tensor cores, and its gradients: the products of
// conv.cu by product.h. conv_gradw writes the sums of ranges of pixels in F32 to parts
// [splits][k·r·s·c/groups], which conv_join of conv.cu adds in order. conv and conv_gradx have the
// epilogues of conv.cu, where add is the residual of conv_gradx's result. A thread adds up at most
// 64 elements of a column in F32.
// Reference: ../reference/conv.go, ../cpu/convgradx.go, ../cpu/convgradw.go
#include "moments.h"
#include "product.h"

// of_group moves the result to the columns from first on.
HG_DEVICE hg_result of_group(hg_result to, i64 first) {
  to.c = to.f32 ? (void *)((float *)to.c + first) : (void *)((bf16 *)to.c + first);
  if (to.bias) to.bias += first;
  if (to.residual) to.residual += first;
  return to;
}

// lay puts what a thread has of its eight columns where finish finds it: [256/(T/8)][T].
template <int T> HG_DEVICE void lay(float *all, const float (&v)[8]) {
  constexpr int ACROSS = T / 8;
  static_assert(2 * 256 / ACROSS * T * sizeof(float) <= HG_STAGES * sizeof(hg_stage<T>), "two fit");
#pragma unroll
  for (int q = 0; q < 8; q++) all[threadIdx.x / ACROSS * T + threadIdx.x % ACROSS * 8 + q] = v[q];
}

struct tensor_conv {
  hg_result to; // of all groups; columns are those of one
  const bf16 *a, *b;
  hg_conv shape;
  i64 range;           // pixels of a split of conv_gradw
  int unit_a, unit_b;  // elements that lie side by side
  const bf16 *mask, *x; // of conv_gradx
  const float *mean;
  double *parts;
  hg_phase phase; // of conv_gradx
};

// grad_end puts zeros where mask is not positive and adds up the columns of what is stored.
struct grad_end {
  const tensor_conv &p;
  const bf16 *mask, *x; // laid out as the result, or null
  const float *mean;    // of the group's columns, with x
  double *parts;        // [tiles][ld] of the group's columns, with x [tiles][2][ld], or null
  i64 ld;
  float sums[8], along[8], center[8]; // of the thread's columns; center is mean

  struct others {
    f4 mask, x;
  };
  HG_METHOD i64 row(i64 m) const { return p.phase.pixel(p.shape, m); }
  HG_METHOD void begin(i64 n, i64 cols) { hg_vector(center, mean, n, cols); }
  HG_METHOD others bring(i64 at) const {
    others o = {};
    if (mask) o.mask = *(const f4 *)(mask + at);
    if (x) o.x = *(const f4 *)(x + at);
    return o;
  }

  HG_METHOD void eight(float (&v)[8], const others &o) {
    float y[8], z[8];
    if (mask) {
      hg_unpack(o.mask, y);
#pragma unroll
      for (int q = 0; q < 8; q++) v[q] = y[q] > 0.f ? v[q] : 0.f;
    }
    if (!parts) return;
    hg_unpack(o.x, z);
    hg_as_stored<8, bf16>(v);
#pragma unroll
    for (int q = 0; q < 8; q++) {
      sums[q] += v[q];
      if (x) along[q] = fmaf(v[q], z[q] - center[q], along[q]);
    }
  }

  HG_METHOD float one(float v, i64 at, int column) {
    if (mask && !((float)mask[at] > 0.f)) v = 0.f;
    if (!parts) return v;
    float u = hg_widen_bf16(hg_round_bf16(v));
#pragma unroll
    for (int q = 0; q < 8; q++) { // registers have no index
      if (q != column) continue;
      sums[q] += u;
      if (x) along[q] = fmaf(u, (float)x[at] - center[q], along[q]);
    }
    return v;
  }

  HG_METHOD bool reads_tile() const { return false; }

  // finish adds up the sums of the threads that have the same columns.
  template <int T> HG_METHOD void finish(float *room, i64 m0, i64 n0, const hg_result &to) {
    if (!parts) return;
    constexpr int DOWN = 256 / (T / 8), EACH = DOWN * T;
    __syncthreads();
    lay<T>(room, sums);
    lay<T>(room + EACH, along);
    __syncthreads();
    i64 column = n0 + threadIdx.x, part = x ? 2 * (m0 / T) : m0 / T;
    if ((int)threadIdx.x >= T || column >= to.cols) return;
    double sum = 0, other = 0;
    for (int y = 0; y < DOWN; y++) sum += room[y * T + threadIdx.x], other += room[EACH + y * T + threadIdx.x];
    parts[part * ld + column] = sum;
    if (x) parts[(part + 1) * ld + column] = other;
  }
};

// moments_end leaves the result as it is and takes the moments of the columns of what is stored.
struct moments_end : hg_no_end {
  const tensor_conv &p; // read again at the end, since a kept value costs the product a register

  HG_METHOD explicit moments_end(const tensor_conv &of) : p(of) {}
  HG_METHOD bool reads_tile() const { return p.parts != nullptr; }

  // finish reads the tile, which is still in shared memory. 256/T threads have a column.
  template <int T> HG_METHOD void finish(float *tile, i64 m0, i64 n0, const hg_result &to) {
    if (!p.parts) return;
    constexpr int GROUPS = 256 / T;
    static_assert((T * (T + 8) + 3 * 256) * sizeof(float) <= HG_STAGES * sizeof(hg_stage<T>), "both fit");
    float *all = tile + T * (T + 8), origin = 0.f, sum = 0.f, squares = 0.f;
    int q = (int)threadIdx.x % T, y = (int)threadIdx.x / T, rows = (int)hg_least((i64)T, to.rows - m0);
    bool inside = n0 + q < to.cols;
    __syncthreads();
#pragma unroll 1
    for (int r = y; r < rows && inside; r += GROUPS) {
      float u = hg_widen_bf16(hg_round_bf16(tile[r * (T + 8) + q])), d = r == y ? 0.f : u - origin;
      if (r == y) origin = u;
      sum += d;
      squares = fmaf(d, d, squares);
    }
    all[threadIdx.x] = origin, all[256 + threadIdx.x] = sum, all[512 + threadIdx.x] = squares;
    __syncthreads();
    if (y != 0 || !inside) return;
    hg_moments joined;
    joined.begin(origin);
    for (int g = 0; g < GROUPS && g < rows; g++)
      joined.add((rows - g + GROUPS - 1) / GROUPS, all[g * T + q], all[256 + g * T + q], all[512 + g * T + q]);
    i64 first = (const bf16 *)to.c - (const bf16 *)p.to.c; // column of the group
    joined.put(p.parts, m0 / T, p.shape.k, first + n0 + q, rows);
  }
};

template <class P> HG_DEVICE void forward(const tensor_conv &p) {
  const hg_conv &o = p.shape;
  i64 taps = (i64)o.r * o.s * o.in_group();
  u32 across = (o.filters() + P::COLS - 1) / P::COLS, down = (u32)((o.pixels() + P::ROWS - 1) / P::ROWS);
  u32 at = blockIdx.x / across, j = blockIdx.x - at * across, g = at / down, i = at - g * down, first = g * o.filters();
  hg_patches<bf16, P::OF_A> a = {p.a + g * o.in_group(), o, o.pixels(), taps};
  hg_matrix<bf16, P::OF_B> b = {p.b + first * taps, o.filters(), taps, 1, taps};
  P::template product<true, true>(a, b, p.unit_a, p.unit_b, (i64)i * P::ROWS, (i64)j * P::COLS, 0, taps, of_group(p.to, first),
                            moments_end(p));
}

template <class P> HG_DEVICE void gradx(const tensor_conv &p) {
  const hg_conv &o = p.shape;
  i64 rows = p.to.rows, taps = (i64)o.r * o.s * o.filters(), across = (o.in_group() + P::COLS - 1) / P::COLS, at = blockIdx.x;
  i64 down = (rows + P::ROWS - 1) / P::ROWS, j = at % across, i = at / across % down;
  int g = (int)(at / across / down), first = g * o.in_group();
  hg_sources<bf16, P::OF_A> a = {p.a + g * o.filters(), o, rows, taps};
  hg_turned<bf16, P::OF_B> b = {p.b + (i64)g * o.filters() * p.phase.taps * o.in_group(), o, p.phase, taps};
  P::template product<true, false>(a, b, p.unit_a, p.unit_b, i * P::ROWS, j * P::COLS, 0, taps, of_group(p.to, first),
                             grad_end{p, p.mask ? p.mask + first : nullptr, p.x ? p.x + first : nullptr,
                                      p.mean ? p.mean + first : nullptr, p.parts ? p.parts + first : nullptr, o.c,
                                      {}, {}, {}});
}

template <class P> HG_DEVICE void gradw(const tensor_conv &p) {
  const hg_conv &o = p.shape;
  i64 taps = (i64)o.r * o.s * o.in_group(), across = (taps + P::COLS - 1) / P::COLS;
  i64 down = (o.filters() + P::ROWS - 1) / P::ROWS;
  i64 at = blockIdx.x, j = at % across, i = at / across % down, z = at / across / down, split = z / o.groups;
  int g = (int)(z % o.groups);
  i64 k0 = split * p.range, k1 = hg_least(o.pixels(), k0 + p.range);
  hg_matrix<bf16, P::OF_A> a = {p.a + g * o.filters(), o.filters(), 1, o.k, k1};
  hg_columns_of_patches<bf16> b = {p.b + g * o.in_group(), o, taps, k1};
  hg_result to = p.to;
  to.c = (float *)to.c + (split * o.groups + g) * o.filters() * taps;
  P::template product<false, false>(a, b, p.unit_a, p.unit_b, i * P::ROWS, j * P::COLS, k0, k1, to);
}

#define CONV(T)                                                            \
  HG_KERNEL_TWICE(256, conv_##T##_bf16, tensor_conv p) { forward<hg_product<T>>(p); }        \
  HG_KERNEL_TWICE(256, conv_gradx_##T##_bf16, tensor_conv p) { gradx<hg_product<T>>(p); }    \
  HG_KERNEL_TWICE(256, conv_gradw_##T##_bf16, tensor_conv p) { gradw<hg_product<T>>(p); }
CONV(64)
CONV(128)
