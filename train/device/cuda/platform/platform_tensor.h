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

// ---- warpgroups, of compute capability 9.0 alone (target sm_90a): four warps that begin at a multiple of four

// hg_aligned returns the first address in shared memory from p on that is a multiple of 1024.
HG_DEVICE u8 *hg_aligned(u8 *p) { return p + (0u - hg_shared_address(p) & 1023); }

// hg_tile_of describes a tile in shared memory to hg_wgmma: where it begins, and the bytes from 64 columns
// to the next where they lie along m or n. Its rows are of 128 bytes, in which the pieces of 16 bytes are
// permuted: piece p of row r is at p ^ r % 8. Groups of eight rows begin at multiples of 1024.
HG_DEVICE u64 hg_tile_of(const void *tile, u32 next) {
  return (u64)(hg_shared_address(tile) >> 4 & 0x3fff) | (u64)(next >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

// hg_wgmma begins d = a·b, or d += a·b with more, for tiles of 64 × 16 and 16 × 2n, where d has n elements. The tiles
// lie along k, or else along m and n. It reads and writes at some time before the wait for it. d[4j + q] is row
// lane/4 + q/2·8 of the warp's 16, column 8j + lane%4·2 + q%2.
template <bool A_ALONG_K, bool B_ALONG_K>
HG_DEVICE __attribute__((convergent)) void hg_wgmma(float (&d)[64], u64 a, u64 b, bool more) {
  asm volatile(
      "{ .reg .pred %%more; setp.ne.s32 %%more, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, %%more, 1, 1, %67, %68; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
        "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
        "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
        "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
        "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]),
        "+f"(d[54]), "+f"(d[55]), "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
        "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b), "r"((int)more), "n"(A_ALONG_K ? 0 : 1), "n"(B_ALONG_K ? 0 : 1)
      : "memory");
}
template <bool A_ALONG_K, bool B_ALONG_K>
HG_DEVICE __attribute__((convergent)) void hg_wgmma(float (&d)[32], u64 a, u64 b, bool more) {
  asm volatile(
      "{ .reg .pred %%more; setp.ne.s32 %%more, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, %%more, 1, 1, %35, %36; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
        "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
        "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
        "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"((int)more), "n"(A_ALONG_K ? 0 : 1), "n"(B_ALONG_K ? 0 : 1)
      : "memory");
}

// hg_wgmma_fence comes before the first hg_wgmma that adds to registers which were written otherwise.
// hg_wgmma_commit makes a group of the calls before it, and hg_wgmma_wait waits for all groups but the last N.
HG_DEVICE __attribute__((convergent)) void hg_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
HG_DEVICE __attribute__((convergent)) void hg_wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N> HG_DEVICE __attribute__((convergent)) void hg_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

// hg_copied makes what this thread has written to shared memory visible to hg_wgmma of threads behind the
// next barrier.
HG_DEVICE void hg_copied() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
