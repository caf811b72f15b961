#include "textflag.h"
#include "loops_amd64.h"

// All go through rows of cols numbers, a multiple of 8, the next row stride
// numbers on. rows is positive. AX counts the columns of a row.

#define NEXTCOLUMN \
	ADDQ $8, AX; \
	CMPQ AX, R12; \
	JNE  next

#define NEXTROW \
	DECQ CX; \
	JNZ  row; \
	VZEROUPPER; \
	RET

// MASKED loads dy from BX to Y0, masked where y at DX is not positive; with a step
// of 0 there is no y. The label whole follows.
#define MASKED(step) \
	VMOVUPS  (BX)(AX*4), Y0; \
	TESTQ    step, step; \
	JZ       whole; \
	VMOVDQU  (DX)(AX*4), Y1; \
	VPCMPGTD Y15, Y1, Y1; \
	VPAND    Y1, Y0, Y0

// func columnSumsAVX2(sum *float64, x *float32, rows, cols, stride int, squares bool)
TEXT ·columnSumsAVX2(SB), NOSPLIT, $0-41
	MOVQ sum+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ rows+16(FP), CX
	MOVQ cols+24(FP), R12
	MOVQ stride+32(FP), R13
	MOVBLZX squares+40(FP), DX
	SHLQ $2, R13

row:
	XORQ AX, AX

next:
	WIDEN8(SI, Y0, Y1)
	TESTL  DX, DX
	JZ     add
	VMULPD Y0, Y0, Y0
	VMULPD Y1, Y1, Y1

add:
	ADDTO8(DI, Y0, Y1)
	NEXTCOLUMN
	ADDQ R13, SI
	NEXTROW

// func columnMomentsAVX2(sum, squares *float64, shift, x *float32, rows, cols, stride int)
TEXT ·columnMomentsAVX2(SB), NOSPLIT, $0-56
	MOVQ sum+0(FP), DI
	MOVQ squares+8(FP), R8
	MOVQ shift+16(FP), R9
	MOVQ x+24(FP), SI
	MOVQ rows+32(FP), CX
	MOVQ cols+40(FP), R12
	MOVQ stride+48(FP), R13
	SHLQ $2, R13

row:
	XORQ AX, AX

next:
	WIDEN8(SI, Y0, Y1)
	WIDEN8(R9, Y2, Y3)
	VSUBPD    Y2, Y0, Y0
	VSUBPD    Y3, Y1, Y1
	VMULPD    Y0, Y0, Y2
	VMULPD    Y1, Y1, Y3
	ADDTO8(DI, Y0, Y1)
	ADDTO8(R8, Y2, Y3)
	NEXTCOLUMN
	ADDQ R13, SI
	NEXTROW

// func affineAVX2(dst, x, residual, mean, scale, shift *float32, rows, cols, stride int, rectify bool)
//
// Y13 is zero with rectify, else ones in all bits, which keep any value.
TEXT ·affineAVX2(SB), NOSPLIT, $0-73
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ residual+16(FP), BX
	MOVQ mean+24(FP), R8
	MOVQ scale+32(FP), R9
	MOVQ shift+40(FP), R10
	MOVQ rows+48(FP), CX
	MOVQ cols+56(FP), R12
	MOVQ stride+64(FP), R13
	SHLQ $2, R13
	VPXOR Y15, Y15, Y15
	VPXOR Y13, Y13, Y13
	MOVBLZX rectify+72(FP), AX
	TESTL AX, AX
	JNZ   row
	VPCMPEQD Y13, Y13, Y13

row:
	XORQ AX, AX

next:
	VMOVUPS (SI)(AX*4), Y0
	VSUBPS  (R8)(AX*4), Y0, Y0
	VMULPS  (R9)(AX*4), Y0, Y0
	VADDPS  (R10)(AX*4), Y0, Y0
	TESTQ   BX, BX
	JZ      alone
	VADDPS  (BX)(AX*4), Y0, Y0

alone:
	VCMPPS  $6, Y15, Y0, Y1 // not v <= 0
	VORPS   Y13, Y1, Y1
	VANDPS  Y1, Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	NEXTCOLUMN
	ADDQ R13, SI
	ADDQ R13, DI
	TESTQ BX, BX
	JZ   last
	ADDQ R13, BX

last:
	NEXTROW

// func normSumsAVX2(along, sum *float64, kept, dy, x, y, mean *float32, rows, cols, stride int)
//
// R10 and R15 are the steps of y and kept, 0 where there is none.
TEXT ·normSumsAVX2(SB), NOSPLIT, $0-80
	MOVQ along+0(FP), DI
	MOVQ sum+8(FP), R8
	MOVQ kept+16(FP), R11
	MOVQ dy+24(FP), BX
	MOVQ x+32(FP), SI
	MOVQ y+40(FP), DX
	MOVQ mean+48(FP), R9
	MOVQ rows+56(FP), CX
	MOVQ cols+64(FP), R12
	MOVQ stride+72(FP), R13
	SHLQ $2, R13
	VPXOR Y15, Y15, Y15
	XORQ R10, R10
	XORQ R15, R15
	TESTQ DX, DX
	CMOVQNE R13, R10
	TESTQ R11, R11
	CMOVQNE R13, R15

row:
	XORQ AX, AX

next:
	MASKED(R10)

whole:
	TESTQ R15, R15
	JZ    sums
	VMOVUPS Y0, (R11)(AX*4)

sums:
	VMOVUPS (SI)(AX*4), Y2
	VSUBPS  (R9)(AX*4), Y2, Y2
	VCVTPS2PD X0, Y3
	VCVTPS2PD X2, Y4
	VEXTRACTF128 $1, Y0, X0
	VEXTRACTF128 $1, Y2, X2
	VCVTPS2PD X0, Y0
	VCVTPS2PD X2, Y2
	VMOVUPD (DI)(AX*8), Y5
	VMOVUPD 32(DI)(AX*8), Y6
	VFMADD231PD Y4, Y3, Y5 // the product is exact
	VFMADD231PD Y2, Y0, Y6
	VADDPD (R8)(AX*8), Y3, Y3
	VADDPD 32(R8)(AX*8), Y0, Y0
	VMOVUPD Y5, (DI)(AX*8)
	VMOVUPD Y6, 32(DI)(AX*8)
	VMOVUPD Y3, (R8)(AX*8)
	VMOVUPD Y0, 32(R8)(AX*8)
	NEXTCOLUMN
	ADDQ R13, BX
	ADDQ R13, SI
	ADDQ R10, DX
	ADDQ R15, R11
	NEXTROW

// func normBackAVX2(dx, dy, x, y, mean, scale, along, offset *float32, rows, cols, stride int)
TEXT ·normBackAVX2(SB), NOSPLIT, $0-88
	MOVQ dx+0(FP), DI
	MOVQ dy+8(FP), BX
	MOVQ x+16(FP), SI
	MOVQ y+24(FP), DX
	MOVQ mean+32(FP), R8
	MOVQ scale+40(FP), R9
	MOVQ along+48(FP), R10
	MOVQ offset+56(FP), R11
	MOVQ rows+64(FP), CX
	MOVQ cols+72(FP), R12
	MOVQ stride+80(FP), R13
	SHLQ $2, R13
	VPXOR Y15, Y15, Y15
	XORQ R15, R15
	TESTQ DX, DX
	CMOVQNE R13, R15

row:
	XORQ AX, AX

next:
	MASKED(R15)

whole:
	VMOVUPS (SI)(AX*4), Y2
	VSUBPS  (R8)(AX*4), Y2, Y2
	VMULPS  (R10)(AX*4), Y2, Y2
	VSUBPS  (R11)(AX*4), Y0, Y0
	VSUBPS  Y2, Y0, Y0
	VMULPS  (R9)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	NEXTCOLUMN
	ADDQ R13, BX
	ADDQ R13, SI
	ADDQ R13, DI
	ADDQ R15, DX
	NEXTROW
