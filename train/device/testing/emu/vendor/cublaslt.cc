// An imitation of libcublasLt.so.12: the functions that package vendor calls.
#include "imitation.h"

#include <cmath>

// Numbers of cublasLt.h; scripts/check_vendor compares them.
enum {
  CUDA_R_32F = 0,
  CUDA_R_16BF = 14,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_BGRADB = 512,
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
};

namespace {

const uint32_t is_handle = 0x48414e44, is_layout = 0x4c41594f, is_desc = 0x44455343, is_prefer = 0x50524546;

struct Handle {
  uint32_t kind = is_handle;
};

struct Layout {
  uint32_t kind = is_layout;
  int type = 0;
  int64_t rows = 0, cols = 0, ld = 0, next = 0;
  int batch = 1;
};

struct Desc {
  uint32_t kind = is_desc;
  int trans[2] = {0, 0};
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  uint64_t bias = 0;
  int bias_type = -1;
};

struct Prefer {
  uint32_t kind = is_prefer;
  uint64_t workspace = 0;
  uint32_t reductions = 7, align[4] = {256, 256, 256, 256};
};

std::set<void *> alive;

// as returns an object that is alive and of a kind, or complains.
template <class T> T *as(void *p, const char *function) {
  T fresh;
  if (alive.count(p) && ((T *)p)->kind == fresh.kind) return (T *)p;
  complain(0, std::string(function) + ": an argument is none of its kind, or was destroyed");
  return nullptr;
}

template <class T> int make(void **to, T *&object) {
  object = new T;
  alive.insert(object);
  *to = object;
  return CUBLAS_STATUS_SUCCESS;
}

template <class T> int destroy(void *p, const char *function) {
  T *object = as<T>(p, function);
  if (!object) return CUBLAS_STATUS_INVALID_VALUE;
  alive.erase(p);
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

// Algorithm is our cublasLtMatmulAlgo_t. It remembers for what it was chosen.
struct Algorithm {
  uint64_t magic, shape, align[4], workspace, unused;
};
const uint64_t magic = 0x616c676f72697468;

struct Result {
  Algorithm algorithm;
  size_t workspace;
  int status;
  float waves;
  int reserved[4];
};

const size_t own_workspace = 4096;

uint64_t shape_of(const Desc &d, const Layout *const (&m)[4]) {
  uint64_t h = d.trans[0] + 2 * d.trans[1] + 4 * d.epilogue;
  for (const Layout *l : m)
    for (int64_t v : {(int64_t)l->type, l->rows, l->cols, l->ld, l->next, (int64_t)l->batch}) h = h * 1000003 + v;
  return h;
}

// wrong returns what does not fit together in a product, or "".
std::string wrong(const Desc &d, const Layout *const (&m)[4]) {
  const Layout &a = *m[0], &b = *m[1], &c = *m[2], &out = *m[3];
  int64_t rows = d.trans[0] ? a.cols : a.rows, inner = d.trans[0] ? a.rows : a.cols;
  int64_t inner_b = d.trans[1] ? b.cols : b.rows, cols = d.trans[1] ? b.rows : b.cols;
  if (inner != inner_b || out.rows != rows || out.cols != cols) return "the sizes of A, B and D do not fit";
  if (c.rows != rows || c.cols != cols || c.ld != out.ld || c.type != out.type || c.next != out.next)
    return "C and D differ";
  if (a.type != b.type) return "A and B have different types";
  if (a.type == CUDA_R_32F && out.type != CUDA_R_32F) return "F32 factors and a shorter result";
  for (const Layout *l : m) {
    if (l->ld < l->rows) return "a leading dimension is less than the rows";
    if (l->batch != out.batch) return "batches of different sizes";
    if (l->batch > 1 && l->next == 0) return "a batch without an offset";
  }
  if (d.epilogue & (CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADB)) {
    if (d.bias_type != out.type) return "the bias has not the type of D";
    if (d.bias == 0) return "no bias";
    if (d.epilogue == CUBLASLT_EPILOGUE_BGRADB && out.batch > 1) return "sums of a batch";
  }
  uint32_t known = CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_GELU;
  if (d.epilogue != CUBLASLT_EPILOGUE_DEFAULT && d.epilogue != CUBLASLT_EPILOGUE_BGRADB && d.epilogue & ~known) return "an unknown epilogue";
  return "";
}

// Job is a product to compute.
struct Job {
  Desc d;
  Layout a, b, out;
  uint64_t pa, pb, pc, pd, bias, workspace;
  float alpha, beta;
};

float activated(uint32_t epilogue, float v) {
  if (epilogue & CUBLASLT_EPILOGUE_RELU) return v > 0 ? v : 0;
  if (epilogue & CUBLASLT_EPILOGUE_GELU) return 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
  return v;
}

// sum_second stores the sums of B along the dimension that is multiplied, for each column of D.
void sum_second(const Job &j) {
  int64_t inner = j.d.trans[0] ? j.a.rows : j.a.cols;
  for (int64_t col = 0; col < j.out.cols; col++) {
    double sum = 0;
    for (int64_t i = 0; i < inner; i++)
      sum += load((void *)j.pb, j.b.type == CUDA_R_16BF, j.d.trans[1] ? col + i * j.b.ld : i + col * j.b.ld);
    store((void *)j.bias, j.out.type == CUDA_R_16BF, col, (float)sum);
  }
}

void multiply(const void *data) {
  const Job &j = *(const Job *)data;
  memset((void *)j.workspace, 0xa5, own_workspace);
  bool in16 = j.a.type == CUDA_R_16BF, out16 = j.out.type == CUDA_R_16BF;
  int64_t inner = j.d.trans[0] ? j.a.rows : j.a.cols;
  for (int n = 0; n < j.out.batch; n++)
    for (int64_t col = 0; col < j.out.cols; col++)
      for (int64_t row = 0; row < j.out.rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < inner; i++) {
          int64_t ia = j.d.trans[0] ? i + row * j.a.ld : row + i * j.a.ld;
          int64_t ib = j.d.trans[1] ? col + i * j.b.ld : i + col * j.b.ld;
          sum += (double)load((void *)j.pa, in16, ia + n * j.a.next) * load((void *)j.pb, in16, ib + n * j.b.next);
        }
        int64_t at = row + col * j.out.ld + n * j.out.next;
        double v = j.alpha * sum;
        if (j.beta != 0) v += j.beta * load((void *)j.pc, out16, at);
        if (j.d.epilogue & CUBLASLT_EPILOGUE_BIAS) v += load((void *)j.bias, out16, row);
        store((void *)j.pd, out16, at, activated(j.d.epilogue, (float)v));
      }
  if (j.d.epilogue == CUBLASLT_EPILOGUE_BGRADB) sum_second(j);
}

// reach is the number of elements from the first to the last of a batch of matrices.
int64_t reach(const Layout &l) { return (l.batch - 1) * l.next + (l.cols - 1) * l.ld + l.rows; }

bool inside(uint64_t address, const Layout &l) {
  return hgEmuHolds(address, reach(l) * (l.type == CUDA_R_16BF ? 2 : 4));
}

template <class T> bool take(T &to, const void *from, size_t size) {
  if (size != sizeof to) return false;
  memcpy(&to, from, size);
  return true;
}

} // namespace

#define HG_INJECT                                              \
  if (int code = hgEmuInjected(__func__)) return code

HG_API size_t cublasLtGetVersion() { return 120805; }

HG_API const char *cublasLtGetStatusName(int status) {
  switch (status) {
  case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
  case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
  case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
  case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
  case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "CUBLAS_STATUS_UNKNOWN";
}

HG_API int cublasLtCreate(void **to) {
  HG_INJECT;
  Handle *h;
  return make(to, h);
}

HG_API int cublasLtDestroy(void *p) { return destroy<Handle>(p, __func__); }

HG_API int cublasLtMatrixLayoutCreate(void **to, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  HG_INJECT;
  if (type != CUDA_R_32F && type != CUDA_R_16BF) return complain(CUBLAS_STATUS_INVALID_VALUE, "a layout of another type");
  if (rows == 0 || cols == 0) return complain(CUBLAS_STATUS_INVALID_VALUE, "an empty layout");
  Layout *l;
  make(to, l);
  l->type = type, l->rows = rows, l->cols = cols, l->ld = ld;
  return CUBLAS_STATUS_SUCCESS;
}

HG_API int cublasLtMatrixLayoutDestroy(void *p) { return destroy<Layout>(p, __func__); }

HG_API int cublasLtMatrixLayoutSetAttribute(void *p, int attribute, const void *value, size_t size) {
  HG_INJECT;
  Layout *l = as<Layout>(p, __func__);
  if (!l) return CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && take(l->batch, value, size)) return CUBLAS_STATUS_SUCCESS;
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && take(l->next, value, size))
    return CUBLAS_STATUS_SUCCESS;
  return complain(CUBLAS_STATUS_INVALID_VALUE, "an attribute of a layout is unknown or has a wrong size");
}

HG_API int cublasLtMatmulDescCreate(void **to, int compute, int scale) {
  HG_INJECT;
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F)
    return complain(CUBLAS_STATUS_INVALID_VALUE, "a product is not computed in F32");
  Desc *d;
  return make(to, d);
}

HG_API int cublasLtMatmulDescDestroy(void *p) { return destroy<Desc>(p, __func__); }

HG_API int cublasLtMatmulDescSetAttribute(void *p, int attribute, const void *value, size_t size) {
  HG_INJECT;
  Desc *d = as<Desc>(p, __func__);
  if (!d) return CUBLAS_STATUS_INVALID_VALUE;
  bool ok = false;
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA: ok = take(d->trans[0], value, size); break;
  case CUBLASLT_MATMUL_DESC_TRANSB: ok = take(d->trans[1], value, size); break;
  case CUBLASLT_MATMUL_DESC_EPILOGUE: ok = take(d->epilogue, value, size); break;
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER: ok = take(d->bias, value, size); break;
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: ok = take(d->bias_type, value, size); break;
  }
  if (ok && d->trans[0] < 2 && d->trans[1] < 2) return CUBLAS_STATUS_SUCCESS;
  return complain(CUBLAS_STATUS_INVALID_VALUE, "an attribute of a product is unknown or has a wrong size");
}

HG_API int cublasLtMatmulPreferenceCreate(void **to) {
  HG_INJECT;
  Prefer *p;
  return make(to, p);
}

HG_API int cublasLtMatmulPreferenceDestroy(void *p) { return destroy<Prefer>(p, __func__); }

HG_API int cublasLtMatmulPreferenceSetAttribute(void *p, int attribute, const void *value, size_t size) {
  HG_INJECT;
  Prefer *f = as<Prefer>(p, __func__);
  if (!f) return CUBLAS_STATUS_INVALID_VALUE;
  bool ok = false;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) ok = take(f->workspace, value, size);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) ok = take(f->reductions, value, size);
  int side = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (side >= 0 && attribute <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES) ok = take(f->align[side], value, size);
  if (ok) return CUBLAS_STATUS_SUCCESS;
  return complain(CUBLAS_STATUS_INVALID_VALUE, "a preference is unknown or has a wrong size");
}

// The first proposal cannot run, so that the caller must look at the status. Two others can.
HG_API int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *out, void *prefer,
                                          int wanted, void *results, int *found) {
  HG_INJECT;
  Desc *d = as<Desc>(desc, __func__);
  Prefer *p = as<Prefer>(prefer, __func__);
  Layout *m[] = {as<Layout>(a, __func__), as<Layout>(b, __func__), as<Layout>(c, __func__), as<Layout>(out, __func__)};
  if (!as<Handle>(handle, __func__) || !d || !p || !m[0] || !m[1] || !m[2] || !m[3] || wanted < 3)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Layout *const all[4] = {m[0], m[1], m[2], m[3]};
  std::string text = wrong(*d, all);
  if (!text.empty()) return complain(CUBLAS_STATUS_INVALID_VALUE, "the heuristic: " + text);
  if (p->reductions != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
    return complain(CUBLAS_STATUS_INVALID_VALUE, "the heuristic may propose sums in the type of the result");
  if (p->workspace < own_workspace) return CUBLAS_STATUS_NOT_SUPPORTED;
  Result *r = (Result *)results;
  memset(r, 0xff, 3 * sizeof *r);
  r[0].status = CUBLAS_STATUS_NOT_SUPPORTED;
  r[1].algorithm = {magic, shape_of(*d, all), {p->align[0], p->align[1], p->align[2], p->align[3]}, own_workspace, 0};
  r[1].workspace = own_workspace;
  r[1].status = CUBLAS_STATUS_SUCCESS;
  r[2] = r[1];
  *found = 3;
  return CUBLAS_STATUS_SUCCESS;
}

HG_API int cublasLtMatmul(void *handle, void *desc, const void *alpha, uint64_t pa, void *a, uint64_t pb, void *b,
                          const void *beta, uint64_t pc, void *c, uint64_t pd, void *out, const void *algorithm,
                          uint64_t workspace, size_t size, void *stream) {
  HG_INJECT;
  Desc *d = as<Desc>(desc, __func__);
  Layout *m[] = {as<Layout>(a, __func__), as<Layout>(b, __func__), as<Layout>(c, __func__), as<Layout>(out, __func__)};
  if (!as<Handle>(handle, __func__) || !d || !m[0] || !m[1] || !m[2] || !m[3]) return CUBLAS_STATUS_INVALID_VALUE;
  const Layout *const all[4] = {m[0], m[1], m[2], m[3]};
  std::string text = wrong(*d, all);
  const Algorithm &g = *(const Algorithm *)algorithm;
  const uint64_t pointers[4] = {pa, pb, pc, pd};
  if (text.empty() && (g.magic != magic || g.shape != shape_of(*d, all))) text = "the algorithm is that of another product";
  for (int i = 0; i < 4 && text.empty(); i++) {
    if (!aligned(pointers[i], g.align[i])) text = "an address is aligned less than was said";
    if (!inside(pointers[i], *all[i])) text = "a matrix is not in the device's memory";
  }
  if (text.empty() && (size < own_workspace || !hgEmuHolds(workspace, size))) text = "the workspace is too small";
  bool sums = d->epilogue == CUBLASLT_EPILOGUE_BGRADB;
  size_t bias_bytes = (sums ? m[3]->cols : m[3]->rows) * (m[3]->type == CUDA_R_16BF ? 2 : 4);
  if (text.empty() && (sums || d->epilogue & CUBLASLT_EPILOGUE_BIAS) && !hgEmuHolds(d->bias, bias_bytes))
    text = "the bias is not in the device's memory";
  if (!text.empty()) return complain(CUBLAS_STATUS_INVALID_VALUE, "cublasLtMatmul: " + text);
  Job job = {*d, *m[0], *m[1], *m[3], pa, pb, pc, pd, d->bias, workspace, *(const float *)alpha, *(const float *)beta};
  queued++;
  return hgEmuQueue(stream, multiply, &job, sizeof job) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

// For tests: the complaints so far, the objects that are alive, and the products queued.
HG_API const char *hgBlasComplaints() { return complaints.c_str(); }
HG_API int hgBlasAlive() { return (int)alive.size(); }
HG_API int hgBlasQueued() { return queued; }
