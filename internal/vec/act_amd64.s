#include "textflag.h"
#include "lanes_amd64.h"
#include "expwide_amd64.h"

// The length n is a positive multiple of 4. Constants and steps are those of
// act.go; arithmetic is float64.
LANES4(magnitude4, $0x7fffffffffffffff)
LANES4(sign4, $0x8000000000000000)
LANES4(normalEnd, $40.0)
LANES4(four4, $4.0)
LANES4(eight4, $8.0)
LANES4(minusHalf4, $-0.5)
LANES4(invRoot2Pi, $0.3989422804014327)
LANES4(phi0, $0.7552851303100234)
LANES4(phi1, $-0.6078966360644948)
LANES4(phi2, $0.3871374067492799)
LANES4(phi3, $-0.18652205189131785)
LANES4(phi4, $0.06039652864716116)
LANES4(phi5, $-0.007538395893831928)
LANES4(phi6, $-0.0034795966594584377)
LANES4(phi7, $0.0016237345759840868)
LANES4(phi8, $0.00013326626818850582)
LANES4(phi9, $-0.00021735383515557527)
LANES4(phi10, $-1.6179552691613588e-06)
LANES4(phi11, $2.182160393927296e-05)
LANES4(gateEnd, $1e4)
LANES4(gateStart, $-1e4)
LANES4(three4, $3.0)

// NORMAL takes x in Y4 and gives Φ(x) in Y8, e^(−x²/2) in Y0 and |x|, bounded, in
// Y5. Uses Y1 to Y3, Y6 and Y7.
#define NORMAL \
	VANDPD  magnitude4<>(SB), Y4, Y5; \
	VMOVUPD normalEnd<>(SB), Y1; \
	VMINPD  Y5, Y1, Y5; \
	VADDPD  four4<>(SB), Y5, Y6; \
	VMOVUPD wideOne<>(SB), Y1; \
	VDIVPD  Y6, Y1, Y6; \
	VMULPD  eight4<>(SB), Y6, Y7; \
	VSUBPD  Y7, Y1, Y7; \
	VMULPD  Y5, Y5, Y0; \
	VMULPD  minusHalf4<>(SB), Y0, Y0; \
	EXP; \
	VMULPD  phi11<>(SB), Y7, Y8; \
	VADDPD  phi10<>(SB), Y8, Y8; \
	VMULPD  Y7, Y8, Y8; \
	VADDPD  phi9<>(SB), Y8, Y8; \
	VMULPD  Y7, Y8, Y8; \
	VADDPD  phi8<>(SB), Y8, Y8; \
	VMULPD  Y7, Y8, Y8; \
	VADDPD  phi7<>(SB), Y8, Y8; \
	VMULPD  Y7, Y8, Y8; \
	VADDPD  phi6<>(SB), Y8, Y8; \
	VMULPD  Y7, Y8, Y8; \
	VADDPD  phi5<>(SB), Y8, Y8; \
	VMULPD  Y7, Y8, Y8; \
	VADDPD  phi4<>(SB), Y8, Y8; \
	VMULPD  Y7, Y8, Y8; \
	VADDPD  phi3<>(SB), Y8, Y8; \
	VMULPD  Y7, Y8, Y8; \
	VADDPD  phi2<>(SB), Y8, Y8; \
	VMULPD  Y7, Y8, Y8; \
	VADDPD  phi1<>(SB), Y8, Y8; \
	VMULPD  Y7, Y8, Y8; \
	VADDPD  phi0<>(SB), Y8, Y8; \
	VMULPD  Y6, Y8, Y8; \
	VMULPD  Y0, Y8, Y8; \
	VMOVUPD wideOne<>(SB), Y1; \
	VSUBPD  Y8, Y1, Y1; \
	VXORPD  Y2, Y2, Y2; \
	VCMPPD  $1, Y2, Y4, Y2; \
	VBLENDVPD Y2, Y8, Y1, Y8

// func geluAVX2(dst, x *float32, n int)
TEXT ·geluAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

next:
	VCVTPS2PD  (SI)(AX*4), Y4
	NORMAL
	VMULPD     Y8, Y4, Y8
	VCVTPD2PSY Y8, X8
	VMOVUPS    X8, (DI)(AX*4)
	ADDQ $4, AX
	CMPQ AX, CX
	JNE  next
	VZEROUPPER
	RET

// func geluGradAVX2(dx, dy, x *float32, n int)
TEXT ·geluGradAVX2(SB), NOSPLIT, $0-32
	MOVQ dx+0(FP), DI
	MOVQ dy+8(FP), DX
	MOVQ x+16(FP), SI
	MOVQ n+24(FP), CX
	XORQ AX, AX

next:
	VCVTPS2PD  (SI)(AX*4), Y4
	NORMAL
	VANDPD     sign4<>(SB), Y4, Y4
	VORPD      Y5, Y4, Y4
	VMULPD     Y0, Y4, Y4
	VMULPD     invRoot2Pi<>(SB), Y4, Y4
	VADDPD     Y4, Y8, Y8
	VCVTPS2PD  (DX)(AX*4), Y0
	VMULPD     Y8, Y0, Y8
	VCVTPD2PSY Y8, X8
	VMOVUPS    X8, (DI)(AX*4)
	ADDQ $4, AX
	CMPQ AX, CX
	JNE  next
	VZEROUPPER
	RET

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
	VCVTPD2PSY Y0, X0
	VMOVUPS    X0, (DI)(AX*4)
	ADDQ $4, AX
	CMPQ AX, CX
	JNE  next
	VZEROUPPER
	RET

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
	VCVTPD2PSY Y0, X0
	VMOVUPS    X0, (DI)(AX*4)
	ADDQ $4, AX
	CMPQ AX, CX
	JNE  next
	VZEROUPPER
	RET
