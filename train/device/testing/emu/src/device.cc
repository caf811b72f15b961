// The device and its contexts.
#include "api.h"
#include "fault.h"
#include "options.h"

#include <cstdio>
#include <cstring>

using namespace hg_emu;

namespace hg_emu {

static std::mutex library;
bool initialised;
thread_local Context *current_context;
std::map<Context *, std::unique_ptr<Context>> contexts;

int fail(int code, const std::string &text) {
  keep_error(text);
  return code;
}

Call::Call(const char *function, Need need) : lock(library) {
  if (need >= need_driver && !initialised) {
    code = fail(error_not_initialized, std::string(function) + " before cuInit");
    return;
  }
  auto it = contexts.find(current_context); // it may have been destroyed
  context = it == contexts.end() ? nullptr : it->second.get();
  if (need == need_context && !context) {
    code = fail(error_invalid_context, std::string(function) + ": no context is current to the calling thread");
    return;
  }
  code = fail_injected(function);
  if (code) keep_error(std::string(function) + ": the failure that was asked for");
  if (need != need_context) return;
  if (code >= error_illegal_address && code <= error_launch_failed) fail_context(*context, {code, last_error});
  if (context->failure) code = context->failure;
}

static Context *context_new(bool primary, int device) {
  auto c = std::make_unique<Context>();
  Context *p = c.get();
  p->primary = primary;
  p->device = device;
  contexts[p] = std::move(c);
  return p;
}

// context_drop ends a context with all that belongs to it.
static void context_drop(Context *c) {
  run_until([] { return false; });
  drop_streams(c);
  drop(events, c);
  drop(graphs, c);
  drop(executables, c);
  drop(modules, c);
  memory_free_all(c);
  pinned_free_all(c);
  contexts.erase(c);
}

static Context *primary(int device) {
  for (auto &[p, c] : contexts)
    if (c->primary && c->device == device) return p;
  return nullptr;
}

// absent reports whether there is no such device.
static bool absent(int device) { return device < 0 || device >= devices; }

} // namespace hg_emu

// The environment comes first, which may ask for this very call to fail.
HG_API int cuInit(unsigned flags) {
  {
    Call before("", need_nothing);
    std::string wrong = options_from_environment();
    if (!wrong.empty()) {
      report_error(wrong);
      return error_invalid_value;
    }
  }
  HG_ENTER(need_nothing);
  if (flags != 0) return error_invalid_value;
  fault_install();
  initialised = true;
  return success;
}

HG_API int cuDriverGetVersion(int *version) {
  HG_ENTER(need_nothing);
  *version = driver_version;
  return success;
}

HG_API int cuDeviceGetCount(int *count) {
  HG_ENTER(need_driver);
  *count = devices;
  return success;
}

HG_API int cuDeviceGet(int *device, int ordinal) {
  HG_ENTER(need_driver);
  if (absent(ordinal)) return fail(error_invalid_device, "the emulator has no device " + std::to_string(ordinal));
  *device = ordinal;
  return success;
}

HG_API int cuDeviceGetName(char *name, int size, int device) {
  HG_ENTER(need_driver);
  if (absent(device)) return error_invalid_device;
  if (size <= 0) return error_invalid_value;
  snprintf(name, size, "hgld emulator");
  return success;
}

HG_API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  HG_ENTER(need_driver);
  if (absent(device)) return error_invalid_device;
  *bytes = memory_limit;
  return success;
}

HG_API int cuDeviceGetUuid(unsigned char *uuid, int device) {
  HG_ENTER(need_driver);
  if (absent(device)) return error_invalid_device;
  memcpy(uuid, "hgld emulator 01", 16);
  uuid[15] += device;
  return success;
}

// The numbers are those of an A100, for which the kernels' PTX is made (compute_80), but for shared
// memory: 99 KiB of a block are the least of the cards from compute capability 8.0 on (8.6, 8.9, 12.0).
HG_API int cuDeviceGetAttribute(int *value, int attribute, int device) {
  static const std::map<int, int> values = {
      {1, 1024},        {2, 1024},         {3, 1024},   {4, 64},      {5, 2147483647}, {6, 65535},   {7, 65535},
      {8, 48 << 10},    {9, 64 << 10},     {10, 32},    {11, 2147483647}, {12, 65536}, {13, 1410000}, {14, 512},
      {15, 1},          {16, 108},         {17, 0},     {18, 0},      {19, 1},         {20, 0},      {31, 1},
      {32, 1},          {33, 0},           {34, 0},     {36, 1215000}, {37, 5120},     {38, 40 << 20}, {39, 2048},
      {40, 3},          {41, 1},           {50, 0},     {75, 8},      {76, 0},         {78, 1},      {81, 100 << 10},
      {82, 65536},      {83, 0},           {88, 0},     {97, 99 << 10}, {106, 32},    {115, 0},
  };
  HG_ENTER(need_driver);
  if (absent(device)) return error_invalid_device;
  auto it = values.find(attribute);
  if (it == values.end()) return fail(error_invalid_value, "unknown attribute " + std::to_string(attribute));
  *value = it->second;
  return success;
}

HG_API int cuDevicePrimaryCtxRetain(void **context, int device) {
  HG_ENTER(need_driver);
  if (absent(device)) return error_invalid_device;
  Context *c = primary(device);
  if (!c) c = context_new(true, device);
  c->retained++;
  *context = c;
  return success;
}

HG_API int cuDevicePrimaryCtxRelease_v2(int device) {
  HG_ENTER(need_driver);
  if (absent(device)) return error_invalid_device;
  Context *c = primary(device);
  if (!c) return fail(error_invalid_context, "the primary context is not retained");
  if (--c->retained == 0) context_drop(c);
  return success;
}

HG_API int cuCtxCreate_v2(void **context, unsigned, int device) {
  HG_ENTER(need_driver);
  if (absent(device)) return error_invalid_device;
  *context = current_context = context_new(false, device);
  return success;
}

HG_API int cuCtxDestroy_v2(void *context) {
  HG_ENTER(need_driver);
  auto it = contexts.find((Context *)context);
  if (it == contexts.end() || it->second->primary) return error_invalid_context;
  if (current_context == context) current_context = nullptr;
  context_drop((Context *)context);
  return success;
}

HG_API int cuCtxSetCurrent(void *context) {
  HG_ENTER(need_driver);
  if (context && contexts.find((Context *)context) == contexts.end()) return error_invalid_context;
  current_context = (Context *)context;
  return success;
}

HG_API int cuCtxGetCurrent(void **context) {
  HG_ENTER(need_driver);
  *context = call.context;
  return success;
}

HG_API int cuCtxSynchronize() {
  HG_ENTER(need_context);
  if (int code = capture_forbids(true)) return code;
  Context *c = call.context;
  run_until([c] {
    for (auto &s : streams)
      if (s->owner == c && !s->queue.empty()) return false;
    return true;
  });
  return c->failure;
}

HG_API int cuGetErrorName(int code, const char **name) {
  *name = code_name(code);
  return *name ? success : error_invalid_value;
}

HG_API int cuGetErrorString(int code, const char **text) {
  *text = code_text(code);
  return *text ? success : error_invalid_value;
}
