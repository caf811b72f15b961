// platform_tensor.h for clang. See tensor.h.
#pragma once
#include "platform.h"

// hg_mma is d += a·b for fragments of BF16 matrices, 16 × 16 and 16 × 8. The card decides the order
// and the rounding of the 16 additions.
HG_DEVICE __attribute__((convergent)) void hg_mma(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// hg_shared_address returns the address of p in shared memory. The compiler traces the cast back to
// the array and computes in 32 bits. With cvta in an asm it would first form a generic 64-bit address
// for each access.
HG_DEVICE u32 hg_shared_address(const void *p) {
  return (u32)(u64)(const __attribute__((address_space(3))) void *)p;
}

// hg_ldmatrix loads four 8 × 8 matrices of 16-bit elements, or their transposes. Lane 8j + r passes the
// address of row r of matrix j in shared memory, a multiple of 16 bytes.
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

// hg_copy_async begins a copy of 4, 8 or 16 aligned bytes from global to shared memory. If they are not
// there, it writes zeros and does not read `from`.
template <int BYTES> HG_DEVICE void hg_copy_async(void *to, const void *from, bool there) {
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(hg_shared_address(to)), "l"(from),
                 "r"(there ? 16 : 0)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(hg_shared_address(to)), "l"(from), "n"(BYTES),
                 "r"(there ? BYTES : 0)
                 : "memory");
}

// hg_copy_commit puts the thread's copies since the last group into a new one. hg_copy_wait waits for
// all groups of the thread except the last N.
HG_DEVICE void hg_copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> HG_DEVICE void hg_copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// hg_exp2 is the card's approximation of 2^x, with a relative error of 2^-22. Results below the normal
// range become 0.
HG_DEVICE float hg_exp2(float x) {
  float v;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(v) : "f"(x));
  return v;
}
