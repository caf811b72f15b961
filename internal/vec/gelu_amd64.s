#include "textflag.h"
#include "lanes_amd64.h"
#include "loops_amd64.h"
#include "exp_amd64.h"

// The length n is a positive multiple of 8. Constants and steps are those of
// gelu.go.
LANES8(magnitude8, $0x7fffffff)
LANES8(sign8, $0x80000000)
LANES8(upperHalf8, $0xfffff000)
LANES8(normalEnd8, $15.0)
LANES8(four8, $4.0)
LANES8(half8, $0.5)
LANES8(minusHalf8, $-0.5)
LANES8(invRoot2Pi8, $0.3989422804014327)
LANES8(phi0, $0.7552851438522339)
LANES8(phi1, $-0.6078965663909912)
LANES8(phi2, $0.38713690638542175)
LANES8(phi3, $-0.1865236610174179)
LANES8(phi4, $0.0604034885764122)
LANES8(phi5, $-0.007524004206061363)
LANES8(phi6, $-0.0035102106630802155)
LANES8(phi7, $0.001568408333696425)
LANES8(phi8, $0.0001746589841786772)
LANES8(phi9, $-0.00013419649621937424)

// NORMAL takes x in Y5 and gives Φ(x) in Y2, e^(−x²/2) in Y4 and |x|, bounded, in
// Y6. Uses Y0 to Y9.
#define NORMAL \
	VANDPS  magnitude8<>(SB), Y5, Y6; \
	VMOVUPS normalEnd8<>(SB), Y1; \
	VMINPS  Y6, Y1, Y6; \
	VANDPS  upperHalf8<>(SB), Y6, Y7; \
	VSUBPS  Y7, Y6, Y8; \
	VADDPS  Y7, Y6, Y9; \
	VMULPS  Y9, Y8, Y8; \
	VMULPS  half8<>(SB), Y8, Y8; \
	VMULPS  Y7, Y7, Y0; \
	VMULPS  minusHalf8<>(SB), Y0, Y0; \
	REDUCE; \
	VSUBPS  Y8, Y0, Y0; \
	EXPAND; \
	VADDPS  four8<>(SB), Y6, Y0; \
	VMOVUPS expOne<>(SB), Y3; \
	VDIVPS  Y0, Y3, Y0; \
	VSUBPS  four8<>(SB), Y6, Y1; \
	VMULPS  Y0, Y1, Y1; \
	VMULPS  phi9<>(SB), Y1, Y2; \
	VADDPS  phi8<>(SB), Y2, Y2; \
	VMULPS  Y1, Y2, Y2; \
	VADDPS  phi7<>(SB), Y2, Y2; \
	VMULPS  Y1, Y2, Y2; \
	VADDPS  phi6<>(SB), Y2, Y2; \
	VMULPS  Y1, Y2, Y2; \
	VADDPS  phi5<>(SB), Y2, Y2; \
	VMULPS  Y1, Y2, Y2; \
	VADDPS  phi4<>(SB), Y2, Y2; \
	VMULPS  Y1, Y2, Y2; \
	VADDPS  phi3<>(SB), Y2, Y2; \
	VMULPS  Y1, Y2, Y2; \
	VADDPS  phi2<>(SB), Y2, Y2; \
	VMULPS  Y1, Y2, Y2; \
	VADDPS  phi1<>(SB), Y2, Y2; \
	VMULPS  Y1, Y2, Y2; \
	VADDPS  phi0<>(SB), Y2, Y2; \
	VMULPS  Y0, Y2, Y2; \
	VMULPS  Y4, Y2, Y2; \
	VSUBPS  Y2, Y3, Y3; \
	VXORPS  Y1, Y1, Y1; \
	VCMPPS  $1, Y1, Y5, Y1; \
	VBLENDVPS Y1, Y2, Y3, Y2

// func geluAVX2(dst, x *float32, n int)
TEXT ·geluAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

next:
	VMOVUPS (SI)(AX*4), Y5
	NORMAL
	VMULPS  Y2, Y5, Y2
	VMOVUPS Y2, (DI)(AX*4)
	NEXT($8, CX)

// func geluGradAVX2(dx, dy, x *float32, n int)
TEXT ·geluGradAVX2(SB), NOSPLIT, $0-32
	MOVQ dx+0(FP), DI
	MOVQ dy+8(FP), DX
	MOVQ x+16(FP), SI
	MOVQ n+24(FP), CX
	XORQ AX, AX

next:
	VMOVUPS (SI)(AX*4), Y5
	NORMAL
	VANDPS  sign8<>(SB), Y5, Y0
	VORPS   Y6, Y0, Y0
	VMULPS  Y4, Y0, Y0
	VMULPS  invRoot2Pi8<>(SB), Y0, Y0
	VADDPS  Y0, Y2, Y2
	VMULPS  (DX)(AX*4), Y2, Y2
	VMOVUPS Y2, (DI)(AX*4)
	NEXT($8, CX)
