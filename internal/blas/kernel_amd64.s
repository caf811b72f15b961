#include "textflag.h"

// The tile of c lies in registers: six rows of two vectors, Y4 to Y15. For each p
// two vectors of b are loaded and each of six numbers of a is spread over a
// vector; twelve fused products follow, enough to hide the latency of four
// cycles at two a cycle.

#define ROW(at, lo, hi) \
	VBROADCASTSS at, Y2; \
	VFMADD231PS  Y0, Y2, lo; \
	VFMADD231PS  Y1, Y2, hi

#define ADDROW(lo, hi) \
	VADDPS (DX), lo, lo; \
	VADDPS 32(DX), hi, hi; \
	ADDQ   R10, DX

#define STOREROW(lo, hi) \
	VMOVUPS lo, (DX); \
	VMOVUPS hi, 32(DX); \
	ADDQ    R10, DX

// func multiplyAVX2(k int, a *float32, rowA, nextA int, b, c *float32, ldc int, add bool)
TEXT ·multiplyAVX2(SB), NOSPLIT, $0-57
	MOVQ k+0(FP), CX
	MOVQ a+8(FP), SI
	MOVQ rowA+16(FP), R8
	MOVQ nextA+24(FP), R9
	MOVQ b+32(FP), DI
	MOVQ c+40(FP), DX
	MOVQ ldc+48(FP), R10
	SHLQ $2, R8
	SHLQ $2, R9
	SHLQ $2, R10
	LEAQ (R8)(R8*2), R12
	LEAQ (SI)(R12*1), BX // the fourth row

	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	VXORPS Y12, Y12, Y12
	VXORPS Y13, Y13, Y13
	VXORPS Y14, Y14, Y14
	VXORPS Y15, Y15, Y15

next:
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	ROW((SI), Y4, Y5)
	ROW((SI)(R8*1), Y6, Y7)
	ROW((SI)(R8*2), Y8, Y9)
	ROW((BX), Y10, Y11)
	ROW((BX)(R8*1), Y12, Y13)
	ROW((BX)(R8*2), Y14, Y15)
	ADDQ    $64, DI
	ADDQ    R9, SI
	ADDQ    R9, BX
	DECQ    CX
	JNZ     next

	MOVBLZX add+56(FP), AX
	TESTL   AX, AX
	JZ      store
	MOVQ    DX, SI
	ADDROW(Y4, Y5)
	ADDROW(Y6, Y7)
	ADDROW(Y8, Y9)
	ADDROW(Y10, Y11)
	ADDROW(Y12, Y13)
	ADDROW(Y14, Y15)
	MOVQ    SI, DX

store:
	STOREROW(Y4, Y5)
	STOREROW(Y6, Y7)
	STOREROW(Y8, Y9)
	STOREROW(Y10, Y11)
	STOREROW(Y12, Y13)
	STOREROW(Y14, Y15)
	VZEROUPPER
	RET

// The same for rows that lie anywhere: six addresses for each run of k numbers.

// func gatherAVX2(taps int, rows **float32, at, k int, b, c *float32, ldc int, add bool)
TEXT ·gatherAVX2(SB), NOSPLIT, $0-57
	MOVQ taps+0(FP), R12
	MOVQ rows+8(FP), R13
	MOVQ at+16(FP), AX
	MOVQ k+24(FP), DX
	MOVQ b+32(FP), DI
	ADDQ DX, AX // rows are read up to their end, at negative offsets

	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	VXORPS Y12, Y12, Y12
	VXORPS Y13, Y13, Y13
	VXORPS Y14, Y14, Y14
	VXORPS Y15, Y15, Y15

run:
	MOVQ (R13), SI
	MOVQ 8(R13), BX
	MOVQ 16(R13), R8
	MOVQ 24(R13), R9
	MOVQ 32(R13), R10
	MOVQ 40(R13), R11
	LEAQ (SI)(AX*4), SI
	LEAQ (BX)(AX*4), BX
	LEAQ (R8)(AX*4), R8
	LEAQ (R9)(AX*4), R9
	LEAQ (R10)(AX*4), R10
	LEAQ (R11)(AX*4), R11
	MOVQ DX, CX
	NEGQ CX

number:
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	ROW((SI)(CX*4), Y4, Y5)
	ROW((BX)(CX*4), Y6, Y7)
	ROW((R8)(CX*4), Y8, Y9)
	ROW((R9)(CX*4), Y10, Y11)
	ROW((R10)(CX*4), Y12, Y13)
	ROW((R11)(CX*4), Y14, Y15)
	ADDQ    $64, DI
	INCQ    CX
	JNZ     number
	ADDQ    $48, R13
	DECQ    R12
	JNZ     run

	MOVQ    c+40(FP), DX
	MOVQ    ldc+48(FP), R10
	SHLQ    $2, R10
	MOVBLZX add+56(FP), AX
	TESTL   AX, AX
	JZ      put
	MOVQ    DX, SI
	ADDROW(Y4, Y5)
	ADDROW(Y6, Y7)
	ADDROW(Y8, Y9)
	ADDROW(Y10, Y11)
	ADDROW(Y12, Y13)
	ADDROW(Y14, Y15)
	MOVQ    SI, DX

put:
	STOREROW(Y4, Y5)
	STOREROW(Y6, Y7)
	STOREROW(Y8, Y9)
	STOREROW(Y10, Y11)
	STOREROW(Y12, Y13)
	STOREROW(Y14, Y15)
	VZEROUPPER
	RET

// The same for AVX-512: twelve rows of two vectors of sixteen, Z8 to Z31. The tile of c,
// which is needed only at the end, is prefetched at the start, and the next strip of a
// while this one is used: sixteen numbers of each row, a line of the cache, at a time.

#define ROW512(at, lo, hi) \
	VBROADCASTSS at, Z2; \
	VFMADD231PS  Z0, Z2, lo; \
	VFMADD231PS  Z1, Z2, hi

#define ADDROW512(lo, hi) \
	VADDPS (DX), lo, lo; \
	VADDPS 64(DX), hi, hi; \
	ADDQ   R10, DX

#define STOREROW512(lo, hi) \
	VMOVUPS lo, (DX); \
	VMOVUPS hi, 64(DX); \
	ADDQ    R10, DX

// AHEAD512 prefetches three rows of the next strip of a.
#define AHEAD512 \
	PREFETCHT0 (AX); \
	PREFETCHT0 (AX)(R8*1); \
	PREFETCHT0 (AX)(R8*2); \
	ADDQ       R12, AX

// func multiplyAVX512(k int, a *float32, rowA, nextA int, b, c *float32, ldc int, add bool)
TEXT ·multiplyAVX512(SB), NOSPLIT, $0-57
	MOVQ k+0(FP), CX
	MOVQ a+8(FP), SI
	MOVQ rowA+16(FP), R8
	MOVQ nextA+24(FP), R9
	MOVQ b+32(FP), DI
	MOVQ c+40(FP), DX
	MOVQ ldc+48(FP), R10
	SHLQ $2, R8
	SHLQ $2, R9
	SHLQ $2, R10
	LEAQ (R8)(R8*2), R12
	LEAQ (SI)(R12*1), BX  // the fourth row
	LEAQ (SI)(R12*2), R11 // the seventh
	LEAQ (BX)(R12*2), R13 // the tenth

	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11
	VPXORQ Z12, Z12, Z12
	VPXORQ Z13, Z13, Z13
	VPXORQ Z14, Z14, Z14
	VPXORQ Z15, Z15, Z15
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	VPXORQ Z22, Z22, Z22
	VPXORQ Z23, Z23, Z23
	VPXORQ Z24, Z24, Z24
	VPXORQ Z25, Z25, Z25
	VPXORQ Z26, Z26, Z26
	VPXORQ Z27, Z27, Z27
	VPXORQ Z28, Z28, Z28
	VPXORQ Z29, Z29, Z29
	VPXORQ Z30, Z30, Z30
	VPXORQ Z31, Z31, Z31

	MOVQ DX, AX
	MOVQ $12, R14

tile512:
	PREFETCHT0 (AX)
	PREFETCHT0 64(AX)
	ADDQ       R10, AX
	DECQ       R14
	JNZ        tile512

block512:
	LEAQ (SI)(R12*4), AX // the next strip
	AHEAD512
	AHEAD512
	AHEAD512
	AHEAD512
	MOVQ    $16, R14
	CMPQ    CX, R14
	CMOVQLT CX, R14
	SUBQ    R14, CX

next512:
	VMOVUPS (DI), Z0
	VMOVUPS 64(DI), Z1
	ROW512((SI), Z8, Z9)
	ROW512((SI)(R8*1), Z10, Z11)
	ROW512((SI)(R8*2), Z12, Z13)
	ROW512((BX), Z14, Z15)
	ROW512((BX)(R8*1), Z16, Z17)
	ROW512((BX)(R8*2), Z18, Z19)
	ROW512((R11), Z20, Z21)
	ROW512((R11)(R8*1), Z22, Z23)
	ROW512((R11)(R8*2), Z24, Z25)
	ROW512((R13), Z26, Z27)
	ROW512((R13)(R8*1), Z28, Z29)
	ROW512((R13)(R8*2), Z30, Z31)
	ADDQ    $128, DI
	ADDQ    R9, SI
	ADDQ    R9, BX
	ADDQ    R9, R11
	ADDQ    R9, R13
	DECQ    R14
	JNZ     next512
	TESTQ   CX, CX
	JNZ     block512

	MOVBLZX add+56(FP), AX
	TESTL   AX, AX
	JZ      store512
	MOVQ    DX, SI
	ADDROW512(Z8, Z9)
	ADDROW512(Z10, Z11)
	ADDROW512(Z12, Z13)
	ADDROW512(Z14, Z15)
	ADDROW512(Z16, Z17)
	ADDROW512(Z18, Z19)
	ADDROW512(Z20, Z21)
	ADDROW512(Z22, Z23)
	ADDROW512(Z24, Z25)
	ADDROW512(Z26, Z27)
	ADDROW512(Z28, Z29)
	ADDROW512(Z30, Z31)
	MOVQ    SI, DX

store512:
	STOREROW512(Z8, Z9)
	STOREROW512(Z10, Z11)
	STOREROW512(Z12, Z13)
	STOREROW512(Z14, Z15)
	STOREROW512(Z16, Z17)
	STOREROW512(Z18, Z19)
	STOREROW512(Z20, Z21)
	STOREROW512(Z22, Z23)
	STOREROW512(Z24, Z25)
	STOREROW512(Z26, Z27)
	STOREROW512(Z28, Z29)
	STOREROW512(Z30, Z31)
	VZEROUPPER
	RET

// func transposeAVX2(dst *float32, cols int, src *float32, ld, blocks int)
//
// A block is eight rows of src by eight numbers. Pairs of rows are interleaved by
// numbers, then by pairs, then by halves of a vector.
TEXT ·transposeAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ cols+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ ld+24(FP), R9
	MOVQ blocks+32(FP), CX
	SHLQ $2, R8
	SHLQ $2, R9
	LEAQ (R9)(R9*2), R10
	LEAQ (SI)(R9*4), BX // the fifth row
	LEAQ (R8)(R8*2), R11

block:
	VMOVUPS (SI), Y0
	VMOVUPS (SI)(R9*1), Y1
	VMOVUPS (SI)(R9*2), Y2
	VMOVUPS (SI)(R10*1), Y3
	VMOVUPS (BX), Y4
	VMOVUPS (BX)(R9*1), Y5
	VMOVUPS (BX)(R9*2), Y6
	VMOVUPS (BX)(R10*1), Y7

	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPS Y5, Y4, Y12
	VUNPCKHPS Y5, Y4, Y13
	VUNPCKLPS Y7, Y6, Y14
	VUNPCKHPS Y7, Y6, Y15

	VUNPCKLPD Y10, Y8, Y0
	VUNPCKHPD Y10, Y8, Y1
	VUNPCKLPD Y11, Y9, Y2
	VUNPCKHPD Y11, Y9, Y3
	VUNPCKLPD Y14, Y12, Y4
	VUNPCKHPD Y14, Y12, Y5
	VUNPCKLPD Y15, Y13, Y6
	VUNPCKHPD Y15, Y13, Y7

	VPERM2F128 $0x20, Y4, Y0, Y8
	VPERM2F128 $0x20, Y5, Y1, Y9
	VPERM2F128 $0x20, Y6, Y2, Y10
	VPERM2F128 $0x20, Y7, Y3, Y11
	VPERM2F128 $0x31, Y4, Y0, Y12
	VPERM2F128 $0x31, Y5, Y1, Y13
	VPERM2F128 $0x31, Y6, Y2, Y14
	VPERM2F128 $0x31, Y7, Y3, Y15

	VMOVUPS Y8, (DI)
	VMOVUPS Y9, (DI)(R8*1)
	VMOVUPS Y10, (DI)(R8*2)
	VMOVUPS Y11, (DI)(R11*1)
	LEAQ    (DI)(R8*4), DI
	VMOVUPS Y12, (DI)
	VMOVUPS Y13, (DI)(R8*1)
	VMOVUPS Y14, (DI)(R8*2)
	VMOVUPS Y15, (DI)(R11*1)
	LEAQ    (DI)(R8*4), DI
	ADDQ    $32, SI
	ADDQ    $32, BX
	DECQ    CX
	JNZ     block
	VZEROUPPER
	RET

// func copyRowsAVX2(dst *float32, step int, src *float32, ld, k, vectors int)
TEXT ·copyRowsAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ step+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ ld+24(FP), R9
	MOVQ k+32(FP), CX
	MOVQ vectors+40(FP), R10
	SHLQ $2, R8
	SHLQ $2, R9
	SHLQ $5, R10

line:
	XORQ AX, AX

vector:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS Y0, (DI)(AX*1)
	ADDQ    $32, AX
	CMPQ    AX, R10
	JNE     vector
	ADDQ    R8, DI
	ADDQ    R9, SI
	DECQ    CX
	JNZ     line
	VZEROUPPER
	RET

// func copyStripsAVX512(dst *float32, cols, next int, src *float32, ld, k, strips, last int)
//
// One loop for each of the two widths: 32, and at most 16. Each goes along the strips and
// then to the next row, eight rows behind what it prefetches.
TEXT ·copyStripsAVX512(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), DI
	MOVQ cols+8(FP), BX
	MOVQ next+16(FP), R8
	MOVQ src+24(FP), SI
	MOVQ ld+32(FP), R9
	MOVQ k+40(FP), CX
	MOVQ strips+48(FP), R13
	SHLQ $2, R8
	SHLQ $2, R9
	DECQ R13 // all but the last

	MOVQ  $1, AX // a bit for each number of the last strip
	MOVQ  CX, DX
	MOVQ  last+56(FP), CX
	SHLQ  CX, AX
	DECQ  AX
	KMOVW AX, K1
	SHRQ  $16, AX
	KMOVW AX, K2
	MOVQ  $1, AX // and of a whole one
	MOVQ  BX, CX
	SHLQ  CX, AX
	DECQ  AX
	KMOVW AX, K3
	MOVQ  DX, CX
	CMPQ  BX, $32
	JNE   narrow

wide:
	MOVQ  SI, R11
	MOVQ  DI, R12
	MOVQ  R13, AX
	TESTQ AX, AX
	JZ    wideLast

wideStrip:
	PREFETCHT0 (R11)(R9*8)
	PREFETCHT0 64(R11)(R9*8)
	VMOVUPS    (R11), Z0
	VMOVUPS    64(R11), Z1
	VMOVUPS    Z0, (R12)
	VMOVUPS    Z1, 64(R12)
	ADDQ       $128, R11
	ADDQ       R8, R12
	DECQ       AX
	JNZ        wideStrip

wideLast:
	PREFETCHT0 (R11)(R9*8)
	PREFETCHT0 64(R11)(R9*8)
	VMOVUPS.Z  (R11), K1, Z0
	VMOVUPS.Z  64(R11), K2, Z1
	VMOVUPS    Z0, (R12)
	VMOVUPS    Z1, 64(R12)
	ADDQ       R9, SI
	ADDQ       $128, DI
	DECQ       CX
	JNZ        wide
	VZEROUPPER
	RET

narrow:
	SHLQ $2, BX

narrowRow:
	MOVQ  SI, R11
	MOVQ  DI, R12
	MOVQ  R13, AX
	TESTQ AX, AX
	JZ    narrowLast

narrowStrip:
	PREFETCHT0 (R11)(R9*8)
	VMOVUPS.Z  (R11), K3, Z0
	VMOVUPS    Z0, K3, (R12)
	ADDQ       BX, R11
	ADDQ       R8, R12
	DECQ       AX
	JNZ        narrowStrip

narrowLast:
	PREFETCHT0 (R11)(R9*8)
	VMOVUPS.Z  (R11), K1, Z0
	VMOVUPS    Z0, K3, (R12)
	ADDQ       R9, SI
	ADDQ       BX, DI
	DECQ       CX
	JNZ        narrowRow
	VZEROUPPER
	RET
