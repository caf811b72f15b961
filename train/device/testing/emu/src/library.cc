// What a library that computes on the device needs of the emulator. The imitations of NVIDIA's
// libraries in ../vendor use these functions; the real driver has none of them.
#include "api.h"

#include <cstring>

using namespace hg_emu;

// hgEmuQueue queues work on a stream. When it runs, it gets a copy of the n bytes, and device
// memory is accessible. The result is a code.
HG_API int hgEmuQueue(void *handle, void (*work)(const void *), const void *data, size_t n) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> stream = stream_of(handle, call.context);
  if (!stream) return fail(error_invalid_handle, "a library queues work on no stream");
  std::shared_ptr<u8[]> copy(new u8[n]);
  memcpy(copy.get(), data, n);
  Op op;
  op.run = [=] {
    work(copy.get());
    return Failure();
  };
  return submit(*stream, std::move(op));
}

// hgEmuHolds reports whether n bytes at an address lie inside one allocation.
HG_API int hgEmuHolds(u64 address, size_t n) {
  Call call(__func__, need_nothing);
  return memory_holds(address, n) ? 1 : 0;
}

// hgEmuInjected counts a call of a library's function, and returns the code that HGLD_EMU_FAIL
// names for it, or 0.
HG_API int hgEmuInjected(const char *function) {
  Call call(__func__, need_nothing);
  return fail_injected(function);
}
