#include "textflag.h"
#include "lanes_amd64.h"
#include "loops_amd64.h"
#include "expwide_amd64.h"

// The length n is a positive multiple of 4; arithmetic is float64.
LANES4(logShift, $0x00095f619980c433)
LANES4(logOne, $0x3ff0000000000000)
LANES4(logMagic, $0x4330000000000000)  // 2^52
LANES4(logOrigin, $4503599627371519.0) // 2^52 + 1023
LANES4(infinity4, $0x7ff0000000000000)
LANES4(ln2, $0.6931471805599453)
LANES4(log0, $0.33333333337911203)
LANES4(log1, $0.19999997806993453)
LANES4(log2, $0.14286055020354144)
LANES4(log3, $0.1108807493131043)
LANES4(log4, $0.09792368726404525)

// LOG gives in Y0 the logarithm of Y4. Uses Y1 to Y3.
#define LOG \
	VPADDQ logShift<>(SB), Y4, Y1; \
	VPSRLQ $52, Y1, Y1; \
	VPSLLQ $52, Y1, Y2; \
	VPSUBQ Y2, Y4, Y0; \
	VPADDQ logOne<>(SB), Y0, Y0; \
	VPOR   logMagic<>(SB), Y1, Y1; \
	VSUBPD logOrigin<>(SB), Y1, Y1; \
	VSUBPD wideOne<>(SB), Y0, Y2; \
	VADDPD wideOne<>(SB), Y0, Y0; \
	VDIVPD Y0, Y2, Y2; \
	VMULPD Y2, Y2, Y3; \
	VMULPD log4<>(SB), Y3, Y0; \
	VADDPD log3<>(SB), Y0, Y0; \
	VMULPD Y3, Y0, Y0; \
	VADDPD log2<>(SB), Y0, Y0; \
	VMULPD Y3, Y0, Y0; \
	VADDPD log1<>(SB), Y0, Y0; \
	VMULPD Y3, Y0, Y0; \
	VADDPD log0<>(SB), Y0, Y0; \
	VMULPD Y3, Y0, Y0; \
	VMULPD Y2, Y0, Y0; \
	VADDPD Y2, Y0, Y0; \
	VADDPD Y0, Y0, Y0; \
	VMULPD ln2<>(SB), Y1, Y1; \
	VADDPD Y1, Y0, Y0; \
	VCMPPD $5, infinity4<>(SB), Y4, Y1; \
	VBLENDVPD Y1, Y4, Y0, Y0

// func powerSumsAVX2(sum, along *float64, x *float32, n int, p, eps float64)
TEXT ·powerSumsAVX2(SB), NOSPLIT, $0-48
	MOVQ sum+0(FP), DI
	MOVQ along+8(FP), DX
	MOVQ x+16(FP), SI
	MOVQ n+24(FP), CX
	VBROADCASTSD p+32(FP), Y14
	VBROADCASTSD eps+40(FP), Y15
	XORQ AX, AX

next:
	VCVTPS2PD (SI)(AX*4), Y4
	VMAXPD    Y4, Y15, Y4 // the second source wins against NaN
	LOG
	VMOVAPD   Y0, Y5
	VMULPD    Y14, Y0, Y0
	EXP
	VMULPD    Y5, Y0, Y1
	VADDPD    (DI)(AX*8), Y0, Y0
	VADDPD    (DX)(AX*8), Y1, Y1
	VMOVUPD   Y0, (DI)(AX*8)
	VMOVUPD   Y1, (DX)(AX*8)
	NEXT($4, CX)

// func powerScaleAVX2(dst, x *float32, k *float64, n int, q, eps float64)
TEXT ·powerScaleAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ k+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTSD q+32(FP), Y14
	VBROADCASTSD eps+40(FP), Y15
	XORQ AX, AX

next:
	VCVTPS2PD (SI)(AX*4), Y4
	VCMPPD    $13, Y15, Y4, Y6 // x >= eps
	VMAXPD    Y4, Y15, Y4
	LOG
	VMULPD    Y14, Y0, Y0
	EXP
	VMULPD    (DX)(AX*8), Y0, Y0
	VANDPD    Y6, Y0, Y0
	NARROW4(Y0, X0, DI)
	NEXT($4, CX)
