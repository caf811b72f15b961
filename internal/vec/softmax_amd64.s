#include "textflag.h"
#include "lanes_amd64.h"
#include "loops_amd64.h"
#include "expwide_amd64.h"

// The length n is a positive multiple of 8; arithmetic is float64.

// func expScaledAVX2(dst, x *float32, n int, top, scale float64, s *[8]float64)
//
// Y14 and Y15 hold the eight sums. A second vector waits in Y4, because EXP works in Y0 to Y3.
TEXT ·expScaledAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSD top+24(FP), Y12
	VBROADCASTSD scale+32(FP), Y13
	MOVQ s+40(FP), DX
	VMOVUPD (DX), Y14
	VMOVUPD 32(DX), Y15
	XORQ AX, AX

next:
	WIDEN8(SI, Y0, Y4)
	VSUBPD Y12, Y0, Y0
	VMULPD Y13, Y0, Y0
	VSUBPD Y12, Y4, Y4
	VMULPD Y13, Y4, Y4
	EXP
	VADDPD Y0, Y14, Y14
	VCVTPD2PSY Y0, X5
	VMOVAPD Y4, Y0
	EXP
	VADDPD Y0, Y15, Y15
	VCVTPD2PSY Y0, X6
	VMOVUPS X5, (DI)(AX*4)
	VMOVUPS X6, 16(DI)(AX*4)
	ADDQ $8, AX
	CMPQ AX, CX
	JNE  next
	VMOVUPD Y14, (DX)
	VMOVUPD Y15, 32(DX)
	VZEROUPPER
	RET
