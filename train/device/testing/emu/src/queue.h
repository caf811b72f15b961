// Streams, events and graphs: work that is queued and run later, in a legal order.
#pragma once

#include "launch.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hg_emu {

// Context holds what cuCtxCreate or the device's primary context gives. failure is
// sticky: the first that a kernel had, which all later calls return.
struct Context {
  bool primary = false;
  int device = 0;
  int retained = 0;
  int failure = 0;
};

struct Capture;

struct Event {
  Context *owner;
  bool timed;
  u64 recorded = 0, reached = 0; // how many records were queued, and how many have run
  double milliseconds = 0;       // the time of the last one
  std::shared_ptr<Capture> capture; // of the last record, if it was captured
  std::vector<int> nodes;           // that the record comes after, in the capture
};

// Op is queued work. It may run once event has reached a number of records.
struct Op {
  std::function<Failure()> run;
  std::shared_ptr<Event> event;
  u64 records = 0;
};

struct Stream {
  Context *owner;
  std::deque<Op> queue;
  std::shared_ptr<Capture> capture;
  std::vector<int> last; // nodes of the capture that the next one comes after
};

struct Node {
  Op op;
  std::vector<int> after;
};

struct Graph {
  Context *owner;
  std::vector<Node> nodes;
};

// Capture is one between cuStreamBeginCapture and cuStreamEndCapture.
struct Capture {
  std::shared_ptr<Graph> graph;
  Stream *origin;
  std::vector<std::shared_ptr<Stream>> streams; // origin first
  int mode;
  long thread;
  bool invalid = false, ended = false;
};

// streams are all streams in the order of their creation. A destroyed one stays until
// its work is done.
extern std::vector<std::shared_ptr<Stream>> streams;

// submit queues an operation on a stream, or adds it to the stream's capture. It
// returns a code.
int submit(Stream &stream, Op op);

// run_one runs an operation of one of the streams that have one which may run. It
// returns false where there is none.
bool run_one();

// run_until runs operations until done holds.
void run_until(const std::function<bool()> &done);

// run_now runs work that a call does itself.
void run_now(Context &context, const std::function<Failure()> &work);

// run_some runs a few operations or none, where the order leaves that open.
void run_some();

// fail_context makes a failure sticky and drops what the context has queued.
void fail_context(Context &context, const Failure &failure);

// report_error writes a text to stderr and keeps it; keep_error only keeps it.
void report_error(const std::string &text);
void keep_error(const std::string &text);
extern std::string last_error;

// event_record and event_wait are cuEventRecord and cuStreamWaitEvent.
int event_record(const std::shared_ptr<Event> &event, Stream &stream);
int event_wait(const std::shared_ptr<Stream> &stream, const std::shared_ptr<Event> &event);

// capture_begin and capture_end are the calls of that name; the result is a code.
int capture_begin(const std::shared_ptr<Stream> &stream, int mode);
int capture_end(Stream &stream, std::shared_ptr<Graph> &graph);

// capture_forbids returns the code of a call that is not allowed while streams are
// captured, whose captures it makes invalid, or 0. everywhere: whatever the mode is.
int capture_forbids(bool everywhere);

// capture_spoil makes the capture of a stream invalid, for a call that may not be
// made on it.
int capture_spoil(Stream &stream);

// graph_run runs the nodes of a graph in an order that their dependencies allow.
Failure graph_run(const Graph &graph);

double now_milliseconds();
long thread_id();

} // namespace hg_emu
