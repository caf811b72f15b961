// ranksorted: rankloss.cu for queries with more than few positives. The row is sorted by level and, within
// a level, by falling score (rank_levels and rank_gather around passes of sort.cu), and each sum over the
// items of a level is that of a prefix or suffix of its scores x_0 ≥ x_1 ≥ …:
//
//   Σ w_i (ρ·t + c)        from prefix sums of w_i and w_i·x_i
//   Σ w_i σ(−|x_i − y|/τ)  from F_n = Σ w_i e^(−n·|x_i − e|/τ), e being the score next to y: with z = e^(−|e − y|/τ)
//                          it is Σ_n c_n F_n z^n, and its slope has other coefficients c_n (see rank_series)
//
// F_n is kept at every 32nd item, from above and from below, in float64 (RankStates); what lies between
// is added up pair by pair. F_n of two neighbouring ranges is F·e^(−n·distance/τ) + G, which is
// associative, so that a warp scans a level: rank_ranges sums 32 items, rank_scan the ranges. Forward the
// sources are items and the targets positives, backward the other way round, with weights u or v.
// A query costs O(G log G) time, 112 bytes of states for 16 items, and 24 more for each item.
// Reference: ../cpu/ranklossrow.go, ../cpu/ranklosssums.go, ../cpu/ranklosstails.go
#include "step.h"

enum { RANK_RANGE = 32, RANK_STATE = 14, RANK_TERMS = 12 };

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

// RankStates: a level that begins at item first has states from first/32 + level on, n/32 + 1 of them. State
// s from above is that of the items before 32s, seen from item 32s − 1; from below, that of the
// items from 32s on, seen from item 32s. Element 12 of a state is Σ w and element 13 Σ w·x.
HG_DEVICE i64 rank_states(const SortedRows &o) { return o.items / RANK_RANGE + o.top + 2; }

HG_DEVICE SortedLevel sorted_level(const SortedRows &o, i64 q, int level, int first) {
  i64 at = (2 * q * rank_states(o) + first / RANK_RANGE + level) * RANK_STATE;
  return {o.x + q * o.items + first, o.states + at, o.states + at + rank_states(o) * RANK_STATE, first,
          o.cnt[q * o.ldc + level]};
}

// ---- the sort by level

// rank_levels: keys[q,p] = level of the p-th item by score, 255 for one that does not exist. Its
// scores are not read.
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

// rank_ranges: a warp takes a range of 32 items of a level and writes its sums to states. weights [Q,G]
// are those of positives; without them, all are 1.
HG_KERNEL(256, rank_ranges, SortedRows o, const float *weights, Step f) {
  i64 states = rank_states(o), blocks = (states + 7) / 8, q = blockIdx.x / blocks;
  i64 at = (blockIdx.x - q * blocks) * 8 + hg_warp();
  if (o.number[q] <= o.few) return;
  int level = 0, first = 0;
  while (level <= o.top) {
    int n = o.cnt[q * o.ldc + level];
    if (at < (first + n) / RANK_RANGE + level + 1) break;
    first += n;
    level++;
  }
  if (level > o.top || (weights && level == 0)) return;
  SortedLevel l = sorted_level(o, q, level, first);
  int s = (int)(at - first / RANK_RANGE - level), i = s * RANK_RANGE + hg_lane();
  if (s * RANK_RANGE >= l.n) return; // for the whole warp
  bool exists = i < l.n, full = (s + 1) * RANK_RANGE <= l.n;
  float x = l.x[exists ? i : l.n - 1];
  double w = exists ? weights ? (double)weights[q * o.items + first + i - o.cnt[q * o.ldc]] : 1. : 0.;
  float highest = __shfl_sync(HG_FULL, x, 0), lowest = __shfl_sync(HG_FULL, x, 31);
  double near = hg_exp((lowest - x) * f.scale), far = hg_exp((x - highest) * f.scale), a = w, b = w;
  double *above = l.above + (s + 1) * RANK_STATE, *below = l.below + s * RANK_STATE;
  for (int n = 0; n < RANK_TERMS; n++) {
    a *= near;
    b *= far;
    double sum = hg_warp_sum(a), other = hg_warp_sum(b);
    if (hg_lane() == 0 && full) above[n] = sum;
    if (hg_lane() == 0) below[n] = other;
  }
  double sum = hg_warp_sum(w), moment = hg_warp_sum(w * (double)x);
  if (hg_lane() == 0 && full) above[12] = sum, above[13] = moment;
  if (hg_lane() == 0) below[12] = sum, below[13] = moment;
}

// rank_scan: a block takes a level of a query, from above or from below, and a warp an element of its
// states. Each lane sums neighbouring ranges, the sums go over to the lanes behind, and from what comes
// before them they begin again.
HG_KERNEL(448, rank_scan, SortedRows o, float scale, int lowest) {
  i64 levels = o.top + 1 - lowest, q = blockIdx.x / (2 * levels);
  int at = (int)(blockIdx.x - q * 2 * levels), level = lowest + at / 2, lane = hg_lane(), first = 0;
  bool above = at % 2 == 0;
  if (o.number[q] <= o.few) return;
  for (int i = 0; i < level; i++) first += o.cnt[q * o.ldc + i];
  SortedLevel l = sorted_level(o, q, level, first);
  int ranges = above ? l.n / RANK_RANGE : (l.n + RANK_RANGE - 1) / RANK_RANGE, term = hg_warp();
  int each = (ranges + 31) / 32, from = lane * each, to = hg_least(ranges, from + each);
  double rate = term < RANK_TERMS ? -(term + 1) * (double)scale : 0., sum = 0., carried = 0.;
  float score = 0.f; // from which sum is seen
  for (int pass = 0; pass < 2; pass++) {
    for (int j = from; j < to; j++) {
      int s = above ? j + 1 : ranges - 1 - j;
      float next = l.x[above ? s * RANK_RANGE - 1 : s * RANK_RANGE];
      double *state = (above ? l.above : l.below) + s * RANK_STATE + term;
      double decay = hg_exp(rate * fabs((double)score - (double)next));
      sum = fma(sum, decay, *state);
      score = next;
      if (pass == 1) *state = sum;
    }
    if (pass == 1) break;
    for (int d = 1; d < 32; d <<= 1) {
      double before = __shfl_up_sync(HG_FULL, sum, d);
      float seen = __shfl_up_sync(HG_FULL, score, d);
      if (lane >= d) sum = fma(before, hg_exp(rate * fabs((double)seen - (double)score)), sum);
    }
    carried = __shfl_up_sync(HG_FULL, sum, 1);
    float seen = __shfl_up_sync(HG_FULL, score, 1);
    sum = lane > 0 ? carried : 0.;
    score = lane > 0 ? seen : 0.f;
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

// rank_pairs adds the tails of the items [from, to), fewer than 32.
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
  int low = 0, high = n;
  while (low < high) {
    int middle = (low + high) >> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// SumAt is a sum of a step and of its slope.
struct SumAt {
  double value, slope;
};

// step_sum is over the items of a level, at t = x_i − y; self leaves out one with t = 0.
HG_DEVICE SumAt step_sum(const SortedLevel &l, const Step &f, float y, bool self) {
  const float *x = l.x;
  int above = rank_cut(l.n, [&](int i) { return x[i] > y; });
  int notBelow = rank_cut(l.n, [&](int i) { return x[i] >= y; });
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
  int beyond = rank_cut(above, [&](int i) { return x[i] - y > f.delta; });
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
  int notBelow = rank_cut(l.n, [&](int k) { return y[k] >= z; });
  if (f.kind == STEP_LEAK) { // t ≤ 0 are the first, and t at which f is 1 the last
    int end = rank_cut(l.n, [&](int k) { return y[k] >= z || fmaf(f.beta, z - y[k], f.gamma) < 1.f; });
    double first = weight_before(l, weights, notBelow);
    return (double)f.leak * (first - own) + (double)f.beta * (weight_before(l, weights, end) - first);
  }
  float reach = step_reach(f);
  int end = rank_cut(l.n, [&](int k) { return !(z - y[k] > f.delta && z > y[k]); });
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
