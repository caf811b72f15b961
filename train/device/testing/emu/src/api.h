// What the functions of the driver have in common.
#pragma once

#include "codes.h"
#include "memory.h"
#include "module.h"
#include "options.h"
#include "queue.h"

#include <map>
#include <memory>
#include <mutex>

// HG_API begins an exported function.
#define HG_API extern "C" __attribute__((visibility("default")))

// HG_ENTER begins the body of one: it takes the lock and returns where the call
// cannot be made.
#define HG_ENTER(need)          \
  hg_emu::Call call(__func__, need); \
  if (call.code) return call.code

namespace hg_emu {

// Need is what a call asks for: nothing, an initialised driver, or a context of the
// calling thread that has not failed.
enum Need { need_nothing, need_driver, need_context };

// Call holds the lock of the whole library.
struct Call {
  int code = 0;
  Context *context = nullptr; // current
  Call(const char *function, Need need);

private:
  std::lock_guard<std::mutex> lock;
};

// fail keeps a text for hgEmuLastError and returns the code.
int fail(int code, const std::string &text);

extern bool initialised;
extern thread_local Context *current_context;
extern std::map<Context *, std::unique_ptr<Context>> contexts;

// Handles that were given out. A stream's is its address; 0 is the default stream of
// the current context.
extern std::map<void *, std::shared_ptr<Event>> events;
extern std::map<void *, std::shared_ptr<Graph>> graphs, executables;
extern std::map<void *, std::unique_ptr<Module>> modules;
std::shared_ptr<Stream> stream_of(void *handle, Context *context);
std::shared_ptr<Stream> stream_new(Context *context);

// drop_streams takes away all streams of a context, or only one that is destroyed.
void drop_streams(Context *context);

// find returns what a handle names, or null.
template <class T> std::shared_ptr<T> find(const std::map<void *, std::shared_ptr<T>> &table, void *handle) {
  auto it = table.find(handle);
  return it == table.end() ? nullptr : it->second;
}

// drop takes from a table what belongs to a context.
template <class T> void drop(std::map<void *, T> &table, Context *context) {
  for (auto it = table.begin(); it != table.end();) it = it->second->owner == context ? table.erase(it) : std::next(it);
}

} // namespace hg_emu
