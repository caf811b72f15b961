// Memory of the device and of the host, and copies between them.
#include "api.h"
#include "fault.h"

#include <cstring>

using namespace hg_emu;

HG_API int cuMemGetInfo_v2(size_t *free, size_t *total) {
  HG_ENTER(need_context);
  *total = memory_limit;
  *free = memory_limit > memory_used() ? memory_limit - memory_used() : 0;
  return success;
}

HG_API int cuMemAlloc_v2(u64 *address, size_t size) {
  HG_ENTER(need_context);
  if (int code = capture_forbids(false)) return code;
  if (size == 0) return fail(error_invalid_value, "cuMemAlloc of 0 bytes");
  *address = memory_alloc(size, call.context);
  if (*address) return success;
  return fail(error_out_of_memory, "cuMemAlloc of " + std::to_string(size) + " bytes: " +
                                       std::to_string(memory_used()) + " of " + std::to_string(memory_limit) +
                                       " are in use");
}

// Like the real one, cuMemFree waits for all work: nothing queued uses freed memory.
HG_API int cuMemFree_v2(u64 address) {
  HG_ENTER(need_context);
  if (int code = capture_forbids(false)) return code;
  if (address == 0) return success;
  run_until([] { return false; });
  if (call.context->failure) return call.context->failure;
  if (!memory_holds(address, 1)) return fail(error_invalid_value, "cuMemFree of " + memory_describe(address));
  std::string damage = memory_free(address);
  if (damage.empty()) return success;
  fail_context(*call.context, {error_illegal_address, "something " + damage});
  return call.context->failure;
}

HG_API int cuMemHostAlloc(void **address, size_t size, unsigned) {
  HG_ENTER(need_context);
  if (int code = capture_forbids(false)) return code;
  if (size == 0) return fail(error_invalid_value, "cuMemHostAlloc of 0 bytes");
  *address = pinned_alloc(size, call.context);
  return *address ? success : error_out_of_memory;
}

HG_API int cuMemFreeHost(void *address) {
  HG_ENTER(need_context);
  if (int code = capture_forbids(false)) return code;
  if (pinned_free(address)) return success;
  return fail(error_invalid_value, "cuMemFreeHost of memory that cuMemHostAlloc did not give");
}

namespace {

// outside is the text of an error where n bytes are not inside an allocation.
std::string outside(const char *what, u64 address, size_t n) {
  if (memory_holds(address, n)) return "";
  return std::string(what) + " of " + std::to_string(n) + " bytes at " + memory_describe(address);
}

// copy_op copies n bytes when it runs; pinned is the memory of the host that must
// still be there then, or null.
Op copy_op(void *dst, const void *src, size_t n, const void *pinned) {
  Op op;
  op.run = [=] {
    if (pinned && !pinned_holds(pinned, n))
      return Failure{error_illegal_address, "a queued copy of " + std::to_string(n) +
                                                " bytes uses pinned memory that was freed before it ran"};
    memcpy(dst, src, n);
    return Failure();
  };
  return op;
}

// copy_now is a synchronous copy. It waits for the default stream alone.
int copy_now(Context *context, void *dst, const void *src, size_t n) {
  if (int code = capture_forbids(false)) return code;
  std::shared_ptr<Stream> first = stream_of(nullptr, context);
  run_some();
  run_until([&] { return first->queue.empty(); });
  if (context->failure) return context->failure;
  run_now(*context, [=] {
    memcpy(dst, src, n);
    return Failure();
  });
  return context->failure;
}

// finish runs a stream's work.
int finish(Stream &stream, Context *context) {
  run_until([&] { return stream.queue.empty(); });
  return context->failure;
}

} // namespace

HG_API int cuMemcpyHtoD_v2(u64 dst, const void *src, size_t n) {
  HG_ENTER(need_context);
  if (n == 0) return success;
  std::string wrong = outside("cuMemcpyHtoD", dst, n);
  if (!wrong.empty()) return fail(error_invalid_value, wrong);
  return copy_now(call.context, (void *)dst, src, n);
}

HG_API int cuMemcpyDtoH_v2(void *dst, u64 src, size_t n) {
  HG_ENTER(need_context);
  if (n == 0) return success;
  std::string wrong = outside("cuMemcpyDtoH", src, n);
  if (!wrong.empty()) return fail(error_invalid_value, wrong);
  return copy_now(call.context, dst, (const void *)src, n);
}

// Pinned memory is read when the copy runs. Other memory is read at the call, as the
// real driver does, which stages it.
HG_API int cuMemcpyHtoDAsync_v2(u64 dst, const void *src, size_t n, void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> stream = stream_of(handle, call.context);
  if (!stream) return fail(error_invalid_handle, "cuMemcpyHtoDAsync: no such stream");
  if (n == 0) return success;
  std::string wrong = outside("cuMemcpyHtoDAsync", dst, n);
  if (!wrong.empty()) return fail(error_invalid_value, wrong);
  if (pinned_holds(src, n)) return submit(*stream, copy_op((void *)dst, src, n, src));
  std::shared_ptr<u8[]> staged(new u8[n]);
  memcpy(staged.get(), src, n);
  Op op;
  op.run = [=] {
    memcpy((void *)dst, staged.get(), n);
    return Failure();
  };
  return submit(*stream, std::move(op));
}

// A copy to memory that is not pinned is done when the call returns.
HG_API int cuMemcpyDtoHAsync_v2(void *dst, u64 src, size_t n, void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> stream = stream_of(handle, call.context);
  if (!stream) return fail(error_invalid_handle, "cuMemcpyDtoHAsync: no such stream");
  if (n == 0) return success;
  std::string wrong = outside("cuMemcpyDtoHAsync", src, n);
  if (!wrong.empty()) return fail(error_invalid_value, wrong);
  bool pinned = pinned_holds(dst, n);
  if (!pinned && stream->capture) return capture_spoil(*stream);
  int code = submit(*stream, copy_op(dst, (const void *)src, n, pinned ? dst : nullptr));
  return code || pinned ? code : finish(*stream, call.context);
}

HG_API int cuMemcpyDtoDAsync_v2(u64 dst, u64 src, size_t n, void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> stream = stream_of(handle, call.context);
  if (!stream) return fail(error_invalid_handle, "cuMemcpyDtoDAsync: no such stream");
  if (n == 0) return success;
  std::string wrong = outside("cuMemcpyDtoDAsync: source", src, n) + outside("cuMemcpyDtoDAsync: destination", dst, n);
  if (!wrong.empty()) return fail(error_invalid_value, wrong);
  if (src < dst + n && dst < src + n) return fail(error_invalid_value, "cuMemcpyDtoDAsync between ranges that overlap");
  return submit(*stream, copy_op((void *)dst, (const void *)src, n, nullptr));
}

namespace {

// Copy2D is CUDA_MEMCPY2D of cuda.h; types: 1 host, 2 device.
struct Copy2D {
  size_t src_x, src_y;
  unsigned src_type;
  const u8 *src_host;
  u64 src_device;
  void *src_array;
  size_t src_pitch;
  size_t dst_x, dst_y;
  unsigned dst_type;
  u8 *dst_host;
  u64 dst_device;
  void *dst_array;
  size_t dst_pitch;
  size_t width, height;
};

} // namespace

HG_API int cuMemcpy2DAsync_v2(const Copy2D *c, void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> stream = stream_of(handle, call.context);
  if (!stream) return fail(error_invalid_handle, "cuMemcpy2DAsync: no such stream");
  if (c->width == 0 || c->height == 0) return success;
  if (c->src_pitch < c->src_x + c->width || c->dst_pitch < c->dst_x + c->width)
    return fail(error_invalid_value, "cuMemcpy2DAsync: a row is longer than the pitch");
  size_t src_bytes = (c->height - 1) * c->src_pitch + c->width, dst_bytes = (c->height - 1) * c->dst_pitch + c->width;
  const u8 *src = c->src_type == 1 ? c->src_host : (const u8 *)c->src_device;
  u8 *dst = c->dst_type == 1 ? c->dst_host : (u8 *)c->dst_device;
  src += c->src_y * c->src_pitch + c->src_x;
  dst += c->dst_y * c->dst_pitch + c->dst_x;
  for (int side = 0; side < 2; side++) {
    unsigned type = side == 0 ? c->src_type : c->dst_type;
    const u8 *at = side == 0 ? src : dst;
    size_t n = side == 0 ? src_bytes : dst_bytes;
    std::string wrong = type == 2 ? outside("cuMemcpy2DAsync", (u64)at, n) : "";
    if (type == 1 && !pinned_holds(at, n)) wrong = "cuMemcpy2DAsync: only pinned memory of the host is emulated";
    if (type != 1 && type != 2) wrong = "cuMemcpy2DAsync: only memory of host and device is emulated";
    if (!wrong.empty()) return fail(error_invalid_value, wrong);
  }
  size_t src_pitch = c->src_pitch, dst_pitch = c->dst_pitch, width = c->width, height = c->height;
  Op op;
  op.run = [=] {
    for (size_t row = 0; row < height; row++) memcpy(dst + row * dst_pitch, src + row * src_pitch, width);
    return Failure();
  };
  return submit(*stream, std::move(op));
}

HG_API int cuMemsetD8Async(u64 dst, unsigned char value, size_t n, void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> stream = stream_of(handle, call.context);
  if (!stream) return fail(error_invalid_handle, "cuMemsetD8Async: no such stream");
  if (n == 0) return success;
  std::string wrong = outside("cuMemsetD8Async", dst, n);
  if (!wrong.empty()) return fail(error_invalid_value, wrong);
  Op op;
  op.run = [=] {
    memset((void *)dst, value, n);
    return Failure();
  };
  return submit(*stream, std::move(op));
}

HG_API int cuMemsetD32Async(u64 dst, unsigned value, size_t n, void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> stream = stream_of(handle, call.context);
  if (!stream) return fail(error_invalid_handle, "cuMemsetD32Async: no such stream");
  if (n == 0) return success;
  std::string wrong = outside("cuMemsetD32Async", dst, n * 4);
  if (!wrong.empty()) return fail(error_invalid_value, wrong);
  if (dst % 4 != 0) return fail(error_invalid_value, "cuMemsetD32Async at an address that 4 does not divide");
  Op op;
  op.run = [=] {
    for (size_t i = 0; i < n; i++) ((u32 *)dst)[i] = value;
    return Failure();
  };
  return submit(*stream, std::move(op));
}
