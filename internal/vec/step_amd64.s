#include "textflag.h"
#include "loops_amd64.h"
#include "go_asm.h"

// The length n is a positive multiple of 4; arithmetic is float64.

// GRADIENT takes w to Y0 and dw·scale + w·decay to Y1. Uses Y2.
#define GRADIENT(scale, decay) \
	VCVTPS2PD (DI)(AX*4), Y0; \
	VCVTPS2PD (BX)(AX*4), Y1; \
	VMULPD scale, Y1, Y1; \
	VMULPD decay, Y0, Y2; \
	VADDPD Y2, Y1, Y1

// MOMENT takes keep·m + fresh·g to Y2, for g in Y1. Uses Y3.
#define MOMENT(keep, fresh) \
	VCVTPS2PD (SI)(AX*4), Y2; \
	VMULPD keep, Y2, Y2; \
	VMULPD fresh, Y1, Y3; \
	VADDPD Y3, Y2, Y2

// func adamAVX2(w, m, v, dw *float32, n int, o *AdamStep)
TEXT ·adamAVX2(SB), NOSPLIT, $0-48
	MOVQ w+0(FP), DI
	MOVQ m+8(FP), SI
	MOVQ v+16(FP), DX
	MOVQ dw+24(FP), BX
	MOVQ n+32(FP), CX
	MOVQ o+40(FP), R8
	VBROADCASTSD AdamStep_Beta1(R8), Y6
	VBROADCASTSD AdamStep_Fresh1(R8), Y7
	VBROADCASTSD AdamStep_Beta2(R8), Y8
	VBROADCASTSD AdamStep_Fresh2(R8), Y9
	VBROADCASTSD AdamStep_Scale(R8), Y10
	VBROADCASTSD AdamStep_Decay(R8), Y11
	VBROADCASTSD AdamStep_Keep(R8), Y12
	VBROADCASTSD AdamStep_Rate(R8), Y13
	VBROADCASTSD AdamStep_Root(R8), Y14
	VBROADCASTSD AdamStep_Eps(R8), Y15
	XORQ AX, AX

next:
	GRADIENT(Y10, Y11)
	VMULPD Y12, Y0, Y0
	MOMENT(Y6, Y7)
	VCVTPS2PD (DX)(AX*4), Y3
	VMULPD Y8, Y3, Y3
	VMULPD Y9, Y1, Y4
	VMULPD Y1, Y4, Y4
	VADDPD Y4, Y3, Y3        // v
	VCVTPD2PSY Y2, X4
	VCVTPD2PSY Y3, X5
	VMOVUPS X4, (SI)(AX*4)
	VMOVUPS X5, (DX)(AX*4)
	VSQRTPD Y3, Y3
	VMULPD Y14, Y3, Y3
	VADDPD Y15, Y3, Y3
	VMULPD Y13, Y2, Y2
	VDIVPD Y3, Y2, Y2
	VSUBPD Y2, Y0, Y0
	NARROW4(Y0, X0, DI)
	NEXT($4, CX)

// func sgdAVX2(w, m, dw *float32, n int, o *SGDStep)
TEXT ·sgdAVX2(SB), NOSPLIT, $0-40
	MOVQ w+0(FP), DI
	MOVQ m+8(FP), SI
	MOVQ dw+16(FP), BX
	MOVQ n+24(FP), CX
	MOVQ o+32(FP), R8
	VBROADCASTSD SGDStep_Scale(R8), Y9
	VBROADCASTSD SGDStep_Decay(R8), Y10
	VBROADCASTSD SGDStep_Momentum(R8), Y11
	VBROADCASTSD SGDStep_Fresh(R8), Y12
	VBROADCASTSD SGDStep_Along(R8), Y13
	VBROADCASTSD SGDStep_Push(R8), Y14
	VBROADCASTSD SGDStep_Rate(R8), Y15
	XORQ AX, AX

next:
	GRADIENT(Y9, Y10)
	MOMENT(Y11, Y12)
	NARROW4(Y2, X3, SI)
	VMULPD Y13, Y1, Y1
	VMULPD Y14, Y2, Y2
	VADDPD Y2, Y1, Y1
	VMULPD Y15, Y1, Y1
	VSUBPD Y1, Y0, Y0
	NARROW4(Y0, X0, DI)
	NEXT($4, CX)

// func approachAVX2(dst, x *float32, n int, rate float64)
TEXT ·approachAVX2(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSD rate+24(FP), Y15
	XORQ AX, AX

next:
	VCVTPS2PD (DI)(AX*4), Y0
	VCVTPS2PD (SI)(AX*4), Y1
	VSUBPD Y0, Y1, Y1
	VMULPD Y15, Y1, Y1
	VADDPD Y1, Y0, Y0
	NARROW4(Y0, X0, DI)
	NEXT($4, CX)
