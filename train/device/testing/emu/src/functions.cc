// Modules, functions and launches as the driver's functions offer them.
#include "api.h"

#include <cstdio>
#include <cstring>
#include <set>

using namespace hg_emu;

namespace hg_emu {

std::map<void *, std::unique_ptr<Module>> modules;

static const int shared_per_block = 48 << 10;
static const int shared_per_block_optin = 99 << 10;

static std::set<void *> functions; // of all modules

Module::~Module() {
  for (auto &[name, f] : functions) hg_emu::functions.erase(f.get());
}

static Function *function_of(void *handle) { return functions.count(handle) ? (Function *)handle : nullptr; }

static int load(Context *context, void **module, const void *image) {
  if (int code = capture_forbids(false)) return code;
  auto m = std::make_unique<Module>();
  m->owner = context;
  if (memcmp(image, "\x7f" "ELF", 4) == 0) {
    if (int code = cubin_parse(image, m->entries)) return fail(code, "not machine code for compute capability 8.0");
  } else {
    std::string wrong = ptx_parse((const char *)image, m->entries);
    if (!wrong.empty()) return fail(error_invalid_ptx, wrong);
  }
  *module = m.get();
  modules[m.get()] = std::move(m);
  return success;
}

} // namespace hg_emu

HG_API int cuModuleLoadData(void **module, const void *image) {
  HG_ENTER(need_context);
  return load(call.context, module, image);
}

// Of the options the buffer for errors (5, its size 6) is served.
HG_API int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values) {
  HG_ENTER(need_context);
  int code = load(call.context, module, image);
  char *log = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; i++) {
    if (options[i] == 5) log = (char *)values[i];
    if (options[i] == 6) size = (size_t)values[i];
  }
  if (log && size > 0) snprintf(log, size, "%s", code ? last_error.c_str() : "");
  return code;
}

// Launches that are queued still run: they hold what they need.
HG_API int cuModuleUnload(void *module) {
  HG_ENTER(need_context);
  if (int code = capture_forbids(false)) return code;
  return modules.erase(module) ? success : fail(error_invalid_handle, "cuModuleUnload: no such module");
}

HG_API int cuModuleGetFunction(void **function, void *module, const char *name) {
  HG_ENTER(need_context);
  auto m = modules.find(module);
  if (m == modules.end()) return fail(error_invalid_handle, "cuModuleGetFunction: no such module");
  auto entry = m->second->entries.find(name);
  if (entry == m->second->entries.end())
    return fail(error_not_found, std::string("the module has no kernel ") + name);
  const Kernel *kernel = kernel_find(name);
  if (!kernel) return fail(error_not_found, std::string("the emulator was built without a kernel ") + name);
  std::string wrong = kernel_differs(entry->second, *kernel);
  if (!wrong.empty()) {
    report_error(wrong);
    return error_invalid_ptx;
  }
  std::unique_ptr<Function> &f = m->second->functions[name];
  if (!f) f.reset(new Function{kernel, shared_per_block});
  functions.insert(f.get());
  *function = f.get();
  return success;
}

// Registers, local and static shared memory are not known here.
HG_API int cuFuncGetAttribute(int *value, int attribute, void *function) {
  HG_ENTER(need_context);
  Function *f = function_of(function);
  if (!f) return fail(error_invalid_handle, "cuFuncGetAttribute: no such function");
  switch (attribute) {
  case 0: *value = f->kernel->threads; break;
  case 1: case 2: case 3: case 7: *value = 0; break;
  case 4: *value = 32; break;
  case 5: case 6: *value = 80; break;
  case 8: *value = f->dynamic_limit; break;
  case 9: *value = -1; break;
  default: return fail(error_invalid_value, "unknown attribute " + std::to_string(attribute));
  }
  return success;
}

HG_API int cuFuncSetAttribute(void *function, int attribute, int value) {
  HG_ENTER(need_context);
  Function *f = function_of(function);
  if (!f) return fail(error_invalid_handle, "cuFuncSetAttribute: no such function");
  if (attribute == 9 && value >= -1 && value <= 100) return success;
  if (attribute != 8) return fail(error_invalid_value, "attribute " + std::to_string(attribute) + " cannot be set");
  if (value < 0 || value > shared_per_block_optin)
    return fail(error_invalid_value, "a block has at most " + std::to_string(shared_per_block_optin) +
                                         " bytes of shared memory, " + std::to_string(value) + " were asked for");
  f->dynamic_limit = value;
  return success;
}

HG_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
  HG_ENTER(need_context);
  Function *f = function_of(function);
  if (!f) return fail(error_invalid_handle, "cuOccupancyMaxActiveBlocksPerMultiprocessor: no such function");
  if (threads < 1) return error_invalid_value;
  size_t n = 2048 / ((threads + 31) / 32 * 32);
  if (shared > 0 && n > (100u << 10) / (shared + 1024)) n = (100u << 10) / (shared + 1024);
  *blocks = (int)(n < 32 ? n : 32);
  return success;
}

namespace {

// launch_wrong says what is wrong with the sizes of a launch; code is set then.
std::string launch_wrong(const Function &f, Dim grid, Dim threads, unsigned shared, int &code) {
  std::string name = std::string("kernel ") + f.kernel->name + ": ";
  char text[128];
  code = error_invalid_value;
  u64 n = (u64)threads.x * threads.y * threads.z;
  if (n == 0 || grid.x == 0 || grid.y == 0 || grid.z == 0) return name + "a launch without blocks or threads";
  snprintf(text, sizeof text, "a grid of %u × %u × %u, a block of %u × %u × %u", grid.x, grid.y, grid.z, threads.x,
           threads.y, threads.z);
  if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 || threads.z > 64 || n > (u64)most_threads)
    return name + text + ", more than a card has";
  if ((int)shared > f.dynamic_limit)
    return name + std::to_string(shared) + " bytes of dynamic shared memory, more than the " +
           std::to_string(f.dynamic_limit) + " allowed to it";
  code = error_launch_out_of_resources;
  if ((int)n > f.kernel->threads)
    return name + text + ", more than the " + std::to_string(f.kernel->threads) + " threads declared";
  code = success;
  return "";
}

// run_launch is what a queued launch does.
Failure run_launch(Launch &launch) {
  const char *name = launch.kernel->name;
  if (int code = fail_injected(name)) return {code, std::string("kernel ") + name + ": the failure that was asked for"};
  Failure f = launch_run(launch);
  if (f.code) return f;
  std::string damage = memory_check();
  if (damage.empty()) return f;
  return {error_illegal_address, std::string("kernel ") + name + " " + damage};
}

} // namespace

HG_API int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned threads_x,
                          unsigned threads_y, unsigned threads_z, unsigned shared, void *handle, void **parameters,
                          void **extra) {
  HG_ENTER(need_context);
  Function *f = function_of(function);
  std::shared_ptr<Stream> stream = stream_of(handle, call.context);
  if (!f || !stream) return fail(error_invalid_handle, "cuLaunchKernel: no such function or stream");
  Dim grid = {grid_x, grid_y, grid_z}, threads = {threads_x, threads_y, threads_z};
  int code;
  std::string wrong = launch_wrong(*f, grid, threads, shared, code);
  if (code) return fail(code, wrong);
  if (extra || (!parameters && f->kernel->parameters > 0))
    return fail(error_invalid_value, "cuLaunchKernel: arguments are taken from kernelParams only");
  auto launch = std::make_shared<Launch>();
  launch->kernel = f->kernel;
  launch->blocks = grid;
  launch->threads = threads;
  launch->shared = shared;
  launch->shared_limit = (u32)(f->dynamic_limit > shared_per_block ? shared_per_block_optin : shared_per_block);
  size_t bytes = 0;
  for (int i = 0; i < f->kernel->parameters; i++) bytes += (f->kernel->sizes[i] + 15) / 16 * 16;
  launch->storage.reset(new u8[bytes + 16]);
  u8 *at = launch->storage.get() + (16 - (uintptr_t)launch->storage.get() % 16) % 16;
  for (int i = 0; i < f->kernel->parameters; i++) {
    memcpy(at, parameters[i], f->kernel->sizes[i]);
    launch->arguments.push_back(at);
    at += (f->kernel->sizes[i] + 15) / 16 * 16;
  }
  Op op;
  op.run = [launch] { return run_launch(*launch); };
  return submit(*stream, std::move(op));
}
