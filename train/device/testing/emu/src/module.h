// Modules: what a PTX text, or machine code, says of its kernels.
#pragma once

#include "emu.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace hg_emu {

struct Context;

// Entry is a kernel as a module declares it.
struct Entry {
  std::vector<u32> sizes; // bytes of each parameter
  int threads = 0;        // at most in a block, 0 if it is not said
};

// Function is a kernel that a module gave out.
struct Function {
  const Kernel *kernel;
  int dynamic_limit; // bytes of dynamic shared memory that a launch may ask for
};

struct Module {
  Context *owner;
  std::map<std::string, Entry> entries;
  std::map<std::string, std::unique_ptr<Function>> functions; // that were asked for
  ~Module();
};

// ptx_parse reads the entries of a PTX text. It returns what is wrong with it, empty
// if nothing is.
std::string ptx_parse(const char *text, std::map<std::string, Entry> &entries);

// cubin_parse reads the kernels of machine code, which is an ELF file; it runs none of it. It returns a
// code of the driver.
int cubin_parse(const void *image, std::map<std::string, Entry> &entries);

// kernel_find returns the emulator's kernel of a name, or null; kernel_differs says
// how an entry differs from it, empty if it does not.
const Kernel *kernel_find(const std::string &name);
std::string kernel_differs(const Entry &entry, const Kernel &kernel);

} // namespace hg_emu
