// ranksorted: rankloss.cu for queries with more than few positives. The row is sorted by level and, within
// a level, by falling score (rank_levels and rank_gather around passes of sort.cu), and each sum over the
// items of a level is that of a prefix or suffix of its scores x_0 ≥ x_1 ≥ …:
//
//   Σ w_i (ρ·t + c)        from prefix sums of w_i and w_i·x_i
//   Σ w_i σ(−|x_i − y|/τ)  from F_n = Σ w_i e^(−n·|x_i − e|/τ), e being the score next to y: with z = e^(−|e − y|/τ)
//                          it is Σ_n c_n F_n z^n, and its slope has other coefficients c_n (see rank_series)
//
// F_n is kept at every eighth item, from above and from below, in float64; what lies between is added up
// pair by pair. F_n of two neighbouring ranges is F·e^(−n·distance/τ) + G, which is associative, so that the
// threads of a block share a level (rank_carry). Forward the sources are items and the targets
// positives, backward the other way round, with weights u or v.
// A query costs O(G log G) time, and 28 bytes of states and 24 others for each item.
// Reference: ../cpu/ranklossrow.go, ../cpu/ranklosssums.go, ../cpu/ranklosstails.go
#include "step.h"

enum { RANK_RANGE = 8, RANK_STATE = 14, RANK_TERMS = 12 };

// SortedRows are the queries of a launch, of which those with more than few positives are sorted. x [Q,G] has
// the scores and rows [Q,G] the columns in sorted order, cnt [Q,L+1] the items of each level.
struct SortedRows {
  const float *x;
  const int *rows, *cnt, *number;
  double *states;
  i64 items, ldc;
  int top, few;
};

// SortedLevel is a level of a query's row: its scores, and the states from above and from below.
struct SortedLevel {
  const float *x;
  double *above, *below;
  int first, n;
};

// RankStates: a level that begins at item first has states from first/8 + level on, n/8 + 1 of them. State
// s from above is that of the items before 8s, seen from item 8s − 1; from below, that of the
// items from 8s on, seen from item 8s. Element 12 of a state is Σ w and element 13 Σ w·x.
HG_DEVICE i64 rank_states(const SortedRows &o) { return o.items / RANK_RANGE + o.top + 2; }

HG_DEVICE SortedLevel sorted_level(const SortedRows &o, i64 q, int level, int first) {
  i64 at = (2 * q * rank_states(o) + first / RANK_RANGE + level) * RANK_STATE;
  return {o.x + q * o.items + first, o.states + at, o.states + at + rank_states(o) * RANK_STATE, first,
          o.cnt[q * o.ldc + level]};
}

// ---- the sort by level

// rank_levels: keys[q,p] = level of the p-th item by score, 255 for one that does not exist.
HG_KERNEL(256, rank_levels, u32 *keys, const int *rows, const int *number, const u8 *sh, i64 items, i64 ldsh, int top,
          int few) {
  i64 tiles = (items + 255) / 256, q = blockIdx.x / tiles, p = (blockIdx.x - q * tiles) * 256 + threadIdx.x;
  if (p >= items || number[q] <= few) return;
  int level = sh[q * ldsh + rows[q * items + p]];
  keys[q * items + p] = level <= top ? (u32)level : 255u;
}

// rank_gather: x[q,p] = score of the p-th item; of items that do not exist it is 0.
HG_KERNEL(256, rank_gather, float *x, const int *rows, const u32 *keys, const int *number, const float *s, i64 items,
          i64 lds, int few) {
  i64 tiles = (items + 255) / 256, q = blockIdx.x / tiles, p = (blockIdx.x - q * tiles) * 256 + threadIdx.x;
  if (p >= items || number[q] <= few) return;
  i64 at = q * items + p;
  x[at] = keys[at] == 255u ? 0.f : s[q * lds + rows[at]];
}

// ---- states

// Carry are the elements of a state, and the score from which they are seen.
struct Carry {
  double f[RANK_STATE];
  float score;
};

// exp_near is e^−x for x ≥ 0, within 6e-15 by a short series where neighbours lie close.
HG_DEVICE double exp_near(double x) {
  if (x > 0.0625) return hg_exp(-x);
  double p = fma(x, -1. / 7, 1.);
  p = fma(x * p, -1. / 6, 1.);
  p = fma(x * p, -1. / 5, 1.);
  p = fma(x * p, -1. / 4, 1.);
  p = fma(x * p, -1. / 3, 1.);
  p = fma(x * p, -1. / 2, 1.);
  return fma(-x, p, 1.);
}

// carry_on is c seen from another score, with the elements of add.
HG_DEVICE void carry_on(Carry *c, float score, const double (&add)[RANK_STATE], double scale) {
  double y = exp_near(fabs((double)c->score - (double)score) * scale), y2 = y * y, y3 = y2 * y, y4 = y2 * y2;
  double y8 = y4 * y4;
  double decay[RANK_TERMS] = {y, y2, y3, y4, y4 * y, y4 * y2, y4 * y3, y8, y8 * y, y8 * y2, y8 * y3, y8 * y4};
#pragma unroll
  for (int n = 0; n < RANK_TERMS; n++) c->f[n] = fma(c->f[n], decay[n], add[n]);
  c->f[12] += add[12];
  c->f[13] += add[13];
  c->score = score;
}

// carry_item is carry_on to an item of weight w.
HG_DEVICE void carry_item(Carry *c, float score, double w, double scale) {
  double add[RANK_STATE];
#pragma unroll
  for (int n = 0; n < RANK_TERMS; n++) add[n] = w;
  add[12] = w;
  add[13] = w * (double)score;
  carry_on(c, score, add, scale);
}

HG_DEVICE Carry carry_none() {
  Carry c;
#pragma unroll
  for (int n = 0; n < RANK_STATE; n++) c.f[n] = 0.;
  c.score = 0.f;
  return c;
}

HG_DEVICE Carry carry_up(const Carry &from, int d) {
  Carry c;
#pragma unroll
  for (int n = 0; n < RANK_STATE; n++) c.f[n] = __shfl_up_sync(HG_FULL, from.f[n], d);
  c.score = __shfl_up_sync(HG_FULL, from.score, d);
  return c;
}

// rank_carry: a block takes a level of a query, from above or from below, and writes its states. A thread walks
// over neighbouring ranges, the sums go over to the threads behind, and from what comes before it a thread
// walks again. weights [Q,G] are those of positives; without them, all are 1.
HG_KERNEL(256, rank_carry, SortedRows o, const float *weights, float scale) {
  HG_SHARED(Carry, room, [8]);
  int lowest = weights ? 1 : 0, lane = hg_lane(), first = 0;
  u32 sides = 2 * (u32)(o.top + 1 - lowest), q = blockIdx.x / sides, at = blockIdx.x - q * sides;
  bool above = at % 2 == 0;
  if (o.number[q] <= o.few) return;
  int level = lowest + (int)(at >> 1);
  for (int i = 0; i < level; i++) first += o.cnt[q * o.ldc + i];
  SortedLevel l = sorted_level(o, q, level, first);
  const float *w = weights ? weights + q * o.items + first - o.cnt[q * o.ldc] : nullptr;
  int ranges = above ? l.n / RANK_RANGE : (l.n + RANK_RANGE - 1) / RANK_RANGE, each = (ranges + 255) / 256;
  int from = threadIdx.x * each, to = hg_least(ranges, from + each);
  Carry own = carry_none();
  if (from < to) own.score = l.x[above ? from * RANK_RANGE : hg_least(l.n, (ranges - from) * RANK_RANGE) - 1];
  for (int pass = 0; pass < 2; pass++) {
    for (int j = from; j < to; j++) {
      int r = above ? j : ranges - 1 - j, begin = r * RANK_RANGE, end = hg_least(l.n, begin + RANK_RANGE);
      for (int n = 0; n < end - begin; n++) {
        int i = above ? begin + n : end - 1 - n;
        carry_item(&own, l.x[i], w ? (double)w[i] : 1., (double)scale);
      }
      if (pass == 0) continue;
      double *state = above ? l.above + (r + 1) * RANK_STATE : l.below + r * RANK_STATE;
#pragma unroll
      for (int n = 0; n < RANK_STATE; n++) state[n] = own.f[n];
    }
    if (pass == 1) return;
    for (int d = 1; d < 32; d <<= 1) {
      Carry before = carry_up(own, d);
      if (lane < d || from >= to) continue;
      carry_on(&before, own.score, own.f, (double)scale);
      own = before;
    }
    if (lane == 31) room[hg_warp()] = own;
    own = carry_up(own, 1);
    __syncthreads();
    Carry all = carry_none();
    for (int i = 0; i < hg_warp(); i++) {
      if (i == 0) all = room[0];
      else carry_on(&all, room[i].score, room[i].f, (double)scale);
    }
    if (lane == 0) own = all;
    else if (hg_warp() > 0) {
      carry_on(&all, own.score, own.f, (double)scale);
      own = all;
    }
    if (threadIdx.x == 0 && from < to) own.score = l.x[above ? 0 : l.n - 1];
  }
}

// ---- sums at a target y

// Tails is a sum of σ(−|t|/τ) and of its slope times τ.
struct Tails {
  double value, slope;
};

// rank_series is Σ_n c_n F_n z^n with the coefficients of σ and of its slope: with y = e^−x
//
//   σ(−x) = y/(1+y) = Σ_n c_n y^n within 7e-10,  σ′(x) = y/(1+y)² within 6e-9 (of at most 1/4)
//
// on all of [0, ∞). They are those of ../cpu/ranklosstails.go.
HG_DEVICE void rank_series(Tails *to, const double *state, float distance, float scale) {
  double z = hg_exp(-(distance * scale)), power = z, value = 0., slope = 0.;
#define RANK_TERM(n, c, d)           \
  {                                  \
    double p = state[n] * power;     \
    value = fma(c, p, value);        \
    slope = fma(d, p, slope);        \
    power *= z;                      \
  }
  RANK_TERM(0, 0.9999999986985918, 0.9999999876557768)
  RANK_TERM(1, -0.9999996238930227, -1.999996431218085)
  RANK_TERM(2, 0.9999817581608944, 2.9998265936149147)
  RANK_TERM(3, -0.9996482644945015, -3.9966450705135452)
  RANK_TERM(4, 0.9964324327114262, 4.965790265693359)
  RANK_TERM(5, -0.9781379230121537, -5.788694126303448)
  RANK_TERM(6, 0.9121668122784133, 6.141077501435024)
  RANK_TERM(7, -0.7555760439433814, -5.567936815447452)
  RANK_TERM(8, 0.5076406607462475, 3.9717759871363567)
  RANK_TERM(9, -0.24836182864466944, -2.020083971015177)
  RANK_TERM(10, 0.07641902419835983, 0.6375199192109207)
  RANK_TERM(11, -0.010917003456908547, -0.09263384609540418)
#undef RANK_TERM
  to->value += value;
  to->slope += slope;
}

// rank_pairs adds the tails of the items [from, to), fewer than 8.
HG_DEVICE void rank_pairs(Tails *sum, const SortedLevel &l, const float *weights, int from, int to, float y,
                          const Step &f, float reach) {
  float value = 0.f, slope = 0.f;
  for (int i = from; i < to; i++) {
    StepTail a = step_tail(l.x[i] - y, f.rate, reach);
    float w = weights ? weights[i] : 1.f;
    value = fmaf(w, a.tail, value);
    slope = fmaf(w, a.bell, slope);
  }
  sum->value += (double)value;
  sum->slope += (double)slope;
}

// tails_above is over the first end items, which are y or higher.
HG_DEVICE Tails tails_above(const SortedLevel &l, const float *weights, int end, float y, const Step &f, float reach) {
  Tails sum = {0., 0.};
  int s = end / RANK_RANGE;
  if (s > 0) rank_series(&sum, l.above + s * RANK_STATE, l.x[s * RANK_RANGE - 1] - y, f.scale);
  rank_pairs(&sum, l, weights, s * RANK_RANGE, end, y, f, reach);
  return sum;
}

// tails_below is over the items from begin on, which are y or lower.
HG_DEVICE Tails tails_below(const SortedLevel &l, const float *weights, int begin, float y, const Step &f,
                            float reach) {
  Tails sum = {0., 0.};
  int s = (begin + RANK_RANGE - 1) / RANK_RANGE, end = hg_least(s * RANK_RANGE, l.n);
  if (s * RANK_RANGE < l.n) rank_series(&sum, l.below + s * RANK_STATE, y - l.x[s * RANK_RANGE], f.scale);
  rank_pairs(&sum, l, weights, begin, end, y, f, reach);
  return sum;
}

// weight_before is the weight of the first end items.
HG_DEVICE double weight_before(const SortedLevel &l, const float *weights, int end) {
  if (!weights) return (double)end;
  int s = end / RANK_RANGE;
  double sum = s > 0 ? l.above[s * RANK_STATE + 12] : 0.;
  for (int i = s * RANK_RANGE; i < end; i++) sum += (double)weights[i];
  return sum;
}

// moment_before is the sum of their scores.
HG_DEVICE double moment_before(const SortedLevel &l, int end) {
  int s = end / RANK_RANGE;
  double sum = s > 0 ? l.above[s * RANK_STATE + 13] : 0.;
  for (int i = s * RANK_RANGE; i < end; i++) sum += (double)l.x[i];
  return sum;
}

// rank_cut is the number of leading items for which a condition holds, which none behind them fulfils.
template <class F> HG_DEVICE int rank_cut(int n, F holds) {
  int low = 0;
  int step = n > 0 ? 1 << ((__float_as_uint((float)n) >> 23) - 127) : 0; // the highest power of two up to n
  for (; step > 0; step >>= 1) {
    int next = low + step;
    if (next <= n && holds(next - 1)) low = next;
  }
  return low;
}

// rank_ties is the number of leading items of y or higher, of which so many are higher. Mostly none is y.
HG_DEVICE int rank_ties(const float *x, int n, int higher, float y) {
  if (higher == n || x[higher] < y) return higher;
  return higher + rank_cut(n - higher, [&](int i) { return x[higher + i] >= y; });
}

// SumAt is a sum of a step and of its slope.
struct SumAt {
  double value, slope;
};

// step_sum is over the items of a level, at t = x_i − y; self leaves out one with t = 0.
HG_DEVICE SumAt step_sum(const SortedLevel &l, const Step &f, float y, bool self) {
  const float *x = l.x;
  int above = rank_cut(l.n, [&](int i) { return x[i] > y; });
  int notBelow = rank_ties(x, l.n, above, y);
  if (f.kind == STEP_HEAVISIDE) return {(double)(notBelow - self), 0.};
  int ties = notBelow - above - self;
  if (f.kind == STEP_LEAK) {
    int far = rank_cut(above, [&](int i) { return fmaf(f.beta, x[i] - y, f.gamma) >= 1.f; });
    double all = moment_before(l, l.n), high = moment_before(l, above), highest = moment_before(l, far);
    double below = l.n - above - self, between = above - far;
    double value = (double)f.leak * (all - high - (double)self * (double)y - below * (double)y);
    value += (double)f.beta * (high - highest - between * (double)y) + (double)f.gamma * between + (double)far;
    return {value, (double)f.leak * below + (double)f.beta * between};
  }
  // For t > 0, σ is 1 − σ(−t). The middle piece is start + 1 minus the tails above 0, less those beyond δ.
  float reach = step_reach(f);
  int beyond = f.delta < HG_INF ? rank_cut(above, [&](int i) { return x[i] - y > f.delta; }) : 0;
  Tails low = tails_below(l, nullptr, notBelow, y, f, reach), high = tails_above(l, nullptr, above, y, f, reach);
  double value = low.value + (double)f.zero * ties + ((double)f.start + 1.) * (above - beyond) - high.value;
  double slope = low.slope + 0.25 * ties + high.slope, last = 0.;
  if (beyond > 0) {
    Tails cut = tails_above(l, nullptr, beyond, y, f, reach);
    double moment = moment_before(l, beyond) - (double)beyond * ((double)y + (double)f.delta);
    value += cut.value + (double)f.rho * moment + (double)f.offset * beyond;
    slope -= cut.slope;
    last = (double)f.rho * beyond;
  }
  return {value, slope * (double)f.scale + last};
}

// slope_sum is Σ_k w_k f′(z − y_k) over the positives of a level; own is the weight of one with t = 0
// to leave out.
HG_DEVICE double slope_sum(const SortedLevel &l, const float *weights, const Step &f, float z, bool self, double own) {
  const float *y = l.x;
  int above = rank_cut(l.n, [&](int k) { return y[k] > z; });
  int notBelow = rank_ties(y, l.n, above, z);
  if (f.kind == STEP_LEAK) { // t ≤ 0 are the first, and t at which f is 1 the last
    int end = rank_cut(l.n, [&](int k) { return y[k] >= z || fmaf(f.beta, z - y[k], f.gamma) < 1.f; });
    double first = weight_before(l, weights, notBelow);
    return (double)f.leak * (first - own) + (double)f.beta * (weight_before(l, weights, end) - first);
  }
  float reach = step_reach(f);
  int end = f.delta < HG_INF ? rank_cut(l.n, [&](int k) { return !(z - y[k] > f.delta && z > y[k]); }) : l.n;
  double slope = tails_above(l, weights, above, z, f, reach).slope, last = 0.;
  slope += tails_below(l, weights, notBelow, z, f, reach).slope;
  if (notBelow - above > self) {
    slope += 0.25 * (weight_before(l, weights, notBelow) - weight_before(l, weights, above) - own);
  }
  if (end < l.n) {
    slope -= tails_below(l, weights, end, z, f, reach).slope;
    last = (double)f.rho * (weight_before(l, weights, l.n) - weight_before(l, weights, end));
  }
  return slope * (double)f.scale + last;
}

// ---- forward and backward

// rank_forward adds a step to the ranks of positives, a thread each. Bits c of ranks and pluses say whether
// the step is A_c and B_c. The first step's ranks begin at 1 and the relevance.
HG_KERNEL(256, rank_forward, SortedRows o, float *rank, float *plus, float *srank, float *splus, const float *rel,
          i64 ldr, Step f, int ranks, int pluses, int begin) {
  i64 tiles = (o.items + 255) / 256, q = blockIdx.x / tiles;
  int k = (int)(blockIdx.x - q * tiles) * 256 + threadIdx.x, n = o.number[q];
  if (n <= o.few || k >= n) return;
  const int *cnt = o.cnt + q * o.ldc;
  int p = cnt[0] + k, lk = 0, first = 0;
  for (int end = cnt[0]; end <= p; end += cnt[lk]) lk++;
  float y = o.x[q * o.items + p], rk = rel[q * ldr + lk];
  i64 at = q * o.items + k;
  double sum[4] = {begin ? 1. : (double)rank[at], begin ? (double)rk : (double)plus[at], begin ? 0. : (double)srank[at],
                   begin ? 0. : (double)splus[at]};
  for (int level = 0; level <= o.top; level++) {
    SortedLevel l = sorted_level(o, q, level, first);
    first += l.n;
    int c = steps_class(level, lk);
    bool inPlus = level >= 1 && (pluses >> c & 1);
    if (l.n == 0 || !(ranks >> c & 1 || inPlus)) continue;
    SumAt a = step_sum(l, f, y, level == lk);
    if (hg_nan(l.x[0]) || hg_nan(l.x[l.n - 1])) a.value = (double)HG_NAN; // where a sort puts them
    if (ranks >> c & 1) {
      sum[0] += a.value;
      sum[2] += a.slope;
    }
    if (inPlus) {
      double least = (double)hg_least(rel[q * ldr + level], rk);
      sum[1] += least * a.value;
      sum[3] += least * a.slope;
    }
  }
  rank[at] = (float)sum[0];
  plus[at] = (float)sum[1];
  srank[at] = (float)sum[2];
  splus[at] = (float)sum[3];
}

// rank_backward adds a step to the gradient, a thread an item. weights are u where the step is A_c for the
// bits c of classes, and with pluses v where it is B_c. The first step's gradient begins at −own.
HG_KERNEL(256, rank_backward, SortedRows o, float *ds, const float *weights, const float *own, const float *rel,
          i64 ldd, i64 ldr, Step f, int classes, int pluses, int begin) {
  i64 tiles = (o.items + 255) / 256, q = blockIdx.x / tiles;
  int p = (int)(blockIdx.x - q * tiles) * 256 + threadIdx.x;
  if (o.number[q] <= o.few || p >= o.items) return;
  const int *cnt = o.cnt + q * o.ldc;
  float *to = ds + q * ldd + o.rows[q * o.items + p];
  int li = 0, end = cnt[0], first = cnt[0], k = p - cnt[0];
  while (end <= p && li < o.top) end += cnt[++li];
  if (end <= p) {
    *to = 0.f;
    return;
  }
  float z = o.x[q * o.items + p];
  const float *row = weights + q * o.items;
  double sum = begin ? li >= 1 ? -(double)own[q * o.items + k] : 0. : (double)*to;
  for (int level = 1; level <= o.top; level++) {
    SortedLevel l = sorted_level(o, q, level, first);
    first += l.n;
    if (l.n == 0 || !(classes >> steps_class(li, level) & 1) || (pluses && li == 0)) continue;
    bool self = level == li;
    double slope = slope_sum(l, row + l.first - cnt[0], f, z, self, self ? (double)row[k] : 0.);
    sum += pluses ? (double)hg_least(rel[q * ldr + li], rel[q * ldr + level]) * slope : slope;
  }
  *to = (float)sum;
}
