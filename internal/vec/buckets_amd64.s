#include "textflag.h"
#include "lanes_amd64.h"
#include "loops_amd64.h"

LANES8(bucketOne8, $0x3f800000)
LANES8(bucketLeast8, $0xbf800000)

// func bucketsAVX2(dst *uint32, x *float32, n int, o *Buckets)
//
// n is a positive multiple of 8.
TEXT ·bucketsAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ o+24(FP), BX
	VBROADCASTSS 0(BX), Y4
	VBROADCASTSS 4(BX), Y5
	VBROADCASTSS 8(BX), Y6
	VMOVUPS bucketLeast8<>(SB), Y7
	VMOVUPS bucketOne8<>(SB), Y8
	XORQ AX, AX

next:
	VMOVUPS (SI)(AX*4), Y0
	VSUBPS  Y4, Y0, Y0
	VMULPS  Y5, Y0, Y0
	VMAXPS  Y7, Y0, Y0 // the second source where Y0 is NaN
	VMINPS  Y6, Y0, Y0
	VADDPS  Y8, Y0, Y0
	VCVTTPS2DQ Y0, Y0
	VMOVDQU Y0, (DI)(AX*4)
	NEXT($8, CX)
