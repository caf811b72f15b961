#include "queue.h"
#include "codes.h"
#include "fault.h"
#include "memory.h"
#include "options.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sys/syscall.h>
#include <unistd.h>

namespace hg_emu {

std::vector<std::shared_ptr<Stream>> streams;
std::string last_error;

void keep_error(const std::string &text) { last_error = text; }

void report_error(const std::string &text) {
  last_error = text;
  fprintf(stderr, "hg emulator: %s\n", text.c_str());
}

double now_milliseconds() {
  std::chrono::duration<double, std::milli> d = std::chrono::steady_clock::now().time_since_epoch();
  return d.count();
}

long thread_id() { return syscall(SYS_gettid); }

void fail_context(Context &context, const Failure &failure) {
  if (!failure.text.empty()) report_error(failure.text);
  if (context.failure == 0) context.failure = failure.code;
  for (auto &s : streams)
    if (s->owner == &context) s->queue.clear();
}

int submit(Stream &stream, Op op) {
  if (!stream.capture) {
    stream.queue.push_back(std::move(op));
    return success;
  }
  Capture &c = *stream.capture;
  if (c.invalid) return error_capture_invalidated;
  c.graph->nodes.push_back({std::move(op), stream.last});
  stream.last = {(int)c.graph->nodes.size() - 1};
  return success;
}

void run_now(Context &context, const std::function<Failure()> &work) {
  Executing executing;
  Failure f = work();
  if (f.code == 0) {
    f.text = memory_check();
    if (!f.text.empty()) f.code = error_illegal_address;
  }
  if (f.code != 0) fail_context(context, f);
}

static bool may_run(const Stream &s) {
  if (s.queue.empty()) return false;
  const Op &op = s.queue.front();
  return !op.event || op.event->reached >= op.records;
}

// run_next is run_one inside an Executing.
static bool run_next() {
  std::vector<Stream *> can;
  for (auto &s : streams)
    if (may_run(*s)) can.push_back(s.get());
  if (can.empty()) return false;
  Stream *s = can[choose((u32)can.size())];
  Op op = std::move(s->queue.front());
  s->queue.pop_front();
  Failure f = op.run ? op.run() : Failure();
  if (f.code != 0) fail_context(*s->owner, f);
  return true;
}

bool run_one() {
  Executing executing;
  return run_next();
}

void run_until(const std::function<bool()> &done) {
  Executing executing;
  while (!done() && run_next()) {
  }
}

void run_some() {
  if (order == order_forward) return;
  Executing executing;
  for (u32 n = random_below(8); n > 0 && run_next(); n--) {
  }
}

int event_record(const std::shared_ptr<Event> &event, Stream &stream) {
  event->capture = stream.capture;
  if (stream.capture) {
    if (stream.capture->invalid) return error_capture_invalidated;
    event->nodes = stream.last;
    return success;
  }
  u64 number = ++event->recorded;
  Op op;
  op.run = [event, number] {
    event->reached = number;
    event->milliseconds = now_milliseconds();
    return Failure();
  };
  return submit(stream, std::move(op));
}

int event_wait(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Event> &event) {
  if (event->capture) {
    if (event->capture->ended) return error_captured_event;
    if (event->capture->invalid) return error_capture_invalidated;
    if (stream->capture && stream->capture != event->capture) return error_capture_merge;
    if (!stream->capture) {
      stream->capture = event->capture;
      stream->last.clear();
      event->capture->streams.push_back(stream);
    }
    for (int node : event->nodes)
      if (std::find(stream->last.begin(), stream->last.end(), node) == stream->last.end()) stream->last.push_back(node);
    return success;
  }
  if (stream->capture) {
    stream->capture->invalid = true;
    keep_error("a captured stream waits for an event that was recorded outside the capture");
    return error_capture_isolation;
  }
  Op op;
  op.event = event;
  op.records = event->recorded;
  return submit(*stream, std::move(op));
}

} // namespace hg_emu
