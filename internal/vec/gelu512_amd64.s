#include "textflag.h"
#include "loops_amd64.h"
#include "exp512_amd64.h"

// gelu_amd64.s with AVX-512. The length n is a positive multiple of 16.
ONE(magnitude, $0x7fffffff)
ONE(sign, $0x80000000)
ONE(upperHalf, $0xfffff000)
ONE(normalEnd, $15.0)
ONE(four, $4.0)
ONE(half, $0.5)
ONE(minusHalf, $-0.5)
ONE(invRoot2Pi, $0.3989422804014327)
ONE(phi0, $0.7552851438522339)
ONE(phi1, $-0.6078965663909912)
ONE(phi2, $0.38713690638542175)
ONE(phi3, $-0.1865236610174179)
ONE(phi4, $0.0604034885764122)
ONE(phi5, $-0.007524004206061363)
ONE(phi6, $-0.0035102106630802155)
ONE(phi7, $0.001568408333696425)
ONE(phi8, $0.0001746589841786772)
ONE(phi9, $-0.00013419649621937424)

// NORMAL16 is NORMAL for Z0 to Z9. Uses K1.
#define NORMAL16 \
	VPANDD.BCST  magnitude<>(SB), Z5, Z6; \
	VBROADCASTSS normalEnd<>(SB), Z1; \
	VMINPS       Z6, Z1, Z6; \
	VPANDD.BCST  upperHalf<>(SB), Z6, Z7; \
	VSUBPS       Z7, Z6, Z8; \
	VADDPS       Z7, Z6, Z9; \
	VMULPS       Z9, Z8, Z8; \
	VMULPS.BCST  half<>(SB), Z8, Z8; \
	VMULPS       Z7, Z7, Z0; \
	VMULPS.BCST  minusHalf<>(SB), Z0, Z0; \
	REDUCE16; \
	VSUBPS       Z8, Z0, Z0; \
	EXPAND16; \
	VADDPS.BCST  four<>(SB), Z6, Z0; \
	VBROADCASTSS expOne<>(SB), Z3; \
	VDIVPS       Z0, Z3, Z0; \
	VSUBPS.BCST  four<>(SB), Z6, Z1; \
	VMULPS       Z0, Z1, Z1; \
	VMULPS.BCST  phi9<>(SB), Z1, Z2; \
	VADDPS.BCST  phi8<>(SB), Z2, Z2; \
	VMULPS       Z1, Z2, Z2; \
	VADDPS.BCST  phi7<>(SB), Z2, Z2; \
	VMULPS       Z1, Z2, Z2; \
	VADDPS.BCST  phi6<>(SB), Z2, Z2; \
	VMULPS       Z1, Z2, Z2; \
	VADDPS.BCST  phi5<>(SB), Z2, Z2; \
	VMULPS       Z1, Z2, Z2; \
	VADDPS.BCST  phi4<>(SB), Z2, Z2; \
	VMULPS       Z1, Z2, Z2; \
	VADDPS.BCST  phi3<>(SB), Z2, Z2; \
	VMULPS       Z1, Z2, Z2; \
	VADDPS.BCST  phi2<>(SB), Z2, Z2; \
	VMULPS       Z1, Z2, Z2; \
	VADDPS.BCST  phi1<>(SB), Z2, Z2; \
	VMULPS       Z1, Z2, Z2; \
	VADDPS.BCST  phi0<>(SB), Z2, Z2; \
	VMULPS       Z0, Z2, Z2; \
	VMULPS       Z4, Z2, Z2; \
	VSUBPS       Z2, Z3, Z3; \
	VPXORD       Z1, Z1, Z1; \
	VCMPPS       $5, Z1, Z5, K1; \
	VMOVAPS      Z3, K1, Z2 // not x < 0

// func geluAVX512(dst, x *float32, n int)
TEXT ·geluAVX512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

next:
	VMOVUPS (SI)(AX*4), Z5
	NORMAL16
	VMULPS  Z2, Z5, Z2
	VMOVUPS Z2, (DI)(AX*4)
	NEXT($16, CX)

// func geluGradAVX512(dx, dy, x *float32, n int)
TEXT ·geluGradAVX512(SB), NOSPLIT, $0-32
	MOVQ dx+0(FP), DI
	MOVQ dy+8(FP), DX
	MOVQ x+16(FP), SI
	MOVQ n+24(FP), CX
	XORQ AX, AX

next:
	VMOVUPS (SI)(AX*4), Z5
	NORMAL16
	VPANDD.BCST sign<>(SB), Z5, Z0
	VPORD       Z6, Z0, Z0
	VMULPS      Z4, Z0, Z0
	VMULPS.BCST invRoot2Pi<>(SB), Z0, Z0
	VADDPS      Z0, Z2, Z2
	VMULPS      (DX)(AX*4), Z2, Z2
	VMOVUPS     Z2, (DI)(AX*4)
	NEXT($16, CX)
