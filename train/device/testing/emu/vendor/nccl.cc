// An imitation of libnccl.so.2. It joins processes of one machine over shared memory, and checks that they make
// the same calls. Sums are added in the order of ranks. HGLD_EMU_NCCL_VERSION is the version that it reports.
#include "imitation.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <mutex>
#include <sched.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
};
enum {
  ncclInt32 = 2,
  ncclFloat32 = 7,
};
enum {
  ncclSum = 0,
};
struct ncclUniqueId {
  char internal[128];
};

namespace {

const size_t piece = 4 << 20; // bytes of an array that travel at a time
const int most = 64;          // ranks
const char mark[] = "the end";

enum Kind { all_reduce, all_gather, broadcast };
const char *const names[] = {"AllReduce", "AllGather", "Broadcast"};

// Call is what all ranks must call alike.
struct Call {
  int kind, type;
  uint64_t count;
};

// Shared is the memory of a communicator.
struct Shared {
  std::atomic<int> joined, arrived, round;
  pid_t pid[most];
  Call call[most];
  char data[]; // [ranks][piece]
};

struct Comm {
  Shared *all;
  size_t bytes;
  int rank, ranks;
  std::atomic<int> error{0};
  std::atomic<bool> aborted{false};
};

std::mutex guard; // of all below, and of complaints
std::set<Comm *> alive;
std::string last; // error

int fail(int code, const std::string &text) {
  std::lock_guard<std::mutex> hold(guard);
  last = text;
  return code;
}

// wrong is fail for a call that no program should make.
int wrong(int code, const std::string &text) {
  std::lock_guard<std::mutex> hold(guard);
  last = text;
  return complain(code, text);
}

bool gone(pid_t p) { return kill(p, 0) && errno == ESRCH; }

// barrier waits for all ranks, or until one is gone.
int barrier(Comm *c) {
  Shared *s = c->all;
  int round = s->round;
  if (s->arrived.fetch_add(1) + 1 == c->ranks) {
    s->arrived = 0;
    s->round = round + 1;
    return ncclSuccess;
  }
  for (int turn = 0; s->round == round; turn++) {
    if (c->aborted) return fail(ncclInternalError, "aborted");
    if (turn < 100) {
      sched_yield();
      continue;
    }
    usleep(200);
    for (int r = 0; turn % 50 == 0 && r < c->ranks; r++)
      if (gone(s->pid[r]) && s->round == round) return fail(ncclRemoteError, "rank " + std::to_string(r) + " is gone");
  }
  return ncclSuccess;
}

std::string told(int rank, const Call &c) {
  return "rank " + std::to_string(rank) + " calls " + names[c.kind] + " of " + std::to_string(c.count) + " numbers";
}

template <class T> void add(void *to, const void *x, size_t n) {
  for (size_t i = 0; i < n; i++) ((T *)to)[i] += ((const T *)x)[i];
}

int compute(Comm *c, const Call &call, const char *send, char *recv) {
  const size_t width = 4; // bytes of a number
  Shared *s = c->all;
  s->call[c->rank] = call;
  if (int code = barrier(c)) return code;
  for (int r = 0; r < c->ranks; r++) {
    const Call &other = s->call[r];
    if (other.kind != call.kind || other.type != call.type || other.count != call.count)
      return wrong(ncclInvalidUsage, told(c->rank, call) + ", " + told(r, other));
  }
  for (uint64_t at = 0; at < call.count; at += piece / width) {
    size_t n = std::min<uint64_t>(piece / width, call.count - at);
    memcpy(s->data + c->rank * piece, send + at * width, n * width);
    if (int code = barrier(c)) return code;
    char *to = recv + at * width;
    if (call.kind == all_gather) {
      for (int r = 0; r < c->ranks; r++)
        memcpy(recv + (r * call.count + at) * width, s->data + r * piece, n * width);
    } else {
      memcpy(to, s->data, n * width);
    }
    for (int r = 1; call.kind == all_reduce && r < c->ranks; r++)
      call.type == ncclFloat32 ? add<float>(to, s->data + r * piece, n) : add<int32_t>(to, s->data + r * piece, n);
    if (int code = barrier(c)) return code;
  }
  return ncclSuccess;
}

struct Work {
  Comm *c;
  Call call;
  const void *send;
  void *recv;
};

void work(const void *data) {
  const Work *w = (const Work *)data;
  if (!w->c->error) w->c->error = compute(w->c, w->call, (const char *)w->send, (char *)w->recv);
}

int collective(const char *function, Comm *c, Call call, int op, const void *send, void *recv, void *stream) {
  std::string where = std::string(function) + ": ";
  if (int code = hgEmuInjected(function)) return fail(code, where + "the failure that was asked for");
  {
    std::lock_guard<std::mutex> hold(guard);
    if (!alive.count(c)) return complain(ncclInvalidArgument, where + "no communicator");
  }
  if (c->error) return c->error;
  if (call.type != ncclFloat32 && call.type != ncclInt32)
    return wrong(ncclInvalidArgument, where + "type " + std::to_string(call.type));
  if (op != ncclSum) return wrong(ncclInvalidArgument, where + "operation " + std::to_string(op));
  uint64_t bytes = 4 * call.count, all = call.kind == all_gather ? c->ranks * bytes : bytes;
  if (!hgEmuHolds((uint64_t)send, bytes) || !hgEmuHolds((uint64_t)recv, all))
    return wrong(ncclInvalidArgument, where + "an array is not in the device's memory");
  const char *from = (const char *)send, *to = (const char *)recv;
  bool in_place = from == to + (call.kind == all_gather ? c->rank * bytes : 0);
  if (!in_place && from < to + all && to < from + bytes) return wrong(ncclInvalidUsage, where + "the arrays overlap");
  Work w{c, call, send, recv};
  queued++;
  return hgEmuQueue(stream, work, &w, sizeof w) ? ncclUnhandledCudaError : ncclSuccess;
}

} // namespace

HG_API int ncclGetVersion(int *version) {
  const char *text = getenv("HGLD_EMU_NCCL_VERSION");
  *version = text ? atoi(text) : 22707;
  return ncclSuccess;
}

HG_API const char *ncclGetErrorString(int code) {
  static const char *const text[] = {"no error", "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
      "unhandled system error (run with NCCL_DEBUG=INFO for details)", "internal error - please report this issue",
      "invalid argument", "invalid usage", "remote process exited or there was a network error"};
  return code >= 0 && code < 7 ? text[code] : "unknown result code";
}

HG_API const char *ncclGetLastError(Comm *) { return last.c_str(); }

HG_API int ncclGetUniqueId(ncclUniqueId *id) {
  if (int code = hgEmuInjected(__func__)) return code;
  memset(id, 0, sizeof *id);
  unsigned char random[12];
  if (getrandom(random, sizeof random, 0) != sizeof random) return ncclSystemError;
  int n = sprintf(id->internal, "/hgld-nccl-");
  for (unsigned char b : random) n += sprintf(id->internal + n, "%02x", b);
  memcpy(id->internal + sizeof id->internal - sizeof mark, mark, sizeof mark); // shows an id that was cut short
  return ncclSuccess;
}

HG_API int ncclCommInitRank(Comm **out, int ranks, ncclUniqueId id, int rank) {
  if (int code = hgEmuInjected(__func__)) return fail(code, "ncclCommInitRank: the failure that was asked for");
  if (ranks < 1 || ranks > most || rank < 0 || rank >= ranks)
    return wrong(ncclInvalidArgument, "rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  if (memcmp(id.internal + sizeof id.internal - sizeof mark, mark, sizeof mark))
    return wrong(ncclInvalidArgument, "the id is none of ncclGetUniqueId");
  size_t bytes = sizeof(Shared) + ranks * piece;
  int f = shm_open(id.internal, O_RDWR | O_CREAT, 0600);
  if (f < 0 || ftruncate(f, bytes)) return fail(ncclSystemError, std::string("shm_open: ") + strerror(errno));
  Shared *s = (Shared *)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
  close(f);
  if (s == MAP_FAILED) return fail(ncclSystemError, "mmap");
  s->pid[rank] = getpid();
  s->joined++;
  while (s->joined < ranks) usleep(1000); // NCCL waits for all, too
  Comm *c = new Comm{s, bytes, rank, ranks};
  if (int code = barrier(c)) return code;
  if (rank == 0) shm_unlink(id.internal);
  std::lock_guard<std::mutex> hold(guard);
  alive.insert(*out = c);
  return ncclSuccess;
}

// ncclCommDestroy keeps the memory, which queued work may still name.
HG_API int ncclCommDestroy(Comm *c) {
  std::lock_guard<std::mutex> hold(guard);
  return alive.erase(c) ? ncclSuccess : complain(ncclInvalidArgument, "ncclCommDestroy: no communicator");
}

HG_API int ncclCommAbort(Comm *c) {
  std::lock_guard<std::mutex> hold(guard);
  if (!alive.erase(c)) return complain(ncclInvalidArgument, "ncclCommAbort: no communicator");
  c->aborted = true;
  return ncclSuccess;
}

HG_API int ncclCommGetAsyncError(Comm *c, int *code) {
  std::lock_guard<std::mutex> hold(guard);
  if (!alive.count(c)) return complain(ncclInvalidArgument, "ncclCommGetAsyncError: no communicator");
  *code = c->error;
  return ncclSuccess;
}

HG_API int ncclAllReduce(const void *send, void *recv, size_t n, int type, int op, Comm *c, void *stream) {
  return collective(__func__, c, Call{all_reduce, type, n}, op, send, recv, stream);
}

HG_API int ncclAllGather(const void *send, void *recv, size_t n, int type, Comm *c, void *stream) {
  return collective(__func__, c, Call{all_gather, type, n}, ncclSum, send, recv, stream);
}

HG_API int ncclBroadcast(const void *send, void *recv, size_t n, int type, int root, Comm *c, void *stream) {
  if (root != 0) return wrong(ncclInvalidArgument, "ncclBroadcast: root " + std::to_string(root));
  return collective(__func__, c, Call{broadcast, type, n}, ncclSum, send, recv, stream);
}

// What tests read.
HG_API const char *hgNcclComplaints() { return complaints.c_str(); }
HG_API int hgNcclAlive() {
  std::lock_guard<std::mutex> hold(guard);
  return (int)alive.size();
}
HG_API int hgNcclQueued() { return queued; }
