#include "textflag.h"
#include "lanes_amd64.h"
#include "loops_amd64.h"
#include "expwide_amd64.h"

// The length n is a positive multiple of 4. Constants and steps are those of
// act.go; arithmetic is float64.
LANES4(sign4, $0x8000000000000000)
LANES4(gateEnd, $1e4)
LANES4(gateStart, $-1e4)
LANES4(three4, $3.0)

// GATE takes x in Y4, a and b in Y14 and Y15 and gives σ in Y0, the bounded x in Y5
// and b·x² in Y6. Uses Y1 to Y3.
#define GATE \
	VMOVUPD gateStart<>(SB), Y1; \
	VMAXPD  Y4, Y1, Y5; \
	VMOVUPD gateEnd<>(SB), Y1; \
	VMINPD  Y5, Y1, Y5; \
	VMULPD  Y5, Y5, Y6; \
	VMULPD  Y15, Y6, Y6; \
	VADDPD  Y14, Y6, Y0; \
	VMULPD  Y5, Y0, Y0; \
	VXORPD  sign4<>(SB), Y0, Y0; \
	EXP; \
	VMOVUPD wideOne<>(SB), Y1; \
	VADDPD  Y0, Y1, Y0; \
	VDIVPD  Y0, Y1, Y0

// func gateAVX2(dst, x *float32, n int, a, b float64)
TEXT ·gateAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSD a+24(FP), Y14
	VBROADCASTSD b+32(FP), Y15
	XORQ AX, AX

next:
	VCVTPS2PD  (SI)(AX*4), Y4
	GATE
	VMULPD     Y0, Y4, Y0
	NARROW4(Y0, X0, DI)
	NEXT($4, CX)

// func gateGradAVX2(dx, dy, x *float32, n int, a, b float64)
TEXT ·gateGradAVX2(SB), NOSPLIT, $0-48
	MOVQ dx+0(FP), DI
	MOVQ dy+8(FP), DX
	MOVQ x+16(FP), SI
	MOVQ n+24(FP), CX
	VBROADCASTSD a+32(FP), Y14
	VBROADCASTSD b+40(FP), Y15
	XORQ AX, AX

next:
	VCVTPS2PD  (SI)(AX*4), Y4
	GATE
	VSUBPD     Y0, Y1, Y2
	VMULPD     Y0, Y5, Y5
	VMULPD     Y2, Y5, Y5
	VMULPD     three4<>(SB), Y6, Y6
	VADDPD     Y14, Y6, Y6
	VMULPD     Y6, Y5, Y5
	VADDPD     Y5, Y0, Y0
	VCVTPS2PD  (DX)(AX*4), Y1
	VMULPD     Y0, Y1, Y0
	NARROW4(Y0, X0, DI)
	NEXT($4, CX)
