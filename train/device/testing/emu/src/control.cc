// Functions of the emulator itself, for tests. The real driver has none of them.
#include "api.h"

using namespace hg_emu;

// hgEmuLastError returns the text of the last error of any call, or an empty one. It
// holds until the next.
HG_API const char *hgEmuLastError() {
  static std::string copy;
  Call call(__func__, need_nothing);
  copy = last_error;
  return copy.c_str();
}

// hgEmuOrder sets the order as HGLD_EMU_ORDER does; hgEmuFail, hgEmuMemory and hgEmuVersion do
// what their variables do. They return 0, or 1 for what they do not understand.
HG_API int hgEmuOrder(const char *text) {
  Call call(__func__, need_nothing);
  return order_set(text) ? 0 : 1;
}

HG_API int hgEmuFail(const char *text) {
  Call call(__func__, need_nothing);
  return fail_set(text) ? 0 : 1;
}

// hgEmuReset sets all back to what the environment says.
HG_API int hgEmuReset() {
  Call call(__func__, need_nothing);
  return options_reset().empty() ? 0 : 1;
}

HG_API int hgEmuVersion(int version) {
  Call call(__func__, need_nothing);
  driver_version = version;
  return 0;
}

HG_API int hgEmuMemory(u64 bytes) {
  Call call(__func__, need_nothing);
  if (bytes == 0) return 1;
  memory_limit = bytes;
  return 0;
}
