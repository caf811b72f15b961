// emu.h: what platform.h and the rest of the library share. Threads of a block are fibers of one
// processor thread, so everything here is called without locks. It pulls in no header of the C++
// library, whose overloads (sqrt of a float) a card does not have.
#pragma once
#include "types.h"

namespace hg_emu {

struct Dim {
  u32 x, y, z;
};

// Place is where the running thread is: its coordinates and the sizes around it, and
// its number in the block.
struct Place {
  Dim thread, block, threads, blocks;
  u32 number;
};
extern Place place;

// Vote is what the lanes of a warp do together. The numbers index names in warp.cc.
enum Vote { vote_sync, vote_ballot, vote_shuffle, vote_xor, vote_down, vote_up, vote_mma, vote_ldmatrix };

// barrier waits for all threads of the block.
void barrier();

// warp waits for the lanes of mask. It returns the value that the lane called source
// brought, or for a ballot the bits of the lanes whose value is not 0.
u64 warp(u32 mask, Vote vote, u64 value, u32 source);

// lane is the running thread's place in its warp.
inline u32 lane() { return place.number & 31; }

// Slot is a declaration of shared memory. Its address holds for one launch.
struct Slot {
  const char *name;
  u32 bytes;
  u64 launch;
  void *address;
};
extern u64 launch_number;
void *claim(Slot &slot);
inline void *shared(Slot &slot) { return slot.launch == launch_number ? slot.address : claim(slot); }

// dynamic returns the shared memory whose size the launch gave.
void *dynamic();

// Kernel describes a kernel to the driver; the instances form a list.
struct Kernel {
  const char *name;
  int threads; // at most, a block
  int parameters;
  const u32 *sizes; // bytes of each parameter
  void (*function)();
  void (*call)(void (*function)(), void **arguments);
  Kernel *next;
};
extern Kernel *kernels;

template <int... I> struct Indices {};
template <int N, int... I> struct Count : Count<N - 1, N - 1, I...> {};
template <int... I> struct Count<0, I...> {
  typedef Indices<I...> type;
};

template <class... P> struct Signature {
  static const u32 sizes[sizeof...(P) + 1];

  template <int... I> static void apply(void (*function)(P...), void **arguments, Indices<I...>) {
    function(*(P *)arguments[I]...);
  }
  static void call(void (*function)(), void **arguments) {
    apply((void (*)(P...))function, arguments, typename Count<sizeof...(P)>::type());
  }
};
template <class... P> const u32 Signature<P...>::sizes[sizeof...(P) + 1] = {(u32)sizeof(P)..., 0};

struct Registration {
  Kernel kernel;
  template <class... P> Registration(const char *name, int threads, void (*function)(P...)) {
    kernel = {name, threads, (int)sizeof...(P), Signature<P...>::sizes, (void (*)())function, Signature<P...>::call,
              kernels};
    kernels = &kernel;
  }
};

template <class T> inline u64 to_bits(T v) {
  static_assert(sizeof(T) <= 8, "a lane passes at most 8 bytes");
  u64 bits = 0;
  __builtin_memcpy(&bits, &v, sizeof v);
  return bits;
}
template <class T> inline T from_bits(u64 bits) {
  T v;
  __builtin_memcpy(&v, &bits, sizeof v);
  return v;
}

} // namespace hg_emu
