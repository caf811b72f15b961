// Faults of kernels, which become errors instead of ending the process.
#pragma once

namespace hg_emu {

// fault_install puts our signal handlers before those that are installed.
void fault_install();

// Executing is held while the library runs queued work. Device memory is accessible
// to this thread's kernels and copies, and closed again at the end.
struct Executing {
  Executing();
  ~Executing();
};

} // namespace hg_emu
