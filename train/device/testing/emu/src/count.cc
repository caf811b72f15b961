#include "count.h"
#include "api.h"
#include "launch.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace hg_emu {

bool counting;
u64 instructions;

// Touched is an access of a lane.
struct Touched {
  u64 at;
  u32 line, stamp, turn; // turn: which execution of the line since the warp's stamp
  u16 thread;
  u8 bytes;
  bool shared;

  auto key() const { return std::make_tuple(shared, line, thread / 32, stamp, turn); }
};

// Line is what was counted of a line: accesses of warps, what they took, and the least that they could.
struct Line {
  u64 accesses, actual, ideal;
};

// Turns count the executions of a line by each thread of a block.
struct Turns {
  u32 stamp[most_threads], turn[most_threads];
};

static std::vector<Touched> touched;
static std::map<std::pair<u32, bool>, Turns> turns;
static std::map<std::tuple<std::string, std::string, u32, bool>, Line> lines; // kernel, file, line, shared
static std::map<std::string, u64> executed;                                   // by kernel
static u32 stamps[most_warps];
static const char *file;

static const size_t most_touched = 1 << 20; // in memory

void count_access(const Access &a, bool shared) {
  file = a.file;
  Turns &t = turns[{(u32)a.line, shared}];
  u32 own = place.number, stamp = stamps[own / 32];
  if (t.stamp[own] != stamp) t.stamp[own] = stamp, t.turn[own] = 0;
  touched.push_back({a.at, (u32)a.line, stamp, t.turn[own]++, (u16)own, (u8)a.bytes, shared});
}

// wavefronts of shared memory: 32 lanes with up to 4 bytes each, 16 with 8 or 8 with 16 go together, and take as
// many as there are different words in one bank.
static u64 wavefronts(const Touched *from, const Touched *to, u64 *ideal) {
  u32 together = from->bytes <= 4 ? 32 : 128 / from->bytes;
  u64 sum = 0;
  std::vector<u64> all;
  for (u32 first = 0; first < 32; first += together) {
    std::vector<u64> words;
    for (const Touched *e = from; e < to; e++) {
      u32 lane = e->thread % 32;
      if (lane < first || lane >= first + together) continue;
      for (u64 w = e->at / 4; w <= (e->at + e->bytes - 1) / 4; w++) words.push_back(w);
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    u64 banks[32] = {}, most = 0;
    for (u64 w : words) most = std::max(most, ++banks[w % 32]);
    sum += most;
    all.insert(all.end(), words.begin(), words.end());
  }
  std::sort(all.begin(), all.end());
  u64 distinct = (u64)(std::unique(all.begin(), all.end()) - all.begin());
  *ideal = (distinct + 31) / 32;
  return sum;
}

// sectors of global memory have 32 bytes.
static u64 sectors(const Touched *from, const Touched *to, u64 *ideal) {
  std::vector<u64> all;
  u64 bytes = 0, end = 0;
  std::vector<std::pair<u64, u64>> parts;
  for (const Touched *e = from; e < to; e++) {
    for (u64 s = e->at / 32; s <= (e->at + e->bytes - 1) / 32; s++) all.push_back(s);
    parts.push_back({e->at, e->at + e->bytes});
  }
  std::sort(parts.begin(), parts.end());
  for (auto [begin, stop] : parts) {
    bytes += stop > end ? stop - std::max(begin, end) : 0;
    end = std::max(end, stop);
  }
  *ideal = (bytes + 31) / 32;
  std::sort(all.begin(), all.end());
  return (u64)(std::unique(all.begin(), all.end()) - all.begin());
}

// fold adds the accesses to their lines.
static void fold() {
  std::sort(touched.begin(), touched.end(), [](const Touched &a, const Touched &b) { return a.key() < b.key(); });
  const Touched *end = touched.data() + touched.size();
  for (const Touched *from = touched.data(), *to; from < end; from = to) {
    for (to = from; to < end && to->key() == from->key();) to++;
    Line &line = lines[{block.launch->kernel->name, file, from->line, from->shared}];
    u64 ideal, actual = from->shared ? wavefronts(from, to, &ideal) : sectors(from, to, &ideal);
    line.accesses++;
    line.actual += actual;
    line.ideal += ideal;
  }
  touched.clear();
}

void count_barrier() {
  for (u32 &s : stamps) s++;
  if (touched.size() > most_touched) fold();
}

void count_warp(int warp) { stamps[warp]++; }

void count_end() {
  fold();
  turns.clear();
  for (u32 &s : stamps) s++;
  executed[block.launch->kernel->name] += instructions;
  instructions = 0;
}

} // namespace hg_emu

using namespace hg_emu;

// hgEmuCount begins to count, from 0.
HG_API void hgEmuCount() {
  Call call(__func__, need_nothing);
  lines.clear();
  executed.clear();
  instructions = 0;
  counting = true;
}

// hgEmuCounts ends it and returns a text with a line for each kernel, "kernel instructions", and for each access,
// "kernel file line shared|global accesses actual ideal". It holds until the next.
HG_API const char *hgEmuCounts() {
  static std::string text;
  Call call(__func__, need_nothing);
  counting = false;
  text.clear();
  char row[512];
  for (auto &[kernel, n] : executed) {
    snprintf(row, sizeof row, "%s %llu\n", kernel.c_str(), n);
    text += row;
  }
  for (auto &[key, l] : lines) {
    auto &[kernel, of, line, is_shared] = key;
    snprintf(row, sizeof row, "%s %s %u %s %llu %llu %llu\n", kernel.c_str(), of.c_str(), line,
             is_shared ? "shared" : "global", l.accesses, l.actual, l.ideal);
    text += row;
  }
  return text.c_str();
}
