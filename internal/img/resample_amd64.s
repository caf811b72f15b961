#include "textflag.h"

// Bytes of two neighbouring pixels as words: red, green and blue of both, then zeros.
DATA first2<>+0(SB)/8, $0x8004800180038000
DATA first2<>+8(SB)/8, $0x8080808080058002
DATA first2<>+16(SB)/8, $0x8004800180038000
DATA first2<>+24(SB)/8, $0x8080808080058002
GLOBL first2<>(SB), RODATA|NOPTR, $32

// The same of the next two pixels.
DATA second2<>+0(SB)/8, $0x800a800780098006
DATA second2<>+8(SB)/8, $0x80808080800b8008
DATA second2<>+16(SB)/8, $0x800a800780098006
DATA second2<>+24(SB)/8, $0x80808080800b8008
GLOBL second2<>(SB), RODATA|NOPTR, $32

// half rounds a sum.
DATA half<>+0(SB)/4, $0x200000
GLOBL half<>(SB), RODATA|NOPTR, $4

// MULADD adds the products of words to upper and lower sums.
#define MULADD(words, upper, lower, uppersum, lowersum, scratch) \
	VPMADDWD words, upper, scratch; \
	VPADDD   scratch, uppersum, uppersum; \
	VPMADDWD words, lower, scratch; \
	VPADDD   scratch, lowersum, lowersum

// JOIN leaves the rounded sum of upper and lower sums in lowersum.
#define JOIN(uppersum, lowersum) \
	VPSLLD $11, uppersum, uppersum; \
	VPADDD uppersum, lowersum, lowersum; \
	VPSRAD $22, lowersum, lowersum

// func acrossAVX2(dst *byte, dstStride int, src *byte, srcStride int, first *int32, weights *uint32, outputs, groups int)
//
// The halves of Y4 hold pixels of rows 0 and 1, those of Y5 pixels of rows 2 and 3. Their sums are
// in Y0 and Y1, lower parts, and in Y2 and Y3, upper parts.
TEXT ·acrossAVX2(SB), NOSPLIT, $0-64
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
	VMOVDQU first2<>(SB), Y12
	VMOVDQU second2<>(SB), Y13
	VPBROADCASTD half<>(SB), Y14

output:
	MOVLQSX (R10), AX
	ADDQ $4, R10
	LEAQ (AX)(AX*2), AX
	ADDQ SI, AX
	MOVQ R13, CX
	VMOVDQA Y14, Y0
	VMOVDQA Y14, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

group:
	VMOVDQU (AX), X4
	VINSERTI128 $1, (AX)(R9*1), Y4, Y4
	VMOVDQU (AX)(R9*2), X5
	VINSERTI128 $1, (AX)(BX*1), Y5, Y5
	VPBROADCASTD (R11), Y6
	VPBROADCASTD 4(R11), Y7
	VPBROADCASTD 8(R11), Y8
	VPBROADCASTD 12(R11), Y9
	VPSHUFB Y12, Y4, Y10
	VPSHUFB Y13, Y4, Y4
	VPSHUFB Y12, Y5, Y15
	VPSHUFB Y13, Y5, Y5
	MULADD(Y10, Y6, Y8, Y2, Y0, Y11)
	MULADD(Y15, Y6, Y8, Y3, Y1, Y11)
	MULADD(Y4, Y7, Y9, Y2, Y0, Y11)
	MULADD(Y5, Y7, Y9, Y3, Y1, Y11)
	ADDQ $12, AX
	ADDQ $16, R11
	DECQ CX
	JNZ  group
	JOIN(Y2, Y0)
	JOIN(Y3, Y1)
	VPACKSSDW Y1, Y0, Y0
	VPACKUSWB Y0, Y0, Y0 // the lower half begins with rows 0 and 2, the upper one with 1 and 3
	VEXTRACTI128 $1, Y0, X1
	VMOVD X0, (DI)
	VMOVD X1, (DI)(R8*1)
	VPEXTRD $1, X0, (DI)(R8*2)
	VPEXTRD $1, X1, (DI)(DX*1)
	ADDQ $3, DI
	DECQ R12
	JNZ  output
	VZEROUPPER
	RET

// func downAVX2(dst, src *byte, stride int, weights *uint32, pairs, blocks int)
//
// Bytes of two rows alternate as words: Y0 to Y3 are upper sums, Y4 to Y7 lower ones.
TEXT ·downAVX2(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ stride+16(FP), R9
	MOVQ weights+24(FP), R10
	MOVQ pairs+32(FP), R12
	MOVQ blocks+40(FP), R13
	VPXOR Y15, Y15, Y15
	VPBROADCASTD half<>(SB), Y14

block:
	MOVQ SI, AX
	MOVQ R10, R11
	MOVQ R12, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VMOVDQA Y14, Y4
	VMOVDQA Y14, Y5
	VMOVDQA Y14, Y6
	VMOVDQA Y14, Y7

pair:
	VPBROADCASTD (R11), Y12
	VPBROADCASTD 4(R11), Y13
	VMOVDQU (AX), Y8
	VMOVDQU (AX)(R9*1), Y9
	VPUNPCKLBW Y9, Y8, Y10
	VPUNPCKHBW Y9, Y8, Y11
	VPUNPCKLBW Y15, Y10, Y8
	VPUNPCKHBW Y15, Y10, Y9
	MULADD(Y8, Y12, Y13, Y0, Y4, Y10)
	MULADD(Y9, Y12, Y13, Y1, Y5, Y10)
	VPUNPCKLBW Y15, Y11, Y8
	VPUNPCKHBW Y15, Y11, Y9
	MULADD(Y8, Y12, Y13, Y2, Y6, Y10)
	MULADD(Y9, Y12, Y13, Y3, Y7, Y10)
	LEAQ (AX)(R9*2), AX
	ADDQ $8, R11
	DECQ CX
	JNZ  pair
	JOIN(Y0, Y4)
	JOIN(Y1, Y5)
	JOIN(Y2, Y6)
	JOIN(Y3, Y7)
	VPACKSSDW Y5, Y4, Y4
	VPACKSSDW Y7, Y6, Y6
	VPACKUSWB Y6, Y4, Y4
	VMOVDQU Y4, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	DECQ R13
	JNZ  block
	VZEROUPPER
	RET
