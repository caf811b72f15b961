#include "options.h"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace hg_emu {

Order order = order_forward;
static const size_t usual_memory = (size_t)2 << 30;
size_t memory_limit = usual_memory;
static const int usual_version = 12040;
int driver_version = usual_version;
int devices = 1;

static u64 random_state = 1;

bool order_set(const char *text) {
  if (strcmp(text, "forward") == 0) {
    order = order_forward;
    return true;
  }
  if (strcmp(text, "reversed") == 0) {
    order = order_reversed;
    return true;
  }
  if (strncmp(text, "shuffled:", 9) != 0) return false;
  char *end;
  u64 seed = strtoull(text + 9, &end, 10);
  if (end == text + 9 || *end != 0) return false;
  order = order_shuffled;
  random_state = seed;
  return true;
}

// SplitMix64 (Steele, Lea and Flood, 2014): any seed will do, 0 included.
u32 random_below(u32 n) {
  u64 z = random_state += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  return (u32)((z >> 32) * n >> 32);
}

u32 choose(u32 n) {
  if (order == order_forward) return 0;
  return order == order_reversed ? n - 1 : random_below(n);
}

struct Injection {
  std::string function;
  long left; // calls until it happens
  int code;
};
static std::vector<Injection> injections;

bool fail_set(const char *text) {
  std::vector<Injection> parsed;
  std::string rest = text;
  while (!rest.empty()) {
    size_t comma = rest.find(',');
    std::string one = rest.substr(0, comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    size_t colon = one.find(':');
    if (colon == std::string::npos || colon == 0) return false;
    char *end;
    long n = strtol(one.c_str() + colon + 1, &end, 10), code = 999; // CUDA_ERROR_UNKNOWN
    if (*end == ':') code = strtol(end + 1, &end, 10);
    if (*end != 0 || n < 1 || code < 1) return false;
    parsed.push_back({one.substr(0, colon), n, (int)code});
  }
  injections = parsed;
  return true;
}

int fail_injected(const char *function) {
  int code = 0;
  for (Injection &i : injections)
    if (i.left > 0 && i.function == function && --i.left == 0) code = i.code;
  return code;
}

// The environment's texts as they were applied last. Where they are the same again,
// nothing is done: the count of calls until a failure would start anew.
static std::string order_text, memory_text, version_text, devices_text, fail_text;

static const char *changed(const char *name, std::string &before) {
  const char *text = getenv(name);
  if (!text || !*text || before == text) return nullptr;
  before = text;
  return text;
}

std::string options_from_environment() {
  const char *text = changed("HGLD_EMU_ORDER", order_text);
  if (text && !order_set(text))
    return std::string("HGLD_EMU_ORDER is \"") + text + "\", want forward, reversed or shuffled:SEED";
  text = changed("HGLD_EMU_MEMORY", memory_text);
  if (text) {
    char *end;
    u64 bytes = strtoull(text, &end, 10);
    if (*end != 0 || bytes == 0) return std::string("HGLD_EMU_MEMORY is \"") + text + "\", want a number of bytes";
    memory_limit = bytes;
  }
  text = changed("HGLD_EMU_VERSION", version_text);
  if (text) {
    char *end;
    long version = strtol(text, &end, 10);
    if (*end != 0 || version < 1000 || version > 99990)
      return std::string("HGLD_EMU_VERSION is \"") + text + "\", want a version of CUDA such as 12040";
    driver_version = (int)version;
  }
  text = changed("HGLD_EMU_DEVICES", devices_text);
  if (text) {
    char *end;
    long n = strtol(text, &end, 10);
    if (*end != 0 || n < 1 || n > 64) return std::string("HGLD_EMU_DEVICES is \"") + text + "\", want a number up to 64";
    devices = (int)n;
  }
  text = changed("HGLD_EMU_FAIL", fail_text);
  if (text && !fail_set(text))
    return std::string("HGLD_EMU_FAIL is \"") + text + "\", want function:n or function:n:code";
  return "";
}

std::string options_reset() {
  order_set("forward");
  memory_limit = usual_memory;
  driver_version = usual_version;
  devices = 1;
  injections.clear();
  order_text = memory_text = version_text = devices_text = fail_text = "";
  return options_from_environment();
}

} // namespace hg_emu
