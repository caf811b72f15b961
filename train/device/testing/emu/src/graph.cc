// Capture of streams, and the graphs that it makes.
#include "codes.h"
#include "memory.h"
#include "options.h"
#include "queue.h"

#include <algorithm>

namespace hg_emu {

static std::vector<std::shared_ptr<Capture>> captures; // that go on

enum { mode_global, mode_thread, mode_relaxed };

int capture_begin(const std::shared_ptr<Stream> &stream, int mode) {
  if (stream->capture) return error_illegal_state;
  if (mode < mode_global || mode > mode_relaxed) return error_invalid_value;
  auto c = std::make_shared<Capture>();
  c->graph = std::make_shared<Graph>();
  c->graph->owner = stream->owner;
  c->origin = stream.get();
  c->streams = {stream};
  c->mode = mode;
  c->thread = thread_id();
  stream->capture = c;
  stream->last.clear();
  captures.push_back(c);
  return success;
}

// reached marks the nodes that come before others.
static std::vector<bool> reached(const Graph &graph, const std::vector<int> &from) {
  std::vector<bool> seen(graph.nodes.size());
  std::vector<int> left = from;
  while (!left.empty()) {
    int n = left.back();
    left.pop_back();
    if (seen[n]) continue;
    seen[n] = true;
    left.insert(left.end(), graph.nodes[n].after.begin(), graph.nodes[n].after.end());
  }
  return seen;
}

// joined reports whether the origin waits for the last work of all other streams.
static bool joined(const Capture &c) {
  std::vector<bool> seen = reached(*c.graph, c.origin->last);
  for (auto &s : c.streams)
    for (int n : s->last)
      if (!seen[n]) return false;
  return true;
}

int capture_end(Stream &stream, std::shared_ptr<Graph> &graph) {
  std::shared_ptr<Capture> c = stream.capture;
  if (!c) return error_illegal_state;
  if (c->origin != &stream) return error_capture_unmatched;
  if (c->mode != mode_relaxed && c->thread != thread_id()) return error_capture_wrong_thread;
  int code = c->invalid ? error_capture_invalidated : !joined(*c) ? error_capture_unjoined : success;
  c->ended = true;
  for (auto &s : c->streams) {
    s->capture = nullptr;
    s->last.clear();
  }
  captures.erase(std::find(captures.begin(), captures.end(), c));
  if (code == success) graph = c->graph;
  return code;
}

int capture_forbids(bool everywhere) {
  bool forbidden = false;
  for (auto &c : captures)
    if (everywhere || c->mode == mode_global || (c->mode == mode_thread && c->thread == thread_id()))
      forbidden = c->invalid = true;
  if (!forbidden) return success;
  keep_error("the call is not allowed while a stream is captured");
  return error_capture_unsupported;
}

int capture_spoil(Stream &stream) {
  if (!stream.capture) return success;
  stream.capture->invalid = true;
  keep_error("a stream that is captured cannot be waited for or asked");
  return error_capture_unsupported;
}

Failure graph_run(const Graph &graph) {
  std::vector<int> missing(graph.nodes.size());
  std::vector<std::vector<int>> next(graph.nodes.size());
  std::vector<int> can;
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    missing[i] = (int)graph.nodes[i].after.size();
    for (int n : graph.nodes[i].after) next[n].push_back((int)i);
    if (missing[i] == 0) can.push_back((int)i);
  }
  while (!can.empty()) {
    u32 at = choose((u32)can.size());
    int n = can[at];
    can.erase(can.begin() + at);
    Failure f = graph.nodes[n].op.run();
    if (f.code != 0) return f;
    for (int later : next[n])
      if (--missing[later] == 0) can.push_back(later);
  }
  return Failure();
}

} // namespace hg_emu
