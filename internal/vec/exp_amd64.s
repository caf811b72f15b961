#include "textflag.h"
#include "lanes_amd64.h"
#include "exp_amd64.h"

// func expSubAVX2(dst, x *float32, n int, top float32, sums *[8]float64)
//
// n is a positive multiple of 8. Y14 and Y15 hold the eight sums.
TEXT ·expSubAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS top+24(FP), Y13
	MOVQ sums+32(FP), DX
	VMOVUPD (DX), Y14
	VMOVUPD 32(DX), Y15

next:
	VMOVUPS (SI), Y0
	VSUBPS  Y13, Y0, Y0
	REDUCE
	EXPAND
	VMOVUPS Y4, (DI)
	VCVTPS2PD X4, Y5
	VADDPD    Y5, Y14, Y14
	VEXTRACTF128 $1, Y4, X4
	VCVTPS2PD X4, Y5
	VADDPD    Y5, Y15, Y15
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ  next
	VMOVUPD Y14, (DX)
	VMOVUPD Y15, 32(DX)
	VZEROUPPER
	RET
