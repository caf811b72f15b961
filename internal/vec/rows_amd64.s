#include "textflag.h"
#include "loops_amd64.h"

// sum, dot and spread take a positive multiple of 16 elements and add to sixteen
// lanes in Y4 to Y7; the layer functions a multiple of 8. Arithmetic is float64.

#define LOADLANES(p) \
	VMOVUPD (p), Y4; \
	VMOVUPD 32(p), Y5; \
	VMOVUPD 64(p), Y6; \
	VMOVUPD 96(p), Y7

#define STORELANES(p) \
	VMOVUPD Y4, (p); \
	VMOVUPD Y5, 32(p); \
	VMOVUPD Y6, 64(p); \
	VMOVUPD Y7, 96(p)

#define WIDEN16(p, a, b, c, d) \
	WIDEN8(p, a, b); \
	VCVTPS2PD 32(p)(AX*4), c; \
	VCVTPS2PD 48(p)(AX*4), d

#define ADDLANES \
	VADDPD Y0, Y4, Y4; \
	VADDPD Y1, Y5, Y5; \
	VADDPD Y2, Y6, Y6; \
	VADDPD Y3, Y7, Y7

// NEXTLANES is NEXT for the sums, which it puts back.
#define NEXTLANES \
	ADDQ $16, AX; \
	CMPQ AX, CX; \
	JNE  next; \
	STORELANES(DI); \
	VZEROUPPER; \
	RET

// func sumAVX2(x *float32, n int, s *lanes)
TEXT ·sumAVX2(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ s+16(FP), DI
	LOADLANES(DI)
	XORQ AX, AX

next:
	WIDEN16(SI, Y0, Y1, Y2, Y3)
	ADDLANES
	NEXTLANES

// func dotAVX2(x, y *float32, n int, s *lanes)
TEXT ·dotAVX2(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), DX
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), DI
	LOADLANES(DI)
	XORQ AX, AX

next:
	WIDEN16(SI, Y0, Y1, Y2, Y3)
	WIDEN16(DX, Y8, Y9, Y10, Y11)
	VFMADD231PD Y0, Y8, Y4 // the product is exact
	VFMADD231PD Y1, Y9, Y5
	VFMADD231PD Y2, Y10, Y6
	VFMADD231PD Y3, Y11, Y7
	NEXTLANES

// func spreadAVX2(x *float32, n int, mean float64, s *lanes)
TEXT ·spreadAVX2(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSD mean+16(FP), Y15
	MOVQ s+24(FP), DI
	LOADLANES(DI)
	XORQ AX, AX

next:
	WIDEN16(SI, Y0, Y1, Y2, Y3)
	VSUBPD Y15, Y0, Y0
	VSUBPD Y15, Y1, Y1
	VSUBPD Y15, Y2, Y2
	VSUBPD Y15, Y3, Y3
	VMULPD Y0, Y0, Y0
	VMULPD Y1, Y1, Y1
	VMULPD Y2, Y2, Y2
	VMULPD Y3, Y3, Y3
	ADDLANES
	NEXTLANES

// HAT is (x − mean)·r for eight numbers at SI, in Y0 and Y1.
#define HAT \
	WIDEN8(SI, Y0, Y1); \
	VSUBPD Y15, Y0, Y0; \
	VSUBPD Y15, Y1, Y1; \
	VMULPD Y14, Y0, Y0; \
	VMULPD Y14, Y1, Y1

// NARROW stores Y0 and Y1 as eight float32.
#define NARROW \
	VCVTPD2PSY Y0, X0; \
	VCVTPD2PSY Y1, X1; \
	VMOVUPS X0, (DI)(AX*4); \
	VMOVUPS X1, 16(DI)(AX*4)

// func layerRowAVX2(dst, x, gamma, beta *float32, n int, mean, r float64)
TEXT ·layerRowAVX2(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ gamma+16(FP), R8
	MOVQ beta+24(FP), R9
	MOVQ n+32(FP), CX
	VBROADCASTSD mean+40(FP), Y15
	VBROADCASTSD r+48(FP), Y14
	XORQ AX, AX

next:
	HAT
	WIDEN8(R8, Y2, Y3)
	VMULPD Y2, Y0, Y0
	VMULPD Y3, Y1, Y1
	WIDEN8(R9, Y2, Y3)
	VADDPD Y2, Y0, Y0
	VADDPD Y3, Y1, Y1
	NARROW
	NEXT($8, CX)

// func layerSumsAVX2(dgamma, dbeta *float64, dy, x, gamma *float32, n int, mean, r float64, s, a *[8]float64)
TEXT ·layerSumsAVX2(SB), NOSPLIT, $0-80
	MOVQ dgamma+0(FP), R10
	MOVQ dbeta+8(FP), R11
	MOVQ dy+16(FP), DX
	MOVQ x+24(FP), SI
	MOVQ gamma+32(FP), R8
	MOVQ n+40(FP), CX
	VBROADCASTSD mean+48(FP), Y15
	VBROADCASTSD r+56(FP), Y14
	MOVQ s+64(FP), BX
	MOVQ a+72(FP), R12
	VXORPD Y10, Y10, Y10
	VXORPD Y11, Y11, Y11
	VXORPD Y12, Y12, Y12
	VXORPD Y13, Y13, Y13
	XORQ AX, AX

next:
	HAT
	WIDEN8(DX, Y2, Y3)
	VMULPD  Y2, Y0, Y4
	VMULPD  Y3, Y1, Y5
	ADDTO8(R10, Y4, Y5)
	VADDPD  (R11)(AX*8), Y2, Y4
	VADDPD  32(R11)(AX*8), Y3, Y5
	VMOVUPD Y4, (R11)(AX*8)
	VMOVUPD Y5, 32(R11)(AX*8)
	WIDEN8(R8, Y4, Y5)
	VMULPD Y4, Y2, Y2 // g
	VMULPD Y5, Y3, Y3
	VADDPD Y2, Y10, Y10
	VADDPD Y3, Y11, Y11
	VMULPD Y2, Y0, Y0
	VMULPD Y3, Y1, Y1
	VADDPD Y0, Y12, Y12
	VADDPD Y1, Y13, Y13
	ADDQ $8, AX
	CMPQ AX, CX
	JNE  next
	VMOVUPD Y10, (BX)
	VMOVUPD Y11, 32(BX)
	VMOVUPD Y12, (R12)
	VMOVUPD Y13, 32(R12)
	VZEROUPPER
	RET

// func layerBackAVX2(dx, dy, x, gamma *float32, n int, mean, r, sum, along float64)
TEXT ·layerBackAVX2(SB), NOSPLIT, $0-72
	MOVQ dx+0(FP), DI
	MOVQ dy+8(FP), DX
	MOVQ x+16(FP), SI
	MOVQ gamma+24(FP), R8
	MOVQ n+32(FP), CX
	VBROADCASTSD mean+40(FP), Y15
	VBROADCASTSD r+48(FP), Y14
	VBROADCASTSD sum+56(FP), Y13
	VBROADCASTSD along+64(FP), Y12
	XORQ AX, AX

next:
	HAT
	VMULPD Y12, Y0, Y0
	VMULPD Y12, Y1, Y1
	WIDEN8(DX, Y2, Y3)
	WIDEN8(R8, Y4, Y5)
	VMULPD Y4, Y2, Y2
	VMULPD Y5, Y3, Y3
	VSUBPD Y13, Y2, Y2
	VSUBPD Y13, Y3, Y3
	VSUBPD Y0, Y2, Y0
	VSUBPD Y1, Y3, Y1
	VMULPD Y14, Y0, Y0
	VMULPD Y14, Y1, Y1
	NARROW
	NEXT($8, CX)
