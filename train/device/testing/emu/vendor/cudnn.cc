// An imitation of libcudnn.so.9: the functions of its graph API that package vendor calls.
#include "imitation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

// Numbers of cudnn_graph.h; scripts/check_vendor compares them.
enum {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_NOT_SUPPORTED = 3000,
  CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED = 4003,
  CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004,
  CUDNN_STATUS_EXECUTION_FAILED = 5000,
  CUDNN_TYPE_HANDLE = 0,
  CUDNN_TYPE_DATA_TYPE = 1,
  CUDNN_TYPE_BOOLEAN = 2,
  CUDNN_TYPE_INT64 = 3,
  CUDNN_TYPE_FLOAT = 4,
  CUDNN_TYPE_VOID_PTR = 6,
  CUDNN_TYPE_CONVOLUTION_MODE = 7,
  CUDNN_TYPE_HEUR_MODE = 8,
  CUDNN_TYPE_NUMERICAL_NOTE = 11,
  CUDNN_TYPE_POINTWISE_MODE = 14,
  CUDNN_TYPE_BACKEND_DESCRIPTOR = 15,
  CUDNN_TYPE_REDUCTION_OPERATOR_TYPE = 18,
  CUDNN_TYPE_CHAR = 24,
  CUDNN_BACKEND_POINTWISE_DESCRIPTOR = 0,
  CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR = 1,
  CUDNN_BACKEND_ENGINE_DESCRIPTOR = 2,
  CUDNN_BACKEND_ENGINECFG_DESCRIPTOR = 3,
  CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR = 4,
  CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 5,
  CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR = 10,
  CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR = 11,
  CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR = 12,
  CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR = 13,
  CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR = 15,
  CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR = 16,
  CUDNN_BACKEND_TENSOR_DESCRIPTOR = 17,
  CUDNN_BACKEND_MATMUL_DESCRIPTOR = 18,
  CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR = 19,
  CUDNN_BACKEND_REDUCTION_DESCRIPTOR = 21,
  CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR = 22,
  CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR = 31,
  CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR = 41,
  CUDNN_POINTWISE_ADD = 0,
  CUDNN_POINTWISE_MUL = 1,
  CUDNN_POINTWISE_SUB = 9,
  CUDNN_POINTWISE_EXP = 13,
  CUDNN_POINTWISE_RELU_FWD = 100,
  CUDNN_POINTWISE_RELU_BWD = 200,
  CUDNN_ATTR_ENGINECFG_ENGINE = 300,
  CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE = 402,
  CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION = 405,
  CUDNN_ATTR_ENGINEHEUR_RESULTS = 202,
  CUDNN_ATTR_ENGINE_GLOBAL_INDEX = 1301,
  CUDNN_ATTR_ENGINE_NUMERICAL_NOTE = 1303,
  CUDNN_NUMERICAL_NOTE_TENSOR_CORE = 0,
  CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS = 1,
  CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC = 4,
  CUDNN_DATA_FLOAT = 0,
  CUDNN_DATA_BFLOAT16 = 9,
};

namespace {

const std::map<int, size_t> sizes = {
    {CUDNN_TYPE_HANDLE, 8},        {CUDNN_TYPE_DATA_TYPE, 4}, {CUDNN_TYPE_BOOLEAN, 1},
    {CUDNN_TYPE_INT64, 8},         {CUDNN_TYPE_FLOAT, 4},     {CUDNN_TYPE_VOID_PTR, 8},
    {CUDNN_TYPE_CONVOLUTION_MODE, 4}, {CUDNN_TYPE_HEUR_MODE, 4}, {CUDNN_TYPE_NUMERICAL_NOTE, 4},
    {CUDNN_TYPE_POINTWISE_MODE, 4},   {CUDNN_TYPE_BACKEND_DESCRIPTOR, 8}, {CUDNN_TYPE_CHAR, 1},
    {CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 4}};

// Wanted is an attribute that a descriptor takes: its type, its number of elements (0: any),
// and whether it must be set.
struct Wanted {
  int type, count;
  bool needed;
};

const int desc = CUDNN_TYPE_BACKEND_DESCRIPTOR;

// attributes of every kind of descriptor, by their numbers.
const std::map<int, std::map<int, Wanted>> attributes = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR,
     {{900, {CUDNN_TYPE_INT64, 1, true}},
      {901, {CUDNN_TYPE_DATA_TYPE, 1, true}},
      {902, {CUDNN_TYPE_INT64, 4, true}},
      {903, {CUDNN_TYPE_INT64, 4, true}},
      {906, {CUDNN_TYPE_INT64, 1, true}},
      {907, {CUDNN_TYPE_BOOLEAN, 1, false}},
      {908, {CUDNN_TYPE_BOOLEAN, 1, false}}}},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
     {{100, {CUDNN_TYPE_DATA_TYPE, 1, true}},
      {101, {CUDNN_TYPE_CONVOLUTION_MODE, 1, true}},
      {102, {CUDNN_TYPE_INT64, 2, true}},
      {103, {CUDNN_TYPE_INT64, 2, true}},
      {104, {CUDNN_TYPE_INT64, 2, true}},
      {105, {CUDNN_TYPE_INT64, 2, true}},
      {106, {CUDNN_TYPE_INT64, 1, true}}}},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
     {{0, {CUDNN_TYPE_POINTWISE_MODE, 1, true}}, {1, {CUDNN_TYPE_DATA_TYPE, 1, true}}}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     {{700, {CUDNN_TYPE_FLOAT, 1, true}},
      {701, {CUDNN_TYPE_FLOAT, 1, true}},
      {702, {desc, 1, true}},
      {703, {desc, 1, true}},
      {704, {desc, 1, true}},
      {705, {desc, 1, true}}}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     {{706, {CUDNN_TYPE_FLOAT, 1, true}},
      {707, {CUDNN_TYPE_FLOAT, 1, true}},
      {708, {desc, 1, true}},
      {709, {desc, 1, true}},
      {710, {desc, 1, true}},
      {711, {desc, 1, true}}}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     {{712, {CUDNN_TYPE_FLOAT, 1, true}},
      {713, {CUDNN_TYPE_FLOAT, 1, true}},
      {714, {desc, 1, true}},
      {715, {desc, 1, true}},
      {716, {desc, 1, true}},
      {717, {desc, 1, true}}}},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
     {{750, {desc, 1, true}},
      {751, {desc, 1, true}},
      {752, {desc, 1, false}},
      {753, {desc, 1, false}},
      {756, {desc, 1, false}},
      {757, {desc, 1, false}}}},
    {CUDNN_BACKEND_MATMUL_DESCRIPTOR, {{1500, {CUDNN_TYPE_DATA_TYPE, 1, true}}}},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
     {{1520, {desc, 1, true}}, {1521, {desc, 1, true}}, {1522, {desc, 1, true}}, {1523, {desc, 1, true}}}},
    {CUDNN_BACKEND_REDUCTION_DESCRIPTOR,
     {{1600, {CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, true}}, {1601, {CUDNN_TYPE_DATA_TYPE, 1, true}}}},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
     {{1610, {desc, 1, true}}, {1611, {desc, 1, true}}, {1612, {desc, 1, true}}}},
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, {{2200, {desc, 1, true}}, {2201, {desc, 1, true}}}},
    {CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR,
     {{2800, {desc, 1, true}},
      {2801, {desc, 1, true}},
      {2802, {desc, 1, true}},
      {2803, {desc, 1, true}},
      {2804, {desc, 1, false}},
      {2805, {desc, 1, false}}}},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, {{800, {CUDNN_TYPE_HANDLE, 1, true}}, {801, {desc, 0, true}}}},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, {{200, {CUDNN_TYPE_HEUR_MODE, 1, true}}, {201, {desc, 1, true}}}},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
     {{400, {CUDNN_TYPE_HANDLE, 1, true}}, {401, {desc, 1, false}}, {405, {CUDNN_TYPE_CHAR, 0, false}}}},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
     {{1000, {CUDNN_TYPE_INT64, 0, true}},
      {1001, {CUDNN_TYPE_VOID_PTR, 0, true}},
      {1003, {CUDNN_TYPE_VOID_PTR, 1, true}}}},
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, {}},
    {CUDNN_BACKEND_ENGINE_DESCRIPTOR, {}},
};

struct Desc {
  int kind;
  bool finalized = false;
  std::map<int, std::vector<uint8_t>> values;
  Desc *graph = nullptr; // of a configuration and an engine
  int engine = 0;

  bool has(int a) const { return values.count(a) != 0; }
  template <class T> T one(int a, int i = 0) const { return ((const T *)values.at(a).data())[i]; }
  Desc *ref(int a, int i = 0) const { return one<Desc *>(a, i); }
  template <class T> int count(int a) const { return (int)(values.at(a).size() / sizeof(T)); }
};

struct Handle {
  void *stream = nullptr;
};

std::set<void *> handles, alive, kept; // kept: copies in JSON
std::vector<Desc *> written; // configurations of the plans that were written as JSON
int built;                   // plans that were made of a configuration
std::string last;
bool cores = true;  // one of them uses tensor cores

int bad(const std::string &text) {
  last = text;
  return complain(CUDNN_STATUS_BAD_PARAM, "cuDNN: " + text);
}

// The engines that the heuristic proposes. For F32 only engine_good may be taken: the others are not
// deterministic, round the arguments, or want too much workspace. For BF16 it is the two that round
// the arguments, which loses nothing, on tensor cores.
enum { engine_unsteady, engine_rounding, engine_greedy, engine_good, engine_second, engines };
bool rounds(int engine) { return engine == engine_rounding || engine == engine_second; }
const int64_t own_workspace = 512;

int64_t dim(const Desc *t, int i) { return t->one<int64_t>(902, i); }

// fits checks that images, filters and result of a convolution belong together.
bool fits(const Desc *g, const Desc *x, const Desc *w, const Desc *y) {
  if (dim(x, 0) != dim(y, 0) || dim(w, 0) != dim(y, 1) || dim(w, 1) == 0 || dim(x, 1) % dim(w, 1) != 0) return false;
  for (int i = 0; i < 2; i++) {
    int64_t reach = g->one<int64_t>(102, i) * (dim(w, i + 2) - 1) + 1;
    int64_t padded = dim(x, i + 2) + g->one<int64_t>(104, i) + g->one<int64_t>(105, i);
    if ((padded - reach) / g->one<int64_t>(103, i) + 1 != dim(y, i + 2)) return false;
  }
  return true;
}

struct Image {
  int64_t n[4], stride[4];
  bool is_short;
  uint64_t at;                // 0: an intermediate
  std::shared_ptr<std::vector<float>> held; // of an intermediate
  float get(int64_t a, int64_t b, int64_t c, int64_t d) const {
    int64_t i = 0, p[4] = {a, b, c, d};
    for (int k = 0; k < 4; k++) i += (n[k] == 1 ? 0 : p[k]) * stride[k]; // a side of 1 stands for all
    return held ? (*held)[i] : load((void *)at, is_short, i);
  }
  void put(int64_t a, int64_t b, int64_t c, int64_t d, float v) const {
    int64_t i = a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
    if (held) (*held)[i] = v;
    else store((void *)at, is_short, i, v);
  }
  int64_t extent() const {
    int64_t last = 0;
    for (int k = 0; k < 4; k++) last += (n[k] - 1) * stride[k];
    return last + 1;
  }
};

// factor returns v as tensor cores multiply it beside numbers of BF16.
float factor(float v, bool is_short) {
  if (!is_short) return v;
  uint16_t rounded;
  store(&rounded, true, 0, v);
  return load(&rounded, true, 0);
}

struct Step {
  int kind, mode;
  int64_t dilation[2], stride[2], pad[2];
  float alpha, beta;
  int more[3]; // of an attention: values, the logarithms of the denominators, and the factor
  int x, w, y; // images; of pointwise: x, the operand or −1, y, or for a gradient dy, x, dx
};

struct Job {
  std::vector<Image> images;
  std::vector<Step> steps;
  uint64_t workspace;
  int64_t room; // its bytes
};

// convolve visits every product of a convolution: f(x's place, w's place, y's place).
template <class F> void every(const Job &j, const Step &s, F f) {
  const Image &x = j.images[s.x], &w = j.images[s.w], &y = j.images[s.y];
  int64_t share = w.n[1], per_group = w.n[0] / (x.n[1] / share);
  for (int64_t n = 0; n < y.n[0]; n++)
    for (int64_t k = 0; k < y.n[1]; k++)
      for (int64_t p = 0; p < y.n[2]; p++)
        for (int64_t q = 0; q < y.n[3]; q++)
          for (int64_t r = 0; r < w.n[2]; r++)
            for (int64_t t = 0; t < w.n[3]; t++) {
              int64_t h = p * s.stride[0] + r * s.dilation[0] - s.pad[0];
              int64_t v = q * s.stride[1] + t * s.dilation[1] - s.pad[1];
              if (h < 0 || h >= x.n[2] || v < 0 || v >= x.n[3]) continue;
              for (int64_t c = 0; c < share; c++) f(n, k, p, q, r, t, h, v, c, k / per_group * share + c);
            }
}

// sum adds up in float64 into an image, which one of the lambdas selects a place of.
struct Sum {
  const Image &to;
  std::vector<double> v;
  explicit Sum(const Image &image) : to(image), v(image.n[0] * image.n[1] * image.n[2] * image.n[3]) {}
  double &at(int64_t a, int64_t b, int64_t c, int64_t d) { return v[((a * to.n[1] + b) * to.n[2] + c) * to.n[3] + d]; }
  void finish(float alpha, float beta) {
    size_t i = 0;
    for (int64_t a = 0; a < to.n[0]; a++)
      for (int64_t b = 0; b < to.n[1]; b++)
        for (int64_t c = 0; c < to.n[2]; c++)
          for (int64_t d = 0; d < to.n[3]; d++, i++)
            to.put(a, b, c, d, (float)(alpha * v[i] + (beta != 0 ? beta * to.get(a, b, c, d) : 0)));
  }
};

void pointwise(const Job &j, const Step &s) {
  const Image &x = j.images[s.x], &y = j.images[s.y];
  for (int64_t a = 0; a < y.n[0]; a++)
    for (int64_t b = 0; b < y.n[1]; b++)
      for (int64_t c = 0; c < y.n[2]; c++)
        for (int64_t d = 0; d < y.n[3]; d++) {
          float v = x.get(a, b, c, d);
          if (s.mode == CUDNN_POINTWISE_ADD) v += j.images[s.w].get(a, b, c, d);
          else if (s.mode == CUDNN_POINTWISE_MUL) v *= j.images[s.w].get(a, b, c, d);
          else if (s.mode == CUDNN_POINTWISE_SUB) v -= j.images[s.w].get(a, b, c, d);
          else if (s.mode == CUDNN_POINTWISE_EXP) v = std::exp(v);
          else if (s.mode == CUDNN_POINTWISE_RELU_BWD) v = j.images[s.w].get(a, b, c, d) > 0 ? v : 0;
          else v = v > 0 ? v : 0;
          y.put(a, b, c, d, v);
        }
}

// multiply computes y = x·w of the last two sides.
void multiply(const Job &j, const Step &s) {
  const Image &x = j.images[s.x], &w = j.images[s.w], &y = j.images[s.y];
  bool rounds = x.is_short || w.is_short;
  for (int64_t a = 0; a < y.n[0]; a++)
    for (int64_t b = 0; b < y.n[1]; b++)
      for (int64_t c = 0; c < y.n[2]; c++)
        for (int64_t d = 0; d < y.n[3]; d++) {
          double sum = 0;
          for (int64_t k = 0; k < x.n[3]; k++)
            sum += (double)factor(x.get(a, b, c, k), rounds) * factor(w.get(a, b, k, d), rounds);
          y.put(a, b, c, d, (float)sum);
        }
}

// reduce adds up along the last side.
void reduce(const Job &j, const Step &s) {
  const Image &x = j.images[s.x], &y = j.images[s.y];
  for (int64_t a = 0; a < y.n[0]; a++)
    for (int64_t b = 0; b < y.n[1]; b++)
      for (int64_t c = 0; c < y.n[2]; c++) {
        double sum = 0;
        for (int64_t d = 0; d < x.n[3]; d++) sum += x.get(a, b, c, d);
        y.put(a, b, c, 0, (float)sum);
      }
}

// attend computes attention. What the values are multiplied by is rounded, as for tensor cores.
void attend(const Job &j, const Step &s) {
  const Image &q = j.images[s.x], &k = j.images[s.w], &y = j.images[s.y];
  const Image &v = j.images[s.more[0]], &lse = j.images[s.more[1]];
  float scale = j.images[s.more[2]].get(0, 0, 0, 0);
  std::vector<double> p(k.n[2]);
  for (int64_t a = 0; a < q.n[0]; a++)
    for (int64_t b = 0; b < q.n[1]; b++)
      for (int64_t c = 0; c < q.n[2]; c++) {
        double most = -INFINITY, sum = 0;
        for (int64_t t = 0; t < k.n[2]; t++) {
          p[t] = 0;
          for (int64_t d = 0; d < q.n[3]; d++) p[t] += (double)q.get(a, b, c, d) * k.get(a, b, t, d);
          most = std::max(most, p[t] *= scale);
        }
        for (double &e : p) sum += e = std::exp(e - most);
        for (int64_t d = 0; d < y.n[3]; d++) {
          double o = 0;
          for (int64_t t = 0; t < k.n[2]; t++) o += (double)factor((float)p[t], v.is_short) * v.get(a, b, t, d);
          y.put(a, b, c, d, (float)(o / sum));
        }
        lse.put(a, b, c, 0, (float)(most + std::log(sum)));
      }
}

void run(const void *data) {
  const Job &j = **(Job *const *)data;
  memset((void *)j.workspace, 0xa5, j.room);
  for (const Step &s : j.steps) {
    if (s.kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
      multiply(j, s);
      continue;
    }
    if (s.kind == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
      reduce(j, s);
      continue;
    }
    if (s.kind == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR) {
      attend(j, s);
      continue;
    }
    if (s.kind == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
      pointwise(j, s);
      continue;
    }
    const Image &x = j.images[s.x], &w = j.images[s.w], &y = j.images[s.y];
    bool forward = s.kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    bool to_x = s.kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    Sum sum(forward ? y : to_x ? x : w);
    every(j, s, [&](auto n, auto k, auto p, auto q, auto r, auto t, auto h, auto v, auto c, auto in) {
      if (forward) sum.at(n, k, p, q) += (double)x.get(n, in, h, v) * w.get(k, c, r, t);
      else if (to_x) sum.at(n, in, h, v) += (double)y.get(n, k, p, q) * w.get(k, c, r, t);
      else sum.at(k, c, r, t) += (double)y.get(n, k, p, q) * x.get(n, in, h, v);
    });
    sum.finish(s.alpha, s.beta);
  }
}

// attribute numbers of an operation: geometry, x, w, y, alpha, beta.
std::vector<int> names(int kind) {
  if (kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) return {702, 704, 703, 705, 700, 701};
  if (kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) return {708, 710, 709, 711, 706, 707};
  return {714, 716, 715, 717, 712, 713};
}

// image adds a tensor to a job, once, and returns its number.
int image(Job &j, std::map<int64_t, int> &known, const std::map<int64_t, uint64_t> &pointers, Desc *t, std::string &text) {
  int64_t id = t->one<int64_t>(906);
  if (known.count(id)) return known[id];
  Image m = {};
  for (int i = 0; i < 4; i++) m.n[i] = dim(t, i), m.stride[i] = t->one<int64_t>(903, i);
  m.is_short = t->one<int32_t>(901) == CUDNN_DATA_BFLOAT16;
  if (t->has(907) && t->one<uint8_t>(907)) {
    m.held = std::make_shared<std::vector<float>>(m.extent());
  } else if (!pointers.count(id)) {
    text = "a tensor has no address";
  } else if (t->has(908) && t->one<uint8_t>(908)) { // a number on the host, which is read now
    m.held = std::make_shared<std::vector<float>>(1, *(const float *)pointers.at(id));
  } else {
    m.at = pointers.at(id);
    if (!hgEmuHolds(m.at, m.extent() * (m.is_short ? 2 : 4))) text = "a tensor is not in the device's memory";
    if (!aligned(m.at, t->one<int64_t>(900))) text = "an address is aligned less than was said";
  }
  j.images.push_back(m);
  return known[id] = (int)j.images.size() - 1;
}

// multiplies reports whether an operation is a product of scores, or an attention.
bool multiplies(const Desc *o) {
  return o->kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR || o->kind == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR;
}

// workspace_of returns the bytes of workspace of a graph. A gradient of attention stores what dq is a product of, as the
// real library does: its second factor is a reshaped array.
int64_t workspace_of(const Desc *graph) {
  int64_t n = own_workspace;
  for (int i = 0; i < graph->count<Desc *>(801); i++) {
    Desc *o = graph->ref(801, i);
    if (o->kind != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
    const Desc *x = o->ref(1520), *w = o->ref(1521);
    if (w->has(907) && w->one<uint8_t>(907) && w->one<int32_t>(901) == CUDNN_DATA_BFLOAT16)
      n += 2 * dim(x, 0) * dim(x, 1) * ((dim(x, 2) + 63) / 64 * 64) * ((dim(x, 3) + 127) / 128 * 128);
  }
  return n;
}

// copy copies a descriptor with all that it refers to, for a plan that outlives its makers.
Desc *copy(const Desc *d, std::map<const Desc *, Desc *> &known) {
  if (!d || known.count(d)) return d ? known[d] : nullptr;
  Desc *c = known[d] = new Desc(*d);
  kept.insert(c);
  c->graph = copy(d->graph, known);
  for (auto &[attribute, value] : c->values) {
    if (attributes.at(c->kind).at(attribute).type != desc) continue;
    for (size_t i = 0; i < value.size(); i += sizeof(Desc *)) {
      Desc *r = copy(*(Desc **)&value[i], known);
      memcpy(&value[i], &r, sizeof r);
    }
  }
  return c;
}

// there reports whether a descriptor can be used.
bool there(void *p) { return alive.count(p) || kept.count(p); }

// check returns what is wrong with a descriptor that is to be finalized, or "".
std::string check(const Desc *d) {
  for (const auto &[attribute, wanted] : attributes.at(d->kind))
    if (wanted.needed && !d->has(attribute)) return "attribute " + std::to_string(attribute) + " is missing";
  for (const auto &[attribute, value] : d->values) {
    if (attributes.at(d->kind).at(attribute).type != desc) continue;
    for (int i = 0; i < d->count<Desc *>(attribute); i++) {
      Desc *r = d->ref(attribute, i);
      if (!there(r) || !r->finalized)
        return "attribute " + std::to_string(attribute) + " is a descriptor that is not finalized, or was destroyed";
    }
  }
  if (d->kind >= CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR &&
      d->kind <= CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    std::vector<int> n = names(d->kind);
    if (!fits(d->ref(n[0]), d->ref(n[1]), d->ref(n[2]), d->ref(n[3]))) return "the sizes of a convolution do not fit";
  }
  if (d->kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
    const Desc *x = d->ref(1520), *w = d->ref(1521), *y = d->ref(1522);
    for (int i = 0; i < 4; i++)
      if (dim(y, i) != dim(i == 3 ? w : x, i) || (i < 2 && dim(w, i) != dim(x, i)) || dim(x, 3) != dim(w, 2))
        return "the sizes of a product do not fit";
  }
  if (d->kind == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
    bool back = d->ref(750)->one<int32_t>(0) == CUDNN_POINTWISE_RELU_BWD;
    if (d->has(753) == back || d->has(756) != back || d->has(757) != back) return "results of another operation";
  }
  if (d->kind == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR && !handles.count(d->one<void *>(800))) return "no such handle";
  return "";
}

Desc *as(void *p, const char *function) {
  if (alive.count(p)) return (Desc *)p;
  bad(std::string(function) + ": no descriptor, or one that was destroyed");
  return nullptr;
}

} // namespace

#define HG_INJECT                                              \
  if (int code = hgEmuInjected(__func__)) return code

HG_API size_t cudnnGetVersion() { return 92600; }
HG_API size_t cudnnGetCudartVersion() { return 12000; }

HG_API const char *cudnnGetErrorString(int status) {
  switch (status) {
  case CUDNN_STATUS_BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
  case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
  case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED: return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
  case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
    return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
  case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "CUDNN_STATUS_UNKNOWN";
}

HG_API void cudnnGetLastErrorString(char *to, size_t n) { snprintf(to, n, "%s", last.c_str()); }

HG_API int cudnnCreate(void **to) {
  HG_INJECT;
  handles.insert(*to = new Handle);
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnDestroy(void *handle) {
  if (!handles.erase(handle)) return bad("cudnnDestroy: no such handle");
  delete (Handle *)handle;
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnSetStream(void *handle, void *stream) {
  if (!handles.count(handle)) return bad("cudnnSetStream: no such handle");
  ((Handle *)handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnBackendCreateDescriptor(int kind, void **to) {
  HG_INJECT;
  if (!attributes.count(kind)) return bad("a descriptor of an unknown kind");
  Desc *d = new Desc;
  d->kind = kind;
  alive.insert(*to = d);
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnBackendDestroyDescriptor(void *p) {
  Desc *d = as(p, __func__);
  if (!d) return CUDNN_STATUS_BAD_PARAM;
  alive.erase(p);
  delete d;
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnBackendSetAttribute(void *p, int attribute, int type, int64_t count, const void *values) {
  HG_INJECT;
  Desc *d = as(p, __func__);
  if (!d) return CUDNN_STATUS_BAD_PARAM;
  if (d->finalized) return bad("an attribute is set behind cudnnBackendFinalize");
  const auto &known = attributes.at(d->kind);
  auto it = known.find(attribute);
  if (it == known.end() || it->second.type != type || (it->second.count && it->second.count != count) || count < 1)
    return bad("attribute " + std::to_string(attribute) + " is not one of the descriptor, or has another type or size");
  d->values[attribute].assign((const uint8_t *)values, (const uint8_t *)values + count * sizes.at(type));
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnBackendFinalize(void *p) {
  HG_INJECT;
  Desc *d = as(p, __func__);
  if (!d) return CUDNN_STATUS_BAD_PARAM;
  std::string text = check(d);
  if (!text.empty()) return bad("cudnnBackendFinalize: " + text);
  if (d->kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    if (d->has(401) == d->has(405)) return bad("a plan has a configuration or its JSON");
    if (d->has(401)) built++;
    else {
      std::string json(d->values[405].begin(), d->values[405].end());
      size_t n = 0;
      if (sscanf(json.c_str(), "{\"plan\":%zu}", &n) != 1 || n >= written.size()) {
        last = "JSON of another version";
        return CUDNN_STATUS_NOT_SUPPORTED;
      }
      d->values[401].assign((uint8_t *)&written[n], (uint8_t *)(&written[n] + 1));
    }
  }
  d->finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnBackendGetAttribute(void *p, int attribute, int type, int64_t room, int64_t *count, void *values) {
  HG_INJECT;
  Desc *d = as(p, __func__);
  if (!d) return CUDNN_STATUS_BAD_PARAM;
  if (!d->finalized) return bad("an attribute is read before cudnnBackendFinalize");
  if (d->kind == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR && attribute == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == desc) {
    *count = engines;
    for (int64_t i = 0; i < room && i < *count; i++) {
      Desc *c = as(((void **)values)[i], __func__);
      if (!c || c->kind != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) return bad("results go to no configuration");
      c->graph = d->ref(201), c->engine = (int)i, c->finalized = true;
    }
    return CUDNN_STATUS_SUCCESS;
  }
  if (d->kind == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR && attribute == CUDNN_ATTR_ENGINECFG_ENGINE && room == 1) {
    Desc *e = as(*(void **)values, __func__);
    if (!e || e->kind != CUDNN_BACKEND_ENGINE_DESCRIPTOR) return bad("the engine goes to no engine");
    e->graph = d->graph, e->engine = d->engine, e->finalized = true, *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  if (d->kind == CUDNN_BACKEND_ENGINE_DESCRIPTOR && attribute == CUDNN_ATTR_ENGINE_GLOBAL_INDEX &&
      type == CUDNN_TYPE_INT64 && room == 1) {
    *(int64_t *)values = d->engine;
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  if (d->kind == CUDNN_BACKEND_ENGINE_DESCRIPTOR && attribute == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE &&
      type == CUDNN_TYPE_NUMERICAL_NOTE && room >= 2) {
    int32_t *to = (int32_t *)values;
    *count = 0;
    if (d->engine == engine_unsteady) to[(*count)++] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    if (rounds(d->engine)) {
      if (cores) to[(*count)++] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
      to[(*count)++] = CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    }
    return CUDNN_STATUS_SUCCESS;
  }
  if (d->kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && attribute == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE &&
      type == CUDNN_TYPE_INT64 && room == 1) {
    *(int64_t *)values = d->ref(401)->engine == engine_greedy ? (int64_t)1 << 40 : workspace_of(d->ref(401)->graph);
    *count = 1;
    return CUDNN_STATUS_SUCCESS;
  }
  if (d->kind == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
      attribute == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION && type == CUDNN_TYPE_CHAR) {
    if (!d->has(405)) { // the first time
      std::map<const Desc *, Desc *> known;
      written.push_back(copy(d->ref(401), known));
      std::string json = "{\"plan\":" + std::to_string(written.size() - 1) + "}";
      d->values[405].assign(json.c_str(), json.c_str() + json.size() + 1);
    }
    *count = (int64_t)d->values[405].size();
    if (room > 0) memcpy(values, d->values[405].data(), std::min(room, *count));
    return CUDNN_STATUS_SUCCESS;
  }
  return bad("attribute " + std::to_string(attribute) + " cannot be read here");
}

// A job is never freed: graphs may repeat it.
HG_API int cudnnBackendExecute(void *handle, void *plan, void *pack) {
  HG_INJECT;
  Desc *p = as(plan, __func__), *v = as(pack, __func__);
  if (!p || !v || !handles.count(handle)) return bad("cudnnBackendExecute: an argument is not alive");
  if (!p->finalized || !v->finalized || p->one<void *>(400) != handle) return bad("cudnnBackendExecute: a wrong argument");
  Desc *config = p->ref(401);
  if (!there(config) || !there(config->graph)) return bad("a plan runs whose graph was destroyed");
  std::map<int64_t, uint64_t> pointers;
  if (v->count<int64_t>(1000) != v->count<uint64_t>(1001)) return bad("as many addresses as tensors are needed");
  for (int i = 0; i < v->count<int64_t>(1000); i++) pointers[v->one<int64_t>(1000, i)] = v->one<uint64_t>(1001, i);
  Job *j = new Job;
  j->workspace = v->one<uint64_t>(1003);
  std::string text;
  j->room = workspace_of(config->graph);
  if (!hgEmuHolds(j->workspace, j->room)) text = "the workspace is too small";
  std::map<int64_t, int> known;
  std::set<int> written;
  Desc *g = config->graph;
  for (int i = 0; i < g->count<Desc *>(801); i++) {
    Desc *o = g->ref(801, i);
    if (!there(o)) return bad("a plan runs whose operations were destroyed");
    Step s = {};
    s.kind = o->kind;
    bool to_x = s.kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    bool to_w = s.kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
    auto add = [&](int a) { return image(*j, known, pointers, o->ref(a), text); };
    if (multiplies(o) && !rounds(config->engine)) text = "an algorithm runs that is to be refused";
    if (o->kind == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR) { // y is the memory of x
      int x = add(2200), y = add(2201);
      Image &to = j->images[y];
      to.at = j->images[x].at, to.held = j->images[x].held, to.is_short = j->images[x].is_short;
      continue;
    }
    if (o->kind == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
      s.x = add(1520), s.w = add(1521), s.y = add(1522);
    } else if (o->kind == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
      s.x = add(1610), s.y = add(1611);
    } else if (o->kind == CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR) {
      s.x = add(2800), s.w = add(2801), s.more[0] = add(2802), s.y = add(2803), s.more[1] = add(2804);
      s.more[2] = add(2805);
      written.insert(s.more[1]);
    } else if (o->kind == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
      s.mode = o->ref(750)->one<int32_t>(0);
      if (s.mode == CUDNN_POINTWISE_RELU_BWD) s.x = add(757), s.w = add(751), s.y = add(756);
      else s.x = add(751), s.w = o->has(752) ? add(752) : -1, s.y = add(753);
      if ((s.mode == CUDNN_POINTWISE_RELU_FWD || s.mode == CUDNN_POINTWISE_EXP) != (s.w < 0)) text = "an operand too many or too few";
    } else {
      std::vector<int> n = names(o->kind);
      for (int k = 0; k < 2; k++) {
        s.dilation[k] = o->ref(n[0])->one<int64_t>(102, k);
        s.stride[k] = o->ref(n[0])->one<int64_t>(103, k);
        s.pad[k] = o->ref(n[0])->one<int64_t>(105, k);
      }
      s.x = add(n[1]), s.w = add(n[2]), s.y = add(n[3]), s.alpha = o->one<float>(n[4]), s.beta = o->one<float>(n[5]);
      // For BF16 those that round are right, and the others use no tensor cores.
      bool short_in = j->images[to_x ? s.y : s.x].is_short; // what is read: a result may be an intermediate
      if (short_in ? !rounds(config->engine) : config->engine != engine_good)
        text = "an algorithm runs that is to be refused";
    }
    j->steps.push_back(s);
    written.insert(to_x ? s.x : to_w ? s.w : s.y);
  }
  for (int k : written)
    for (int i = 0; i < (int)j->images.size(); i++)
      if (i != k && j->images[k].at && j->images[i].at == j->images[k].at) text = "a tensor is written and has another name";
  if (!text.empty()) return bad("cudnnBackendExecute: " + text);
  queued++;
  int code = hgEmuQueue(((Handle *)handle)->stream, run, &j, sizeof j);
  return code ? CUDNN_STATUS_EXECUTION_FAILED : CUDNN_STATUS_SUCCESS;
}

// For tests: the complaints so far, the objects that are alive, and the plans executed.
HG_API const char *hgDnnComplaints() { return complaints.c_str(); }
HG_API int hgDnnAlive() { return (int)(alive.size() + handles.size()); }
HG_API int hgDnnQueued() { return queued; }
HG_API int hgDnnBuilt() { return built; }
HG_API void hgDnnCores(int on) { cores = on; }
