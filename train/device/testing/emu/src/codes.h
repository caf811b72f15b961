// Results of the driver's functions, as cuda.h numbers them.
#pragma once

namespace hg_emu {

enum Code {
  success = 0,
  error_invalid_value = 1,
  error_out_of_memory = 2,
  error_not_initialized = 3,
  error_device_unavailable = 46,
  error_no_device = 100,
  error_invalid_device = 101,
  error_invalid_image = 200,
  error_invalid_context = 201,
  error_no_binary = 209,
  error_invalid_ptx = 218,
  error_compiler_not_found = 221,
  error_unsupported_ptx = 222,
  error_compilation_disabled = 223,
  error_invalid_handle = 400,
  error_illegal_state = 401,
  error_not_found = 500,
  error_not_ready = 600,
  error_illegal_address = 700,
  error_launch_out_of_resources = 701,
  error_misaligned_address = 716,
  error_launch_failed = 719,
  error_not_supported = 801,
  error_system_not_ready = 802,
  error_driver_mismatch = 803,
  error_capture_unsupported = 900,
  error_capture_invalidated = 901,
  error_capture_merge = 902,
  error_capture_unmatched = 903,
  error_capture_unjoined = 904,
  error_capture_isolation = 905,
  error_captured_event = 907,
  error_capture_wrong_thread = 908,
  error_unknown = 999,
};

// code_name and code_text are null for a number that no error has.
const char *code_name(int code);
const char *code_text(int code);

} // namespace hg_emu
