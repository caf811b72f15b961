// cuDNN's older functions for convolutions, of which cudnn.cc includes the imitation. They check
// what they are called with, and run as the jobs of the graph API do.
#pragma once

// Numbers of cudnn_graph.h, cudnn_ops.h and cudnn_cnn.h; scripts/check_vendor compares them.
enum {
  CUDNN_TENSOR_NHWC = 1,
  CUDNN_CROSS_CORRELATION = 1,
  CUDNN_NON_DETERMINISTIC = 0,
  CUDNN_DETERMINISTIC = 1,
  CUDNN_DEFAULT_MATH = 0,
  CUDNN_TENSOR_OP_MATH = 1,
  CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION = 2,
  CUDNN_FMA_MATH = 3,
  CUDNN_PROPAGATE_NAN = 1,
  CUDNN_ACTIVATION_RELU = 1,
  CUDNN_ACTIVATION_IDENTITY = 5,
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM = 0,
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
  CUDNN_CONVOLUTION_FWD_ALGO_GEMM = 2,
  CUDNN_CONVOLUTION_FWD_ALGO_FFT = 4,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 = 0,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 = 1,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT = 2,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 = 0,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 = 1,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT = 2,
};

namespace {

enum Kind { tensor_kind, filter_kind, geometry_kind, activation_kind };

// Object is a description. n is N, C, H, W of a tensor and K, C, R, S of filters.
struct Object {
  Kind kind;
  bool set = false;
  int type = 0, n[4] = {};
  int pad[2] = {}, stride[2] = {}, dilation[2] = {}, groups = 1, math = CUDNN_DEFAULT_MATH;
  int mode = 0;
};

std::map<void *, Object *> objects;

// own returns a description of a kind that was set, or null and a complaint.
Object *own(void *p, Kind kind, const char *function, bool set = true) {
  auto it = objects.find(p);
  if (it != objects.end() && it->second->kind == kind && it->second->set >= set) return it->second;
  bad(std::string(function) + ": an argument is of another kind, was destroyed or was not set");
  return nullptr;
}

int make(void **to, Kind kind) {
  Object *o = new Object;
  o->kind = kind;
  alive.insert(*to = o);
  objects[o] = o;
  return CUDNN_STATUS_SUCCESS;
}

int destroy(void *p, Kind kind, const char *function) {
  Object *o = own(p, kind, function, false);
  if (!o) return CUDNN_STATUS_BAD_PARAM;
  objects.erase(p), alive.erase(p);
  delete o;
  return CUDNN_STATUS_SUCCESS;
}

// Layout of the three kinds of cudnnConvolution…AlgoPerf_t.
struct Perf {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math, reserved[3];
};
static_assert(sizeof(Perf) == 48, "the size that scripts/check_vendor compares");

// Shape is the descriptions of a convolution, whatever is computed of it.
struct Shape {
  Object *x, *w, *y, *g;
};

// wrong says what is wrong with a shape, or "".
std::string wrong(const Shape &s) {
  if (s.x->n[0] != s.y->n[0] || s.w->n[0] != s.y->n[1] || s.w->n[1] * s.g->groups != s.x->n[1] ||
      s.w->n[0] % s.g->groups)
    return "images and filters do not fit";
  for (int i = 0; i < 2; i++) {
    int reach = s.g->dilation[i] * (s.w->n[i + 2] - 1) + 1;
    if ((s.x->n[i + 2] + 2 * s.g->pad[i] - reach) / s.g->stride[i] + 1 != s.y->n[i + 2]) return "sizes do not fit";
  }
  bool is_short = s.x->type == CUDNN_DATA_BFLOAT16;
  if (s.g->math != (is_short ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH)) return "F32 may be rounded to TF32";
  return "";
}

// taken returns a shape of live descriptions, or false and a complaint.
bool taken(void *handle, void *x, void *w, void *y, void *g, Shape &s, const char *function) {
  s = {own(x, tensor_kind, function), own(w, filter_kind, function), own(y, tensor_kind, function),
       own(g, geometry_kind, function)};
  if (!s.x || !s.w || !s.y || !s.g) return false;
  std::string text = handles.count(handle) ? wrong(s) : "no such handle";
  if (!text.empty()) bad(std::string(function) + ": " + text);
  return text.empty();
}

// propose lists algorithms of which the last alone is right: the others are not deterministic,
// transform, cannot run, or convert. Types must be equal.
int propose(const Shape &s, int wanted, int *found, void *results, const int (&algorithm)[4]) {
  if (s.x->type != s.w->type || s.x->type != s.y->type) return CUDNN_STATUS_NOT_SUPPORTED;
  if (wanted < 5) return bad("too few algorithms are asked for");
  Perf *r = (Perf *)results;
  r[0] = {algorithm[0], 0, 0, 0, CUDNN_NON_DETERMINISTIC, s.g->math, {}};
  r[1] = {algorithm[1], 0, 0, 0, CUDNN_DETERMINISTIC, s.g->math, {}};
  r[2] = {algorithm[3], CUDNN_STATUS_NOT_SUPPORTED, -1, 0, CUDNN_DETERMINISTIC, s.g->math, {}};
  r[3] = {algorithm[2], 0, 0, 0, CUDNN_DETERMINISTIC, CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, {}};
  r[4] = {algorithm[3], 0, 0, own_workspace, CUDNN_DETERMINISTIC, s.g->math, {}};
  *found = 5;
  return CUDNN_STATUS_SUCCESS;
}

int workspace(int algorithm, int right, size_t *bytes) {
  *bytes = algorithm == right ? own_workspace : (size_t)1 << 40;
  return CUDNN_STATUS_SUCCESS;
}

// add adds an image with its address to a job, a held one for address 0.
int add(Job &j, const Object *o, uint64_t at, std::string &text) {
  Image m = {};
  int64_t h = o->n[2], w = o->n[3], c = o->n[1];
  for (int i = 0; i < 4; i++) m.n[i] = o->n[i];
  m.stride[0] = h * w * c, m.stride[1] = 1, m.stride[2] = w * c, m.stride[3] = c;
  m.is_short = o->type == CUDNN_DATA_BFLOAT16, m.at = at;
  if (!at) m.held = std::make_shared<std::vector<float>>(m.extent());
  else if (!hgEmuHolds(at, m.extent() * (m.is_short ? 2 : 4))) text = "an argument is not in the device's memory";
  j.images.push_back(m);
  return (int)j.images.size() - 1;
}

// Run is a convolution to be queued.
struct Run {
  int kind, algorithm, right;
  uint64_t x, w, y, workspace;
  size_t size;
  float alpha, beta;
};

// begin makes the job of a convolution to y, which address 0 keeps within the job.
Job *begin(const Shape &s, const Run &r, std::string &text) {
  if (r.algorithm != r.right) text = "an algorithm runs that is to be refused";
  if (r.size < (size_t)own_workspace || !hgEmuHolds(r.workspace, r.size)) text = "the workspace is too small";
  Job *j = new Job; // never freed: graphs may repeat it
  j->workspace = r.workspace;
  Step step = {};
  step.kind = r.kind, step.alpha = r.alpha, step.beta = r.beta;
  for (int i = 0; i < 2; i++)
    step.dilation[i] = s.g->dilation[i], step.stride[i] = s.g->stride[i], step.pad[i] = s.g->pad[i];
  step.x = add(*j, s.x, r.x, text), step.w = add(*j, s.w, r.w, text), step.y = add(*j, s.y, r.y, text);
  j->steps.push_back(step);
  return j;
}

int finish(void *handle, Job *j, const std::string &text, const char *function) {
  if (!text.empty()) return bad(std::string(function) + ": " + text);
  queued++;
  return hgEmuQueue(((Handle *)handle)->stream, run, &j, sizeof j) ? CUDNN_STATUS_EXECUTION_FAILED
                                                                    : CUDNN_STATUS_SUCCESS;
}

int single(void *handle, const Shape &s, const Run &r, const char *function) {
  std::string text;
  Job *j = begin(s, r, text);
  return finish(handle, j, text, function);
}

const int forwards[] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_FFT,
                        CUDNN_CONVOLUTION_FWD_ALGO_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM};
const int datas[] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT,
                     CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
const int filters[] = {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT,
                       CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};

float number(const void *p) { return *(const float *)p; }

} // namespace

HG_API int cudnnCreateTensorDescriptor(void **to) { HG_INJECT; return make(to, tensor_kind); }
HG_API int cudnnCreateFilterDescriptor(void **to) { HG_INJECT; return make(to, filter_kind); }
HG_API int cudnnCreateConvolutionDescriptor(void **to) { HG_INJECT; return make(to, geometry_kind); }
HG_API int cudnnCreateActivationDescriptor(void **to) { HG_INJECT; return make(to, activation_kind); }
HG_API int cudnnDestroyTensorDescriptor(void *p) { return destroy(p, tensor_kind, __func__); }
HG_API int cudnnDestroyFilterDescriptor(void *p) { return destroy(p, filter_kind, __func__); }
HG_API int cudnnDestroyConvolutionDescriptor(void *p) { return destroy(p, geometry_kind, __func__); }
HG_API int cudnnDestroyActivationDescriptor(void *p) { return destroy(p, activation_kind, __func__); }

HG_API int cudnnSetTensor4dDescriptor(void *p, int format, int type, int n, int c, int h, int w) {
  HG_INJECT;
  Object *o = own(p, tensor_kind, __func__, false);
  if (!o || format != CUDNN_TENSOR_NHWC || (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_BFLOAT16))
    return bad("cudnnSetTensor4dDescriptor: a wrong layout or type");
  o->type = type, o->n[0] = n, o->n[1] = c, o->n[2] = h, o->n[3] = w, o->set = true;
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnSetFilter4dDescriptor(void *p, int type, int format, int k, int c, int h, int w) {
  HG_INJECT;
  Object *o = own(p, filter_kind, __func__, false);
  if (!o || format != CUDNN_TENSOR_NHWC || (type != CUDNN_DATA_FLOAT && type != CUDNN_DATA_BFLOAT16))
    return bad("cudnnSetFilter4dDescriptor: a wrong layout or type");
  o->type = type, o->n[0] = k, o->n[1] = c, o->n[2] = h, o->n[3] = w, o->set = true;
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnSetConvolution2dDescriptor(void *p, int pad_h, int pad_w, int u, int v, int dilation_h, int dilation_w,
                                           int mode, int type) {
  HG_INJECT;
  Object *o = own(p, geometry_kind, __func__, false);
  if (!o || mode != CUDNN_CROSS_CORRELATION || type != CUDNN_DATA_FLOAT || u < 1 || v < 1 || dilation_h < 1 ||
      dilation_w < 1)
    return bad("cudnnSetConvolution2dDescriptor: a wrong argument");
  o->pad[0] = pad_h, o->pad[1] = pad_w, o->stride[0] = u, o->stride[1] = v, o->dilation[0] = dilation_h,
  o->dilation[1] = dilation_w, o->set = true;
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnSetConvolutionGroupCount(void *p, int groups) {
  HG_INJECT;
  Object *o = own(p, geometry_kind, __func__);
  if (!o || groups < 1) return bad("cudnnSetConvolutionGroupCount: a wrong argument");
  o->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnSetConvolutionMathType(void *p, int math) {
  HG_INJECT;
  Object *o = own(p, geometry_kind, __func__);
  if (!o || math < CUDNN_DEFAULT_MATH || math > CUDNN_FMA_MATH)
    return bad("cudnnSetConvolutionMathType: a wrong argument");
  o->math = math;
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnSetActivationDescriptor(void *p, int mode, int nan, double) {
  HG_INJECT;
  Object *o = own(p, activation_kind, __func__, false);
  if (!o || (mode != CUDNN_ACTIVATION_RELU && mode != CUDNN_ACTIVATION_IDENTITY) || nan != CUDNN_PROPAGATE_NAN)
    return bad("cudnnSetActivationDescriptor: a wrong argument, or NaN is lost");
  o->mode = mode, o->set = true;
  return CUDNN_STATUS_SUCCESS;
}

HG_API int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *x, void *w, void *g, void *y, int wanted,
                                                  int *found, void *results) {
  HG_INJECT;
  Shape s;
  if (!taken(handle, x, w, y, g, s, __func__)) return CUDNN_STATUS_BAD_PARAM;
  return propose(s, wanted, found, results, forwards);
}

HG_API int cudnnGetConvolutionBackwardDataAlgorithm_v7(void *handle, void *w, void *dy, void *g, void *dx, int wanted,
                                                       int *found, void *results) {
  HG_INJECT;
  Shape s;
  if (!taken(handle, dx, w, dy, g, s, __func__)) return CUDNN_STATUS_BAD_PARAM;
  return propose(s, wanted, found, results, datas);
}

HG_API int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void *handle, void *x, void *dy, void *g, void *dw, int wanted,
                                                         int *found, void *results) {
  HG_INJECT;
  Shape s;
  if (!taken(handle, x, dw, dy, g, s, __func__)) return CUDNN_STATUS_BAD_PARAM;
  return propose(s, wanted, found, results, filters);
}

HG_API int cudnnGetConvolutionForwardWorkspaceSize(void *handle, void *x, void *w, void *g, void *y, int algorithm,
                                                   size_t *bytes) {
  HG_INJECT;
  Shape s;
  if (!taken(handle, x, w, y, g, s, __func__)) return CUDNN_STATUS_BAD_PARAM;
  return workspace(algorithm, forwards[3], bytes);
}

HG_API int cudnnGetConvolutionBackwardDataWorkspaceSize(void *handle, void *w, void *dy, void *g, void *dx,
                                                        int algorithm, size_t *bytes) {
  HG_INJECT;
  Shape s;
  if (!taken(handle, dx, w, dy, g, s, __func__)) return CUDNN_STATUS_BAD_PARAM;
  return workspace(algorithm, datas[3], bytes);
}

HG_API int cudnnGetConvolutionBackwardFilterWorkspaceSize(void *handle, void *x, void *dy, void *g, void *dw,
                                                          int algorithm, size_t *bytes) {
  HG_INJECT;
  Shape s;
  if (!taken(handle, x, dw, dy, g, s, __func__)) return CUDNN_STATUS_BAD_PARAM;
  return workspace(algorithm, filters[3], bytes);
}

HG_API int cudnnConvolutionForward(void *handle, const void *alpha, void *x, uint64_t px, void *w, uint64_t pw, void *g,
                                   int algorithm, uint64_t room, size_t size, const void *beta, void *y, uint64_t py) {
  HG_INJECT;
  Shape s;
  if (!taken(handle, x, w, y, g, s, __func__)) return CUDNN_STATUS_BAD_PARAM;
  return single(handle, s, {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, algorithm, forwards[3], px, pw, py,
                            room, size, number(alpha), number(beta)}, __func__);
}

HG_API int cudnnConvolutionBackwardData(void *handle, const void *alpha, void *w, uint64_t pw, void *dy, uint64_t py,
                                        void *g, int algorithm, uint64_t room, size_t size, const void *beta, void *dx,
                                        uint64_t px) {
  HG_INJECT;
  Shape s;
  if (!taken(handle, dx, w, dy, g, s, __func__)) return CUDNN_STATUS_BAD_PARAM;
  return single(handle, s, {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, algorithm, datas[3], px, pw,
                            py, room, size, number(alpha), number(beta)}, __func__);
}

HG_API int cudnnConvolutionBackwardFilter(void *handle, const void *alpha, void *x, uint64_t px, void *dy, uint64_t py,
                                          void *g, int algorithm, uint64_t room, size_t size, const void *beta,
                                          void *dw, uint64_t pw) {
  HG_INJECT;
  Shape s;
  if (!taken(handle, x, dw, dy, g, s, __func__)) return CUDNN_STATUS_BAD_PARAM;
  return single(handle, s, {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, algorithm, filters[3], px,
                            pw, py, room, size, number(alpha), number(beta)}, __func__);
}

// z may be any address if its factor is 0.
HG_API int cudnnConvolutionBiasActivationForward(void *handle, const void *alpha, void *x, uint64_t px, void *w,
                                                 uint64_t pw, void *g, int algorithm, uint64_t room, size_t size,
                                                 const void *alpha2, void *z, uint64_t pz, void *bias, uint64_t pb,
                                                 void *activation, void *y, uint64_t py) {
  HG_INJECT;
  Shape s;
  Object *a = own(activation, activation_kind, __func__), *b = own(bias, tensor_kind, __func__);
  Object *r = own(z, tensor_kind, __func__);
  if (!taken(handle, x, w, y, g, s, __func__) || !a || !b || !r) return CUDNN_STATUS_BAD_PARAM;
  std::string text;
  if (b->type != s.y->type || b->n[0] * b->n[2] * b->n[3] != 1 || b->n[1] != s.y->n[1]) text = "the bias does not fit";
  if (memcmp(r->n, s.y->n, sizeof r->n) || r->type != s.y->type) text = "z does not fit";
  if (number(alpha2) != 0 && number(alpha2) != 1) text = "z has a factor that is not imitated";
  Job *j = begin(s, {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, algorithm, forwards[3], px, pw, 0, room,
                     size, number(alpha), 0}, text);
  int at = j->steps[0].y;
  auto then = [&](int mode, int operand, uint64_t to) {
    Step step = {};
    step.kind = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, step.mode = mode;
    step.x = at, step.w = operand, step.y = at = add(*j, s.y, to, text);
    j->steps.push_back(step);
  };
  bool last = a->mode == CUDNN_ACTIVATION_IDENTITY;
  if (number(alpha2) == 1) then(CUDNN_POINTWISE_ADD, add(*j, r, pz, text), 0);
  then(CUDNN_POINTWISE_ADD, add(*j, b, pb, text), last ? py : 0);
  if (!last) then(CUDNN_POINTWISE_RELU_FWD, -1, py);
  return finish(handle, j, text, __func__);
}
