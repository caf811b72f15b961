// layernormheld: LayerNorm with γ and β, and its gradient, in BF16 for rows that lanes of a warp hold. Each array is
// read from memory once. lanes = 1 << shift lanes have a row of 8·P·lanes elements: run p of a lane is the eight from
// 8·(p·lanes + side) on. Other rows are those of layernorm.cu, which has the formulas.
//
// A result is that of layernorm.cu: computed in double, rounded to float and then to BF16. Here it is computed in float
// with a bound of its error. Rounding is monotone: where both ends of the interval round to one number of BF16, the
// result in double rounds to it, too. They do for all but one result in some thousands, which are computed in double.
#include "typed.h"

// heldwords are eight results, two to a word, and which words are in doubt.
struct heldwords {
  u32 word[4], doubt;

  HG_METHOD explicit heldwords(bool usual) : doubt(usual ? 0 : 15) {}
  // put sets a word from the ends of the intervals of its results.
  HG_METHOD void put(int i, const float (&low)[2], const float (&high)[2]) {
    word[i] = hg_pair(low[0], low[1]);
    if (word[i] != hg_pair(high[0], high[1])) doubt |= 1u << i;
  }
  // settle computes the words in doubt by exact(column). The first result is that of column c.
  template <class F> HG_METHOD void settle(int c, F exact) {
    while (doubt) {
      int at = __ffs(doubt) - 1;
      u32 pair = hg_pair(exact(c + 2 * at), exact(c + 2 * at + 1));
#pragma unroll
      for (int i = 0; i < 4; i++) word[i] = i == at ? pair : word[i];
      doubt &= doubt - 1;
    }
  }
  HG_METHOD f4 all() const {
    return {__uint_as_float(word[0]), __uint_as_float(word[1]), __uint_as_float(word[2]), __uint_as_float(word[3])};
  }
};

// held_sum is the sum over the lanes of a row, NaN if it is infinite.
HG_DEVICE double held_sum(double v, int lanes) {
  for (int d = lanes >> 1; d > 0; d >>= 1) v += __shfl_xor_sync(HG_FULL, v, d);
  return v + (v - v);
}

// The interval of y = fl(t·γ + β), t = fl(d·r), d = fl(fl(x − mean) − rest), with u = 2^-24: the error of d is below
// u(2|d| + |rest|), so that of t is below u(4|t| + |rest|·r), and y adds u|y|. With q > |rest|·r/4 that is less than
// 4u·E, where E = (|t| + q)|γ| + |y|. The ends' own rounding adds u·E. The constants make 6u·E more than what is lost
// below 2^-126. Where y is infinite, so is E, and the ends differ.
template <int P>
HG_DEVICE void held_normalise(bf16 *dst, i64 ldd, float *stats, const bf16 *x, i64 ldx, const float *gamma,
                              const float *beta, i64 rows, int shift, double inverse, float eps) {
  int lanes = 1 << shift, side = hg_lane() & (lanes - 1);
  i64 first = ((i64)blockIdx.x * 8 + hg_warp()) << (5 - shift), row = first + (hg_lane() >> shift);
  if (first >= rows) return;
  bool has = row < rows;
  if (!has) row = rows - 1;
  x += row * ldx;
  float d[P][8], n = (float)(8 * P * lanes);
#pragma unroll
  for (int p = 0; p < P; p++) hg_take<8>(x + (p * lanes + side) * 8, d[p]);
  double sum = 0, spread = 0;
#pragma unroll
  for (int p = 0; p < P; p++)
#pragma unroll
    for (int e = 0; e < 8; e++) sum += d[p][e];
  sum = held_sum(sum, lanes);
  float total = (float)sum, lost = (float)(sum - total);
  float mean = (total + lost) / n, rest = (fmaf(-mean, n, total) + lost) / n;
#pragma unroll
  for (int p = 0; p < P; p++)
#pragma unroll
    for (int e = 0; e < 8; e++) {
      d[p][e] = (d[p][e] - mean) - rest;
      spread = fma((double)d[p][e], (double)d[p][e], spread);
    }
  spread = held_sum(spread, lanes);
  double center = (double)mean + rest, r = 1. / sqrt(spread * inverse + (double)eps);
  if (side == 0 && has) stats[2 * row] = mean, stats[2 * row + 1] = (float)r;
  // No number of the row is so large or so small that a product in float leaves its range.
  bool usual = spread < 0x1p120 && r > 0x1p-60 && r < 0x1p60;
  float scale = (float)r, q = fmaf(0.26f * fabsf(rest), scale, 0x1p-100f);
  if (!has) return;
#pragma unroll
  for (int p = 0; p < P; p++) {
    float g[8], b[8];
    int c = (p * lanes + side) * 8;
    hg_take<8>(gamma + c, g);
    hg_take<8>(beta + c, b);
    heldwords out(usual);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      float low[2], high[2];
#pragma unroll
      for (int k = 0; k < 2; k++) {
        int e = 2 * i + k;
        float t = d[p][e] * scale, y = fmaf(t, g[e], b[e]);
        float error = fmaf(fabsf(t) + q, fabsf(g[e]), fabsf(y) + 0x1p-120f);
        low[k] = fmaf(-6 * 0x1p-24f, error, y), high[k] = fmaf(6 * 0x1p-24f, error, y);
      }
      out.put(i, low, high);
    }
    out.settle(c, [=](int c) { return (float)(((float)x[c] - center) * r * gamma[c] + beta[c]); });
    *(f4 *)(dst + row * ldd + c) = out.all();
  }
}

// A warp has 32/lanes rows. inverse is one over the width.
#define HG_HELD(P)                                                                                                   \
  HG_KERNEL_THRICE(256, layernorm_held_##P##_bf16, bf16 *dst, i64 ldd, float *stats, const bf16 *x, i64 ldx,         \
                   const float *gamma, const float *beta, i64 rows, int shift, double inverse, float eps) {          \
    held_normalise<P>(dst, ldd, stats, x, ldx, gamma, beta, rows, shift, inverse, eps);                              \
  }
HG_HELD(3)
HG_HELD(4)

// held_put adds up the column sums of a block's lanes and writes them to its parts. Warps add theirs in turn. The pitch
// of room keeps the lanes of a run, and the elements of one, in banks of their own.
template <int P>
HG_DEVICE void held_put(double *parts, double (&along)[P][8], double (&plain)[P][8], int shift, double *room) {
  int lanes = 1 << shift, side = hg_lane() & (lanes - 1), pitch = lanes + 1, width = 8 * P * lanes;
  for (int d = lanes; d < 32; d <<= 1) // lanes of other rows
#pragma unroll
    for (int p = 0; p < P; p++)
#pragma unroll
      for (int e = 0; e < 8; e++) {
        along[p][e] += __shfl_xor_sync(HG_FULL, along[p][e], d);
        plain[p][e] += __shfl_xor_sync(HG_FULL, plain[p][e], d);
      }
  double *other = room + 8 * P * pitch;
  for (int warp = 0; warp < 4; warp++) {
    if (hg_warp() == warp && hg_lane() < lanes)
#pragma unroll
      for (int p = 0; p < P; p++)
#pragma unroll
        for (int e = 0; e < 8; e++) {
          int at = (p * 8 + e) * pitch + side;
          room[at] = warp == 0 ? along[p][e] : room[at] + along[p][e];
          other[at] = warp == 0 ? plain[p][e] : other[at] + plain[p][e];
        }
    __syncthreads();
  }
  parts += 2 * (i64)blockIdx.x * width;
  for (int c = (int)threadIdx.x; c < width; c += 128) {
    int at = ((c >> (3 + shift)) * 8 + (c & 7)) * pitch + (c >> 3 & (lanes - 1));
    parts[c] = room[at], parts[width + c] = other[at];
  }
}

// held_onto reads the eight elements that results are added to. Where keep is 0, and not all ones, they are -0 instead,
// which changes no sum: reading under a condition would be one access for each word.
HG_DEVICE void held_onto(const bf16 *from, u32 keep, float (&v)[8]) {
  f4 raw = *(const f4 *)from;
  auto word = [=](float w) { return __uint_as_float((__float_as_uint(w) & keep) | (0x80008000u & ~keep)); };
  hg_unpack({word(raw.x), word(raw.y), word(raw.z), word(raw.w)}, v);
}

// held_back is the gradient for `each` rows, added to dx if keep is all ones, and not 0. Their column sums are
// parts[2·block] of dy·x̂ and the next of dy.
//
// The interval of y = fl(r·w), w = fl(a − x̂A), a = fl(g − S), where S and A are the means of g = γ·dy and of g·x̂: the
// errors of g, S and a are below u(2|a| + 2|S|), that of x̂A is below 3u|x̂A|, and w adds u(|a| + |x̂A|). That is less
// than 4u·E, where E = |a| + |x̂A| + |S|. y and the ends add u·r·E each. The constant of `base` makes 7u·r·E more than
// what is lost below 2^-126. Where w or y is infinite, so is 2^24·r·E, and the ends differ. Both ends are added to
// dx, with rounding, as the result is.
template <int P>
HG_DEVICE void held_back(double *parts, bf16 *dx, i64 ldd, const bf16 *dy, i64 lddy, const bf16 *x, i64 ldx,
                         const float *gamma, const float *stats, i64 rows, int shift,
                         double inverse, int each, u32 keep, double *room) {
  int lanes = 1 << shift, side = hg_lane() & (lanes - 1), abreast = 32 >> shift;
  i64 end = hg_least(rows, (blockIdx.x + (i64)1) * each);
  double along_columns[P][8] = {}, columns[P][8] = {};
  for (i64 first = (i64)blockIdx.x * each + hg_warp() * abreast; first < end; first += 4 * abreast) {
    i64 row = first + (hg_lane() >> shift);
    bool has = row < end;
    const bf16 *fromD = dy + row * lddy, *fromX = x + row * ldx;
    bf16 *to = dx + row * ldd;
    float mean = 0.f, r = 0.f;
    double sum = 0, along = 0;
    if (has) {
      mean = stats[2 * row], r = stats[2 * row + 1];
#pragma unroll
      for (int p = 0; p < P; p++) {
        float d[8], v[8], g[8];
        int c = (p * lanes + side) * 8;
        hg_take<8>(fromD + c, d);
        hg_take<8>(fromX + c, v);
        hg_take<8>(gamma + c, g);
#pragma unroll
        for (int e = 0; e < 8; e++) {
          double normal = (v[e] - mean) * r, slope = d[e], scaled = d[e] * g[e];
          sum += scaled;
          along = fma(scaled, normal, along);
          columns[p][e] += slope;
          along_columns[p][e] = fma(slope, normal, along_columns[p][e]);
        }
      }
    }
    __syncwarp(); // what follows reads again, from the L1 cache: registers would not hold it all
    double of_sum = held_sum(sum, lanes) * inverse, of_along = held_sum(along, lanes) * inverse;
    bool usual = fabs(of_sum) < 0x1p40 && fabs(of_along) < 0x1p40 && r > 0x1p-20f && r < 0x1p60f;
    float mine = (float)of_sum, share = (float)of_along, up = r * 0x1p24f, steep = fabsf(share) * up;
    float base = of_sum == 0 && of_along == 0 ? 0.f : (fabsf(mine) + fmaf(fabsf(share), 0x1p-64f, 0x1p-64f)) * up;
    if (!has) continue;
#pragma unroll
    for (int p = 0; p < P; p++) {
      float d[8], v[8], g[8], o[8];
      int c = (p * lanes + side) * 8;
      hg_take<8>(fromD + c, d);
      hg_take<8>(fromX + c, v);
      hg_take<8>(gamma + c, g);
      held_onto((keep ? to : fromD) + c, keep, o);
      heldwords out(usual);
#pragma unroll
      for (int i = 0; i < 4; i++) {
        float low[2], high[2];
#pragma unroll
        for (int k = 0; k < 2; k++) {
          int e = 2 * i + k;
          float normal = (v[e] - mean) * r, a = d[e] * g[e] - mine, y = r * fmaf(-normal, share, a);
          float error = fmaf(fabsf(normal), steep, fmaf(fabsf(a), up, base));
          low[k] = fmaf(-7 * 0x1p-48f, error, y) + o[e], high[k] = fmaf(7 * 0x1p-48f, error, y) + o[e];
        }
        out.put(i, low, high);
      }
      out.settle(c, [=](int c) {
        double g = (double)(float)fromD[c] * gamma[c], normal = ((double)(float)fromX[c] - (double)mean) * (double)r;
        float u = (float)((double)r * (g - of_sum - normal * of_along));
        return keep ? u + (float)to[c] : u;
      });
      *(f4 *)(to + c) = out.all();
    }
  }
  held_put<P>(parts, along_columns, columns, shift, room);
}

#define HG_HELD_GRAD(TIMES, P)                                                                                       \
  HG_KERNEL_##TIMES(128, layernorm_grad_held_##P##_bf16, double *parts, bf16 *dx, i64 ldd, const bf16 *dy, i64 lddy, \
                    const bf16 *x, i64 ldx, const float *gamma, const float *stats, i64 rows, int shift,             \
                    double inverse, int each, u32 keep) {                                                            \
    HG_SHARED(double, room, [2 * 8 * P * 33]);                                                                       \
    held_back<P>(parts, dx, ldd, dy, lddy, x, ldx, gamma, stats, rows, shift, inverse, each, keep, room);            \
  }
HG_HELD_GRAD(THRICE, 3)
HG_HELD_GRAD(TWICE, 4)
