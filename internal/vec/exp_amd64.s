#include "textflag.h"
#include "lanes_amd64.h"

// The constants are those of exp.go.
LANES8(expLow, $-104.0)
LANES8(expHigh, $89.0)
LANES8(log2e, $1.44269504)
LANES8(whole, $12582912.0) // 1.5·2^23
LANES8(ln2High, $0.693359375)
LANES8(ln2Low, $-2.12194440e-4)
LANES8(exp2, $0.4999999403953552)
LANES8(exp3, $0.1666651964187622)
LANES8(exp4, $0.04166839271783829)
LANES8(exp5, $0.008368780836462975)
LANES8(exp6, $0.001381446490995586)
LANES8(expOne, $1.0)
LANES8(bias, $127)

// func expSubAVX2(dst, x *float32, n int, top float32, sums *[8]float64)
//
// n is a positive multiple of 8. Y14 and Y15 hold the eight sums.
TEXT ·expSubAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS top+24(FP), Y13
	MOVQ sums+32(FP), DX
	VMOVUPD (DX), Y14
	VMOVUPD 32(DX), Y15
	VMOVUPS log2e<>(SB), Y12
	VMOVUPS whole<>(SB), Y11
	VMOVUPS ln2High<>(SB), Y10
	VMOVUPS ln2Low<>(SB), Y9
	VMOVUPS expOne<>(SB), Y8

next:
	VMOVUPS (SI), Y0
	VSUBPS  Y13, Y0, Y0
	VMOVUPS expLow<>(SB), Y1
	VMAXPS  Y0, Y1, Y0       // the second source wins against NaN
	VMOVUPS expHigh<>(SB), Y1
	VMINPS  Y0, Y1, Y0
	VMULPS  Y12, Y0, Y1
	VADDPS  Y11, Y1, Y1      // its low bits are n
	VSUBPS  Y11, Y1, Y2      // n
	VMULPS  Y10, Y2, Y3
	VSUBPS  Y3, Y0, Y0
	VMULPS  Y9, Y2, Y3
	VSUBPS  Y3, Y0, Y0       // r
	VPSUBD  Y11, Y1, Y1      // n, whole number
	VPSRAD  $1, Y1, Y2
	VPSUBD  Y2, Y1, Y1
	VMULPS  Y0, Y0, Y3       // r²
	VMULPS  exp6<>(SB), Y0, Y4
	VADDPS  exp5<>(SB), Y4, Y4
	VMULPS  Y0, Y4, Y4
	VADDPS  exp4<>(SB), Y4, Y4
	VMULPS  Y0, Y4, Y4
	VADDPS  exp3<>(SB), Y4, Y4
	VMULPS  Y0, Y4, Y4
	VADDPS  exp2<>(SB), Y4, Y4
	VMULPS  Y3, Y4, Y4
	VADDPS  Y0, Y4, Y4
	VADDPS  Y8, Y4, Y4
	VPADDD  bias<>(SB), Y1, Y1
	VPADDD  bias<>(SB), Y2, Y2
	VPSLLD  $23, Y1, Y1
	VPSLLD  $23, Y2, Y2
	VMULPS  Y1, Y4, Y4
	VMULPS  Y2, Y4, Y4
	VMOVUPS Y4, (DI)
	VCVTPS2PD X4, Y5
	VADDPD    Y5, Y14, Y14
	VEXTRACTF128 $1, Y4, X4
	VCVTPS2PD X4, Y5
	VADDPD    Y5, Y15, Y15
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ  next
	VMOVUPD Y14, (DX)
	VMOVUPD Y15, 32(DX)
	VZEROUPPER
	RET
