#include "textflag.h"

DATA magnitude<>+0(SB)/4, $0x7fff
DATA magnitude<>+4(SB)/4, $0x7fff
DATA magnitude<>+8(SB)/4, $0x7fff
DATA magnitude<>+12(SB)/4, $0x7fff
DATA magnitude<>+16(SB)/4, $0x7fff
DATA magnitude<>+20(SB)/4, $0x7fff
DATA magnitude<>+24(SB)/4, $0x7fff
DATA magnitude<>+28(SB)/4, $0x7fff
GLOBL magnitude<>(SB), RODATA|NOPTR, $32

DATA scale112<>+0(SB)/4, $0x77800000
DATA scale112<>+4(SB)/4, $0x77800000
DATA scale112<>+8(SB)/4, $0x77800000
DATA scale112<>+12(SB)/4, $0x77800000
DATA scale112<>+16(SB)/4, $0x77800000
DATA scale112<>+20(SB)/4, $0x77800000
DATA scale112<>+24(SB)/4, $0x77800000
DATA scale112<>+28(SB)/4, $0x77800000
GLOBL scale112<>(SB), RODATA|NOPTR, $32

DATA greatest<>+0(SB)/4, $0x0f7fe000
DATA greatest<>+4(SB)/4, $0x0f7fe000
DATA greatest<>+8(SB)/4, $0x0f7fe000
DATA greatest<>+12(SB)/4, $0x0f7fe000
DATA greatest<>+16(SB)/4, $0x0f7fe000
DATA greatest<>+20(SB)/4, $0x0f7fe000
DATA greatest<>+24(SB)/4, $0x0f7fe000
DATA greatest<>+28(SB)/4, $0x0f7fe000
GLOBL greatest<>(SB), RODATA|NOPTR, $32

DATA infinite<>+0(SB)/4, $0x7f800000
DATA infinite<>+4(SB)/4, $0x7f800000
DATA infinite<>+8(SB)/4, $0x7f800000
DATA infinite<>+12(SB)/4, $0x7f800000
DATA infinite<>+16(SB)/4, $0x7f800000
DATA infinite<>+20(SB)/4, $0x7f800000
DATA infinite<>+24(SB)/4, $0x7f800000
DATA infinite<>+28(SB)/4, $0x7f800000
GLOBL infinite<>(SB), RODATA|NOPTR, $32

// func widenF16AVX2(dst *float32, src *byte, n int)
//
// Exponent and mantissa, moved to their places in a float32, are 2^-112 of the number: the
// product is exact, for denormals too. Infinities and NaN get the greatest exponent instead.
// n is a positive multiple of 8.
TEXT ·widenF16AVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	VMOVDQU magnitude<>(SB), Y4
	VMOVUPS scale112<>(SB), Y5
	VMOVDQU greatest<>(SB), Y6
	VMOVDQU infinite<>(SB), Y7
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
