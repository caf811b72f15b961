#include "textflag.h"

// Bytes of two neighbouring pixels as words, as in resample_amd64.s: the first two pixels, and the next two.
DATA pixels<>+0(SB)/8, $0x8004800180038000
DATA pixels<>+8(SB)/8, $0x8080808080058002
DATA pixels<>+16(SB)/8, $0x800a800780098006
DATA pixels<>+24(SB)/8, $0x80808080800b8008
GLOBL pixels<>(SB), RODATA|NOPTR, $32

// rounding is added to a sum.
DATA rounding<>+0(SB)/4, $0x200000
GLOBL rounding<>(SB), RODATA|NOPTR, $4

// JOIN512 leaves the rounded sum of upper and lower sums in lowersum.
#define JOIN512(uppersum, lowersum) \
	VPSLLD $11, uppersum, uppersum; \
	VPADDD uppersum, lowersum, lowersum; \
	VPSRAD $22, lowersum, lowersum

// func acrossAVX512(dst *byte, dstStride int, src *byte, srcStride int, first *int32, weights *uint32, outputs, groups int)
//
// The quarters of Z4 hold pixels of four rows. Z0 and Z1 are the lower sums of their first and second pairs, Z2 and
// Z3 the upper ones: four chains, because a product waits for the one before it.
TEXT ·acrossAVX512(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), DI
	MOVQ dstStride+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ srcStride+24(FP), R9
	MOVQ first+32(FP), R10
	MOVQ weights+40(FP), R11
	MOVQ outputs+48(FP), R12
	MOVQ groups+56(FP), R13
	LEAQ (R8)(R8*2), DX
	LEAQ (R9)(R9*2), BX
	VBROADCASTI32X4 pixels<>+0(SB), Z12
	VBROADCASTI32X4 pixels<>+16(SB), Z13
	VPBROADCASTD rounding<>(SB), Z14
	VPXORQ Z15, Z15, Z15
	MOVL $0x00f0, AX
	KMOVW AX, K1
	MOVL $0x0f00, AX
	KMOVW AX, K2
	MOVL $0xf000, AX
	KMOVW AX, K3

output:
	MOVLQSX (R10), AX
	ADDQ $4, R10
	LEAQ (AX)(AX*2), AX
	ADDQ SI, AX
	MOVQ R13, CX
	VMOVDQA32 Z14, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3

group:
	VMOVDQU (AX), X4
	VBROADCASTI32X4 (AX)(R9*1), K1, Z4
	VBROADCASTI32X4 (AX)(R9*2), K2, Z4
	VBROADCASTI32X4 (AX)(BX*1), K3, Z4
	VPSHUFB Z12, Z4, Z5
	VPSHUFB Z13, Z4, Z6
	VPDPWSSD.BCST (R11), Z5, Z2
	VPDPWSSD.BCST 4(R11), Z6, Z3
	VPDPWSSD.BCST 8(R11), Z5, Z0
	VPDPWSSD.BCST 12(R11), Z6, Z1
	ADDQ $12, AX
	ADDQ $16, R11
	DECQ CX
	JNZ  group
	VPADDD Z1, Z0, Z0
	VPADDD Z3, Z2, Z2
	JOIN512(Z2, Z0)
	VPMAXSD Z15, Z0, Z0
	VPMOVUSDB Z0, X0
	VMOVD X0, (DI)
	VPEXTRD $1, X0, (DI)(R8*1)
	VPEXTRD $2, X0, (DI)(R8*2)
	VPEXTRD $3, X0, (DI)(DX*1)
	ADDQ $3, DI
	DECQ R12
	JNZ  output
	VZEROUPPER
	RET

// func downAVX512(dst, src *byte, stride int, weights *uint32, pairs, blocks int)
//
// Bytes of two rows alternate as words: Z0 to Z3 are upper sums, Z4 to Z7 lower ones.
TEXT ·downAVX512(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ stride+16(FP), R9
	MOVQ weights+24(FP), R10
	MOVQ pairs+32(FP), R12
	MOVQ blocks+40(FP), R13
	VPXORQ Z15, Z15, Z15
	VPBROADCASTD rounding<>(SB), Z14

block:
	MOVQ SI, AX
	MOVQ R10, R11
	MOVQ R12, CX
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VMOVDQA32 Z14, Z4
	VMOVDQA32 Z14, Z5
	VMOVDQA32 Z14, Z6
	VMOVDQA32 Z14, Z7

pair:
	VPBROADCASTD (R11), Z12
	VPBROADCASTD 4(R11), Z13
	VMOVDQU8 (AX), Z8
	VMOVDQU8 (AX)(R9*1), Z9
	VPUNPCKLBW Z9, Z8, Z10
	VPUNPCKHBW Z9, Z8, Z11
	VPUNPCKLBW Z15, Z10, Z8
	VPUNPCKHBW Z15, Z10, Z9
	VPDPWSSD Z12, Z8, Z0
	VPDPWSSD Z13, Z8, Z4
	VPDPWSSD Z12, Z9, Z1
	VPDPWSSD Z13, Z9, Z5
	VPUNPCKLBW Z15, Z11, Z8
	VPUNPCKHBW Z15, Z11, Z9
	VPDPWSSD Z12, Z8, Z2
	VPDPWSSD Z13, Z8, Z6
	VPDPWSSD Z12, Z9, Z3
	VPDPWSSD Z13, Z9, Z7
	LEAQ (AX)(R9*2), AX
	ADDQ $8, R11
	DECQ CX
	JNZ  pair
	JOIN512(Z0, Z4)
	JOIN512(Z1, Z5)
	JOIN512(Z2, Z6)
	JOIN512(Z3, Z7)
	VPACKSSDW Z5, Z4, Z4
	VPACKSSDW Z7, Z6, Z6
	VPACKUSWB Z6, Z4, Z4
	VMOVDQU8 Z4, (DI)
	ADDQ $64, SI
	ADDQ $64, DI
	DECQ R13
	JNZ  block
	VZEROUPPER
	RET
