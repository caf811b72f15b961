#include "codes.h"

namespace hg_emu {

struct Named {
  int code;
  const char *name, *text;
};

static const Named table[] = {
    {success, "CUDA_SUCCESS", "no error"},
    {error_invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {error_out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {error_not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {error_device_unavailable, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {error_no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {error_invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {error_invalid_image, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {error_invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {error_no_binary, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {error_invalid_ptx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {error_compiler_not_found, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {error_unsupported_ptx, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {error_compilation_disabled, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "PTX JIT compilation was disabled"},
    {error_invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {error_illegal_state, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {error_not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {error_not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {error_illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {error_launch_out_of_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {error_misaligned_address, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {error_launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {error_not_supported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {error_system_not_ready, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {error_driver_mismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {error_capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {error_capture_invalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {error_capture_merge, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {error_capture_unmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
     "capture was not ended in the same stream as it began"},
    {error_capture_unjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {error_capture_isolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
     "dependency created on uncaptured work in another stream"},
    {error_captured_event, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {error_capture_wrong_thread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {error_unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const char *code_name(int code) {
  for (const Named &n : table)
    if (n.code == code) return n.name;
  return nullptr;
}

const char *code_text(int code) {
  for (const Named &n : table)
    if (n.code == code) return n.text;
  return nullptr;
}

} // namespace hg_emu
