#include "textflag.h"
#include "exp512_amd64.h"

// func expSubAVX512(dst, x *float32, n int, top float32, sums *[8]float64)
//
// n is a positive multiple of 16. Z15 holds the eight sums.
TEXT ·expSubAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS top+24(FP), Z13
	MOVQ sums+32(FP), DX
	VMOVUPD (DX), Z15

next:
	VMOVUPS (SI), Z0
	VSUBPS  Z13, Z0, Z0
	REDUCE16
	EXPAND16
	VMOVUPS   Z4, (DI)
	VCVTPS2PD Y4, Z5
	VADDPD    Z5, Z15, Z15
	VEXTRACTF64X4 $1, Z4, Y4
	VCVTPS2PD Y4, Z5
	VADDPD    Z5, Z15, Z15
	ADDQ $64, SI
	ADDQ $64, DI
	SUBQ $16, CX
	JNZ  next
	VMOVUPD Z15, (DX)
	VZEROUPPER
	RET
