#include "textflag.h"

DATA magnitude<>+0(SB)/4, $0x7fff
GLOBL magnitude<>(SB), RODATA|NOPTR, $4

DATA scale112<>+0(SB)/4, $0x77800000
GLOBL scale112<>(SB), RODATA|NOPTR, $4

DATA greatest<>+0(SB)/4, $0x0f7fe000
GLOBL greatest<>(SB), RODATA|NOPTR, $4

DATA infinite<>+0(SB)/4, $0x7f800000
GLOBL infinite<>(SB), RODATA|NOPTR, $4

// func widenF16AVX2(dst *float32, src *byte, n int)
//
// Exponent and mantissa, moved to their places in a float32, are 2^-112 of the number: the
// product is exact, for denormals too. Infinities and NaN get the greatest exponent instead.
// n is a positive multiple of 8.
TEXT ·widenF16AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VPBROADCASTD magnitude<>(SB), Y4
	VPBROADCASTD scale112<>(SB), Y5
	VPBROADCASTD greatest<>(SB), Y6
	VPBROADCASTD infinite<>(SB), Y7
	XORQ AX, AX

next:
	VPMOVZXWD (SI)(AX*2), Y0
	VPAND     Y4, Y0, Y1
	VPXOR     Y1, Y0, Y0 // the sign
	VPSLLD    $16, Y0, Y0
	VPSLLD    $13, Y1, Y1
	VPCMPGTD  Y6, Y1, Y2 // infinite or NaN
	VMULPS    Y5, Y1, Y3
	VPOR      Y7, Y1, Y1
	VBLENDVPS Y2, Y1, Y3, Y1
	VPOR      Y0, Y1, Y1
	VMOVDQU   Y1, (DI)(AX*4)
	ADDQ      $8, AX
	CMPQ      AX, CX
	JNE       next
	VZEROUPPER
	RET

// func widenBF16AVX2(dst *float32, src *byte, n int)
//
// n is a positive multiple of 8.
TEXT ·widenBF16AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX

next:
	VPMOVZXWD (SI)(AX*2), Y0
	VPSLLD    $16, Y0, Y0
	VMOVDQU   Y0, (DI)(AX*4)
	ADDQ      $8, AX
	CMPQ      AX, CX
	JNE       next
	VZEROUPPER
	RET
