#include "textflag.h"
#include "lanes_amd64.h"
#include "loops_amd64.h"

LANES8(infinite8, $0x7f800000)

// The length n is a positive multiple of 8 in all of them.

// func axpbyAVX2(dst, x, y *float32, n int, a, b float32)
TEXT ·axpbyAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTSS a+32(FP), Y6
	VBROADCASTSS b+36(FP), Y7
	XORQ AX, AX

next:
	VMULPS  (SI)(AX*4), Y6, Y0
	VMULPS  (DX)(AX*4), Y7, Y1
	VADDPS  Y1, Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	NEXT($8, CX)

// func scaleAVX2(dst, x *float32, n int, a float32)
TEXT ·scaleAVX2(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS a+24(FP), Y6
	XORQ AX, AX

next:
	VMULPS  (SI)(AX*4), Y6, Y0
	VMOVUPS Y0, (DI)(AX*4)
	NEXT($8, CX)

// func scaleWideAVX2(dst, x *float32, n int, a float64)
TEXT ·scaleWideAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSD a+24(FP), Y6
	XORQ AX, AX

next:
	WIDEN8(SI, Y0, Y1)
	VMULPD Y6, Y0, Y0
	VMULPD Y6, Y1, Y1
	NARROW4(Y0, X0, DI)
	VCVTPD2PSY Y1, X1
	VMOVUPS    X1, 16(DI)(AX*4)
	NEXT($8, CX)

// func reluAVX2(dst, x *float32, n int)
TEXT ·reluAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VXORPS Y6, Y6, Y6
	XORQ AX, AX

next:
	VMOVUPS (SI)(AX*4), Y0
	VCMPPS  $6, Y6, Y0, Y1 // not x <= 0
	VANDPS  Y1, Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	NEXT($8, CX)

// func maskAVX2(dst, d, x *float32, n int)
TEXT ·maskAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ d+8(FP), DX
	MOVQ x+16(FP), SI
	MOVQ n+24(FP), CX
	VPXOR Y6, Y6, Y6
	XORQ AX, AX

next:
	VMOVDQU  (SI)(AX*4), Y0
	VPCMPGTD Y6, Y0, Y0 // bits > 0
	VPAND    (DX)(AX*4), Y0, Y0
	VMOVDQU  Y0, (DI)(AX*4)
	NEXT($8, CX)

// func maximumAVX2(dst, x *float32, n int)
//
// The two orders of a maximum differ for zeros of two signs, where their
// conjunction is +0, and beside a NaN, which the comparison puts back.
TEXT ·maximumAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

next:
	VMOVUPS (SI)(AX*4), Y0
	VMOVUPS (DI)(AX*4), Y1
	VMAXPS  Y0, Y1, Y2
	VMAXPS  Y1, Y0, Y3
	VANDPS  Y2, Y3, Y2
	VCMPPS  $3, Y0, Y1, Y3 // either is NaN
	VORPS   Y3, Y2, Y2
	VMOVUPS Y2, (DI)(AX*4)
	NEXT($8, CX)

// func routeAVX2(dst, rest, x, best *float32, n int)
TEXT ·routeAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ rest+8(FP), DX
	MOVQ x+16(FP), SI
	MOVQ best+24(FP), BX
	MOVQ n+32(FP), CX
	XORQ AX, AX

next:
	VMOVUPS (SI)(AX*4), Y0
	VCMPPS  $0, (BX)(AX*4), Y0, Y1
	VCMPPS  $3, Y0, Y0, Y2
	VORPS   Y2, Y1, Y1
	VMOVUPS (DX)(AX*4), Y3
	VANDPS  Y3, Y1, Y2      // moved
	VANDNPS Y3, Y1, Y3      // stays
	VADDPS  (DI)(AX*4), Y2, Y2
	VMOVUPS Y2, (DI)(AX*4)
	VMOVUPS Y3, (DX)(AX*4)
	NEXT($8, CX)

// func nonFiniteAVX2(x *float32, n int) int
//
// Eight counts of 32 bits, which 2^32 elements a lane would fill.
TEXT ·nonFiniteAVX2(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VMOVDQU infinite8<>(SB), Y6
	VPXOR Y7, Y7, Y7
	XORQ AX, AX

next:
	VPAND    (SI)(AX*4), Y6, Y0
	VPCMPEQD Y6, Y0, Y0
	VPSUBD   Y0, Y7, Y7
	ADDQ     $8, AX
	CMPQ     AX, CX
	JNE      next
	VEXTRACTI128 $1, Y7, X0
	VPADDD   X0, X7, X7
	VPHADDD  X7, X7, X7
	VPHADDD  X7, X7, X7
	VMOVD    X7, AX
	MOVQ     AX, ret+16(FP)
	VZEROUPPER
	RET
