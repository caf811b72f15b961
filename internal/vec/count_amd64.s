#include "textflag.h"

// LANES adds the eight numbers of 32 bits of Y to r.
#define LANES(Y, X, spare, r) \
	VEXTRACTI128 $1, Y, spare; \
	VPADDD spare, X, X; \
	VPHADDD X, X, X; \
	VPHADDD X, X, X; \
	VMOVD X, r

// func countAboveAVX2(x *float32, n int, t float32) (above, equal int)
//
// n is a positive multiple of 8. A comparison that holds is −1 in its lane.
TEXT ·countAboveAVX2(SB), NOSPLIT, $0-40
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS t+16(FP), Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	XORQ AX, AX

next:
	VMOVUPS (SI)(AX*4), Y3
	VCMPPS  $0x1e, Y0, Y3, Y4 // x > t, ordered and quiet
	VCMPPS  $0, Y0, Y3, Y5
	VPSUBD  Y4, Y1, Y1
	VPSUBD  Y5, Y2, Y2
	ADDQ    $8, AX
	CMPQ    AX, CX
	JNE     next

	LANES(Y1, X1, X3, AX)
	LANES(Y2, X2, X3, BX)
	MOVQ AX, above+24(FP)
	MOVQ BX, equal+32(FP)
	VZEROUPPER
	RET
