#include "textflag.h"

// The size of a head is a positive multiple of 8, and there is at least one head.

// func headDotsAVX2(dst, q, k *float32, heads, size int)
TEXT ·headDotsAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ q+8(FP), SI
	MOVQ k+16(FP), DX
	MOVQ heads+24(FP), CX
	MOVQ size+32(FP), R8
	SHLQ $2, R8

head:
	VXORPS Y0, Y0, Y0
	XORQ   AX, AX

more:
	VMOVUPS (SI)(AX*1), Y1
	VMULPS  (DX)(AX*1), Y1, Y1
	VADDPS  Y1, Y0, Y0
	ADDQ    $32, AX
	CMPQ    AX, R8
	JNE     more

	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VMOVHLPS     X0, X0, X1
	VADDPS       X1, X0, X0
	VMOVSHDUP    X0, X1
	VADDSS       X1, X0, X0
	VMOVSS       X0, (DI)
	ADDQ         $4, DI
	ADDQ         R8, SI
	ADDQ         R8, DX
	DECQ         CX
	JNZ          head
	VZEROUPPER
	RET

// func headMixAVX2(dst, p, v *float32, heads, size int)
TEXT ·headMixAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ p+8(FP), SI
	MOVQ v+16(FP), DX
	MOVQ heads+24(FP), CX
	MOVQ size+32(FP), R8
	SHLQ $2, R8

weight:
	VBROADCASTSS (SI), Y2
	XORQ         AX, AX

vector:
	VMULPS  (DX)(AX*1), Y2, Y1
	VADDPS  (DI)(AX*1), Y1, Y1
	VMOVUPS Y1, (DI)(AX*1)
	ADDQ    $32, AX
	CMPQ    AX, R8
	JNE     vector
	ADDQ    $4, SI
	ADDQ    R8, DI
	ADDQ    R8, DX
	DECQ    CX
	JNZ     weight
	VZEROUPPER
	RET
