#include "module.h"

#include "codes.h"

#include <cstdlib>
#include <cstring>
#include <elf.h>

namespace hg_emu {

// bytes_of is the size of a PTX type such as .u64 or .b8; 0 if it is not known.
static u32 bytes_of(const std::string &type) {
  if (type.size() < 3 || type[0] != '.' || !strchr("usfb", type[1])) return 0;
  int bits = atoi(type.c_str() + 2);
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 ? (u32)bits / 8 : 0;
}

static std::vector<std::string> words_of(const std::string &text) {
  std::vector<std::string> words;
  size_t at = 0;
  while ((at = text.find_first_not_of(" \t\r\n", at)) != std::string::npos) {
    size_t end = text.find_first_of(" \t\r\n", at);
    words.push_back(text.substr(at, end - at));
    if (end == std::string::npos) break;
    at = end;
  }
  return words;
}

// parameter_size reads one declaration: .param [.align n] .type [.ptr …] name[count].
static u32 parameter_size(const std::string &declaration) {
  std::vector<std::string> words = words_of(declaration);
  if (words.size() < 3 || words[0] != ".param") return 0;
  size_t at = words[1] == ".align" ? 3 : 1;
  u32 bytes = at < words.size() ? bytes_of(words[at]) : 0;
  const std::string &name = words.back();
  size_t bracket = name.find('[');
  return bracket == std::string::npos ? bytes : bytes * (u32)atoi(name.c_str() + bracket + 1);
}

// parse_entry reads what follows ".entry": name ( parameters ) directives {
static std::string parse_entry(const std::string &text, size_t at, std::map<std::string, Entry> &entries) {
  size_t open = text.find('(', at), brace = text.find('{', at);
  if (brace == std::string::npos) return "an .entry has no body";
  std::vector<std::string> words = words_of(text.substr(at, (open < brace ? open : brace) - at));
  if (words.empty()) return "an .entry has no name";
  const std::string &name = words[0];
  Entry entry;
  size_t close = at;
  if (open < brace) {
    close = text.find(')', open);
    if (close == std::string::npos || close > brace) return "the parameters of " + name + " have no end";
    std::string list = text.substr(open + 1, close - open - 1);
    for (size_t from = 0; from < list.size();) {
      size_t comma = list.find(',', from);
      if (comma == std::string::npos) comma = list.size();
      std::string one = list.substr(from, comma - from);
      from = comma + 1;
      if (words_of(one).empty()) continue;
      u32 size = parameter_size(one);
      if (size == 0) return "a parameter of " + name + " is not understood: " + one;
      entry.sizes.push_back(size);
    }
  }
  size_t limit = text.find(".maxntid", close);
  if (limit < brace) {
    int x = 1, y = 1, z = 1;
    sscanf(text.c_str() + limit, ".maxntid %d , %d , %d", &x, &y, &z);
    entry.threads = x * y * z;
  }
  entries[name] = entry;
  return "";
}

std::string ptx_parse(const char *ptx, std::map<std::string, Entry> &entries) {
  std::string text;
  for (const char *p = ptx; *p; p++) { // without comments
    if (p[0] == '/' && p[1] == '/') p = strchr(p, '\n') ? strchr(p, '\n') : p + strlen(p) - 1;
    text += *p;
  }
  if (text.find(".version") == std::string::npos) return "the image is no PTX: it has no .version";
  for (size_t at = 0; (at = text.find(".entry", at)) != std::string::npos;) {
    at += strlen(".entry");
    std::string wrong = parse_entry(text, at, entries);
    if (!wrong.empty()) return "PTX: " + wrong;
  }
  return "";
}

// read_attributes reads a kernel's attributes in machine code: format, kind, two bytes of size, value.
static Entry read_attributes(const unsigned char *at, const unsigned char *end) {
  Entry entry;
  while (end - at >= 4) {
    const unsigned char *value = at + 4;
    u32 words[3] = {0, 0, 0}, size = at[0] == 4 ? at[2] | at[3] << 8 : 0; // only format 4 has a value of its own
    if (size > (size_t)(end - value)) break;
    if (size >= sizeof words) memcpy(words, value, sizeof words);
    if (at[0] == 4 && at[1] == 0x17) { // a parameter: index, ordinal and offset, and its bytes from bit 18 on
      u32 ordinal = words[1] & 0xFFFF;
      if (entry.sizes.size() <= ordinal) entry.sizes.resize(ordinal + 1);
      entry.sizes[ordinal] = words[2] >> 18;
    }
    if (at[0] == 4 && at[1] == 5) entry.threads = (int)(words[0] * words[1] * words[2]);
    at = value + size;
  }
  return entry;
}

int cubin_parse(const void *image, std::map<std::string, Entry> &entries) {
  const unsigned char *bytes = (const unsigned char *)image;
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
  if (header->e_machine != EM_CUDA || header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum)
    return error_invalid_image;
  if ((header->e_flags & 0xFF) != 80) return error_no_binary; // of the card that cuDeviceGetAttribute describes
  const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);
  const char *names = (const char *)bytes + sections[header->e_shstrndx].sh_offset;
  const std::string prefix = ".nv.info.";
  for (int i = 0; i < header->e_shnum; i++) {
    std::string name = names + sections[i].sh_name;
    if (name.compare(0, prefix.size(), prefix) != 0) continue;
    const unsigned char *from = bytes + sections[i].sh_offset;
    entries[name.substr(prefix.size())] = read_attributes(from, from + sections[i].sh_size);
  }
  return success;
}

const Kernel *kernel_find(const std::string &name) {
  for (const Kernel *k = kernels; k; k = k->next)
    if (name == k->name) return k;
  return nullptr;
}

std::string kernel_differs(const Entry &entry, const Kernel &kernel) {
  std::string before = std::string("kernel ") + kernel.name + ": the module is not of this source: ";
  if ((int)entry.sizes.size() != kernel.parameters)
    return before + "it has " + std::to_string(entry.sizes.size()) + " parameters, the source " +
           std::to_string(kernel.parameters);
  for (int i = 0; i < kernel.parameters; i++)
    if (entry.sizes[i] != kernel.sizes[i])
      return before + "parameter " + std::to_string(i) + " has " + std::to_string(entry.sizes[i]) +
             " bytes, in the source " + std::to_string(kernel.sizes[i]);
  if (entry.threads != 0 && entry.threads != kernel.threads)
    return before + "it allows " + std::to_string(entry.threads) + " threads, the source " +
           std::to_string(kernel.threads);
  return "";
}

} // namespace hg_emu
