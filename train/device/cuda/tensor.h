// tensor.h: what kernels need to use tensor cores: products of fragments, loads of
// fragments from shared memory, copies to shared memory that go on meanwhile, and powers of
// two that keep up with them. It has two halves, as hg.h does. Fragments are those of the PTX ISA, "Matrix fragments for
// mma.m16n8k16 with floating point type" and "ldmatrix".
#pragma once
#include "typed.h"

#ifdef HG_EMU
#include "../testing/emu/src/tensor.h"
#else

// hg_mma is d += a·b for the fragments of matrices of BF16, 16 × 16 and 16 × 8. The order
// and the rounding of the 16 additions are the card's.
HG_DEVICE __attribute__((convergent)) void hg_mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// hg_shared_address is the address in shared memory. The compiler follows the cast to the array
// that p points into and adds in 32 bits; cvta in an asm would make it form a generic address of
// 64 bits for each access first.
HG_DEVICE u32 hg_shared_address(const void *p) {
  return (u32)(u64)(const __attribute__((address_space(3))) void *)p;
}

// hg_ldmatrix loads four 8 × 8 matrices of 16-bit elements, transposed if asked for. Lane
// 8j + r gives the address of row r of matrix j in shared memory, a multiple of 16 bytes.
template <bool TRANSPOSED> HG_DEVICE __attribute__((convergent)) void hg_ldmatrix(u32 (&v)[4], const void *row) {
  if (TRANSPOSED)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(hg_shared_address(row))
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(hg_shared_address(row))
                 : "memory");
}

// hg_copy_async begins a copy of 8 or 16 aligned bytes from global to shared memory. Unless they are
// there, it writes zeros, and `from` may be anywhere.
template <int BYTES> HG_DEVICE void hg_copy_async(void *to, const void *from, bool there) {
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(hg_shared_address(to)), "l"(from),
                 "r"(there ? 16 : 0)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(hg_shared_address(to)), "l"(from),
                 "r"(there ? 8 : 0)
                 : "memory");
}

// hg_copy_commit makes a group of the thread's copies since the last one. hg_copy_wait
// waits for all groups of the thread but the last N.
HG_DEVICE void hg_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> HG_DEVICE void hg_copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// hg_exp2 is 2^x within 2^-22 of itself, as the card approximates it; results below the normal
// range become 0.
HG_DEVICE float hg_exp2(float x) {
  float v;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(v) : "f"(x));
  return v;
}

#endif // HG_EMU
