// Streams, events and graphs as the driver's functions offer them.
#include "api.h"

#include <algorithm>

using namespace hg_emu;

namespace hg_emu {

std::map<void *, std::shared_ptr<Event>> events;
std::map<void *, std::shared_ptr<Graph>> graphs, executables;
static std::map<Context *, std::shared_ptr<Stream>> defaults; // stream 0 of each context

std::shared_ptr<Stream> stream_new(Context *context) {
  auto s = std::make_shared<Stream>();
  s->owner = context;
  streams.push_back(s);
  return s;
}

std::shared_ptr<Stream> stream_of(void *handle, Context *context) {
  if (!handle) {
    std::shared_ptr<Stream> &s = defaults[context];
    if (!s) s = stream_new(context);
    return s;
  }
  for (auto &s : streams)
    if (s.get() == handle && s->owner == context) return s;
  return nullptr;
}

void drop_streams(Context *context) {
  defaults.erase(context);
  streams.erase(std::remove_if(streams.begin(), streams.end(), [=](auto &s) { return s->owner == context; }),
                streams.end());
}

} // namespace hg_emu

// Every stream is one that does not wait for the default stream (flag 1), as hgld's
// are. A stream that does would hide a missing dependency.
HG_API int cuStreamCreate(void **stream, unsigned flags) {
  HG_ENTER(need_context);
  if (flags != 1) return fail(error_not_supported, "cuStreamCreate: only CU_STREAM_NON_BLOCKING is emulated");
  *stream = stream_new(call.context).get();
  return success;
}

HG_API int cuStreamDestroy_v2(void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> s = handle ? stream_of(handle, call.context) : nullptr;
  if (!s) return fail(error_invalid_handle, "cuStreamDestroy: no such stream");
  if (s->capture) return capture_spoil(*s);
  run_until([&] { return s->queue.empty(); });
  streams.erase(std::find(streams.begin(), streams.end(), s));
  return call.context->failure;
}

HG_API int cuStreamSynchronize(void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> s = stream_of(handle, call.context);
  if (!s) return fail(error_invalid_handle, "cuStreamSynchronize: no such stream");
  if (int code = capture_spoil(*s)) return code;
  if (int code = capture_forbids(false)) return code;
  run_until([&] { return s->queue.empty(); });
  return call.context->failure;
}

// A query lets one operation run, so that a loop around it ends.
HG_API int cuStreamQuery(void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> s = stream_of(handle, call.context);
  if (!s) return fail(error_invalid_handle, "cuStreamQuery: no such stream");
  if (int code = capture_spoil(*s)) return code;
  if (int code = capture_forbids(false)) return code;
  if (!s->queue.empty()) run_one();
  if (call.context->failure) return call.context->failure;
  return s->queue.empty() ? success : error_not_ready;
}

HG_API int cuStreamWaitEvent(void *handle, void *event, unsigned) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> s = stream_of(handle, call.context);
  std::shared_ptr<Event> e = find(events, event);
  if (!s || !e) return fail(error_invalid_handle, "cuStreamWaitEvent: no such stream or event");
  return event_wait(s, e);
}

HG_API int cuStreamBeginCapture_v2(void *handle, int mode) {
  HG_ENTER(need_context);
  if (!handle) return fail(error_capture_unsupported, "the default stream cannot be captured");
  std::shared_ptr<Stream> s = stream_of(handle, call.context);
  if (!s) return fail(error_invalid_handle, "cuStreamBeginCapture: no such stream");
  return capture_begin(s, mode);
}

HG_API int cuStreamEndCapture(void *handle, void **graph) {
  HG_ENTER(need_context);
  *graph = nullptr;
  std::shared_ptr<Stream> s = stream_of(handle, call.context);
  if (!s) return fail(error_invalid_handle, "cuStreamEndCapture: no such stream");
  std::shared_ptr<Graph> g;
  if (int code = capture_end(*s, g)) return code;
  graphs[g.get()] = g;
  *graph = g.get();
  return success;
}

HG_API int cuStreamIsCapturing(void *handle, int *status) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> s = stream_of(handle, call.context);
  if (!s) return fail(error_invalid_handle, "cuStreamIsCapturing: no such stream");
  *status = !s->capture ? 0 : s->capture->invalid ? 2 : 1;
  return success;
}

HG_API int cuGraphInstantiateWithFlags(void **executable, void *graph, u64) {
  HG_ENTER(need_context);
  std::shared_ptr<Graph> g = find(graphs, graph);
  if (!g) return fail(error_invalid_value, "cuGraphInstantiate: no such graph");
  auto e = std::make_shared<Graph>(*g);
  executables[e.get()] = e;
  *executable = e.get();
  return success;
}

HG_API int cuGraphLaunch(void *executable, void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Graph> g = find(executables, executable);
  std::shared_ptr<Stream> s = stream_of(handle, call.context);
  if (!g || !s) return fail(error_invalid_handle, "cuGraphLaunch: no such graph or stream");
  Op op;
  op.run = [g] { return graph_run(*g); };
  return submit(*s, std::move(op));
}

HG_API int cuGraphExecDestroy(void *executable) {
  HG_ENTER(need_context);
  return executables.erase(executable) ? success : fail(error_invalid_value, "cuGraphExecDestroy: no such graph");
}

HG_API int cuGraphDestroy(void *graph) {
  HG_ENTER(need_context);
  return graphs.erase(graph) ? success : fail(error_invalid_value, "cuGraphDestroy: no such graph");
}

HG_API int cuEventCreate(void **event, unsigned flags) {
  HG_ENTER(need_context);
  auto e = std::make_shared<Event>();
  e->owner = call.context;
  e->timed = !(flags & 2); // CU_EVENT_DISABLE_TIMING
  events[e.get()] = e;
  *event = e.get();
  return success;
}

HG_API int cuEventDestroy_v2(void *event) {
  HG_ENTER(need_context);
  return events.erase(event) ? success : fail(error_invalid_handle, "cuEventDestroy: no such event");
}

HG_API int cuEventRecord(void *event, void *handle) {
  HG_ENTER(need_context);
  std::shared_ptr<Stream> s = stream_of(handle, call.context);
  std::shared_ptr<Event> e = find(events, event);
  if (!s || !e) return fail(error_invalid_handle, "cuEventRecord: no such stream or event");
  return event_record(e, *s);
}

HG_API int cuEventSynchronize(void *event) {
  HG_ENTER(need_context);
  std::shared_ptr<Event> e = find(events, event);
  if (!e) return fail(error_invalid_handle, "cuEventSynchronize: no such event");
  if (e->capture) return fail(error_captured_event, "cuEventSynchronize of an event that was captured");
  if (int code = capture_forbids(false)) return code;
  run_until([&] { return e->reached == e->recorded; });
  return call.context->failure;
}

HG_API int cuEventQuery(void *event) {
  HG_ENTER(need_context);
  std::shared_ptr<Event> e = find(events, event);
  if (!e) return fail(error_invalid_handle, "cuEventQuery: no such event");
  if (e->capture) return fail(error_captured_event, "cuEventQuery of an event that was captured");
  if (int code = capture_forbids(false)) return code;
  if (e->reached != e->recorded) run_one();
  if (call.context->failure) return call.context->failure;
  return e->reached == e->recorded ? success : error_not_ready;
}

HG_API int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  HG_ENTER(need_context);
  std::shared_ptr<Event> a = find(events, start), b = find(events, end);
  if (!a || !b || !a->timed || !b->timed || a->recorded == 0 || b->recorded == 0)
    return fail(error_invalid_handle, "cuEventElapsedTime: an event without timing, or one that was never recorded");
  if (a->reached != a->recorded || b->reached != b->recorded) return error_not_ready;
  *milliseconds = (float)(b->milliseconds - a->milliseconds);
  return success;
}
