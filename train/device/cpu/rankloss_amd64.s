#include "textflag.h"
#include "go_asm.h"

// The inner loops of the rank loss for processors with AVX2 and FMA. Each has a
// twin in Go, in ranklosspairs.go and ranklosstails.go, which says what it
// computes; a test compares them. VBLENDVPS takes mask, then, else.

// One constant in all lanes.
#define LANES8(name, bits) \
	DATA name<>+0(SB)/4, bits \
	DATA name<>+4(SB)/4, bits \
	DATA name<>+8(SB)/4, bits \
	DATA name<>+12(SB)/4, bits \
	DATA name<>+16(SB)/4, bits \
	DATA name<>+20(SB)/4, bits \
	DATA name<>+24(SB)/4, bits \
	DATA name<>+28(SB)/4, bits \
	GLOBL name<>(SB), RODATA|NOPTR, $32

#define LANES4(name, bits) \
	DATA name<>+0(SB)/8, bits \
	DATA name<>+8(SB)/8, bits \
	DATA name<>+16(SB)/8, bits \
	DATA name<>+24(SB)/8, bits \
	GLOBL name<>(SB), RODATA|NOPTR, $32

// 2^f for |f| ≤ 1/2 in float32: a Chebyshev fit of degree 6, relative error 2e-9
// before rounding.
LANES8(p0, $1.0)
LANES8(p1, $0.6931472067028326)
LANES8(p2, $0.24022650922288757)
LANES8(p3, $0.05550327226670302)
LANES8(p4, $0.009618056678524637)
LANES8(p5, $0.0013400428177615838)
LANES8(p6, $0.0001546144469856913)
LANES8(magnitude8, $0x7fffffff)

// 2^f for |f| ≤ 1/2 in float64: degree 9, relative error 1.4e-14.
LANES4(q0, $1.0000000000000135)
LANES4(q1, $0.6931471805599462)
LANES4(q2, $0.2402265069564034)
LANES4(q3, $0.05550410866465167)
LANES4(q4, $0.009618129193934313)
LANES4(q5, $0.0013333558200794592)
LANES4(q6, $0.0001540343375125101)
LANES4(q7, $1.5252672924850737e-05)
LANES4(q8, $1.325964524488711e-06)
LANES4(q9, $1.0205905413765595e-07)
LANES4(floor4, $-1000.0)
LANES4(negLog2e, $-1.4426950408889634)
LANES4(one4, $1.0)

// 1.5·2^52 + 1023: adding it rounds to a whole number k and leaves k + 1023 in the
// low bits, the exponent field of 2^k.
LANES4(whole4, $6755399441056767.0)

// NEAR turns t (Y0) into e = e^−|t|/τ (Y3) and r = 1/(1+e) (Y4), given the upper
// at k and its scale in Y14. The exponent −|t|·log2(e)/τ = whole + f is taken with
// the rest of the scale, so that far pairs lose no digits. Uses Y1, Y2, Y5. A NaN
// stays one.
#define NEAR(k) \
	VANDPS magnitude8<>(SB), Y0, Y1 \
	VMOVUPS upper_limit(k), Y2 \
	VMINPS Y1, Y2, Y1 \
	VMULPS Y14, Y1, Y2 \
	VROUNDPS $0, Y2, Y2 \
	VMOVAPS Y1, Y3 \
	VFMSUB213PS Y2, Y14, Y1 \
	VFMADD231PS upper_rest(k), Y3, Y1 \
	VCVTPS2DQ Y2, Y2 \
	VPSLLD $23, Y2, Y2 \
	VMOVUPS p1<>(SB), Y3 \
	VMOVUPS p3<>(SB), Y4 \
	VMOVUPS p5<>(SB), Y5 \
	VFMADD213PS p0<>(SB), Y1, Y3 \
	VFMADD213PS p2<>(SB), Y1, Y4 \
	VFMADD213PS p4<>(SB), Y1, Y5 \
	VMULPS Y1, Y1, Y1 \
	VFMADD231PS p6<>(SB), Y1, Y5 \
	VFMADD231PS Y5, Y1, Y4 \
	VFMADD231PS Y4, Y1, Y3 \
	VPADDD Y2, Y3, Y3 \
	VMOVUPS p0<>(SB), Y5 \
	VADDPS Y3, Y5, Y4 \
	VDIVPS Y4, Y5, Y4

// ADD adds the eight lanes of Y(src) to the four of acc. Uses Y0.
#define ADD(ysrc, xsrc, acc) \
	VCVTPS2PD xsrc, Y0 \
	VADDPD Y0, acc, acc \
	VEXTRACTF128 $1, ysrc, xsrc \
	VCVTPS2PD xsrc, Y0 \
	VADDPD Y0, acc, acc

// func gatherAVX2(x *float32, n int, y float32, k *upper) (value, slope float64)
//
// value = Σ f(x_i − y), slope = τ Σ f'(x_i − y) over n sources, a multiple of 8.
TEXT ·gatherAVX2(SB), NOSPLIT, $0-48
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS y+16(FP), Y15
	MOVQ k+24(FP), DI
	VBROADCASTSS upper_scale(DI), Y14
	VBROADCASTSS upper_start(DI), Y13
	VBROADCASTSS upper_delta(DI), Y12
	VBROADCASTSS upper_rho(DI), Y11
	VBROADCASTSS upper_offset(DI), Y10
	VBROADCASTSS upper_zero(DI), Y9
	VBROADCASTSS upper_rhoTau(DI), Y8
	VXORPD Y7, Y7, Y7        // value
	VXORPD Y6, Y6, Y6        // slope

gather:
	SUBQ $8, CX
	JLT  gathered
	VMOVUPS (SI), Y0
	ADDQ $32, SI
	VSUBPS Y15, Y0, Y0 // t
	NEAR(DI)
	VMULPS Y4, Y3, Y3  // tail = σ(−|t|/τ)
	VMULPS Y4, Y3, Y5  // bell = τ·slope
	VADDPS Y13, Y4, Y4
	VXORPS Y1, Y1, Y1
	VCMPPS $0x1e, Y1, Y0, Y2
	VBLENDVPS Y2, Y4, Y3, Y3 // t > 0: start + σ(t/τ)
	VCMPPS $0, Y1, Y0, Y2
	VBLENDVPS Y2, Y9, Y3, Y3 // t = 0
	VCMPPS $0x1e, Y12, Y0, Y2
	VSUBPS Y12, Y0, Y0
	VMOVAPS Y10, Y1
	VFMADD231PS Y11, Y0, Y1
	VBLENDVPS Y2, Y1, Y3, Y3 // t > δ
	VBLENDVPS Y2, Y8, Y5, Y5
	ADD(Y3, X3, Y7)
	ADD(Y5, X5, Y6)
	JMP  gather

gathered:
	VHADDPD Y6, Y7, Y7 // value, slope, value, slope
	VEXTRACTF128 $1, Y7, X0
	VADDPD X0, X7, X7
	VMOVUPD X7, value+32(FP)
	VZEROUPPER
	RET

// func spreadAVX2(slope *float64, y *float32, n int, x float32, w float64, k *upper)
//
// slope_j += w τ f'(x − y_j) for n targets, a multiple of 8.
TEXT ·spreadAVX2(SB), NOSPLIT, $0-48
	MOVQ slope+0(FP), DI
	MOVQ y+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS x+24(FP), Y15
	VBROADCASTSD w+32(FP), Y7
	MOVQ k+40(FP), DX
	VBROADCASTSS upper_scale(DX), Y14
	VBROADCASTSS upper_delta(DX), Y12
	VBROADCASTSS upper_rhoTau(DX), Y8

spread:
	SUBQ $8, CX
	JLT  spreaded
	VSUBPS (SI), Y15, Y0 // t
	ADDQ $32, SI
	NEAR(DX)
	VMULPS Y4, Y3, Y3
	VMULPS Y4, Y3, Y5
	VCMPPS $0x1e, Y12, Y0, Y2
	VBLENDVPS Y2, Y8, Y5, Y5
	VCVTPS2PD X5, Y0
	VEXTRACTF128 $1, Y5, X5
	VCVTPS2PD X5, Y1
	VFMADD213PD (DI), Y7, Y0
	VFMADD213PD 32(DI), Y7, Y1
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	ADDQ $64, DI
	JMP  spread

spreaded:
	VZEROUPPER
	RET

// func expNegsAVX2(x *float64, n int)
//
// x_i becomes e^−x_i for n elements, a multiple of 4; e^−693 beyond that.
TEXT ·expNegsAVX2(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VMOVUPD negLog2e<>(SB), Y9
	VMOVUPD floor4<>(SB), Y8
	VMOVUPD whole4<>(SB), Y7

exp:
	SUBQ $4, CX
	JLT  done
	VMULPD (SI), Y9, Y0
	VMAXPD Y0, Y8, Y0
	VADDPD Y7, Y0, Y1
	VSUBPD Y7, Y1, Y2
	VSUBPD Y2, Y0, Y0 // f
	VPSLLQ $52, Y1, Y1 // 2^k
	VMOVUPD q9<>(SB), Y3
	VFMADD213PD q8<>(SB), Y0, Y3
	VFMADD213PD q7<>(SB), Y0, Y3
	VFMADD213PD q6<>(SB), Y0, Y3
	VFMADD213PD q5<>(SB), Y0, Y3
	VFMADD213PD q4<>(SB), Y0, Y3
	VFMADD213PD q3<>(SB), Y0, Y3
	VFMADD213PD q2<>(SB), Y0, Y3
	VFMADD213PD q1<>(SB), Y0, Y3
	VFMADD213PD q0<>(SB), Y0, Y3
	VMULPD Y1, Y3, Y3
	VMOVUPD Y3, (SI)
	ADDQ $32, SI
	JMP  exp

done:
	VZEROUPPER
	RET

// POWERS turns y in all lanes (Y3) into y…y^4 (Y4), y^5…y^8 (Y5) and y^9…y^12
// (Y6). Y15 is 1. Uses Y7.
#define POWERS \
	VMULPD Y3, Y3, Y7 \
	VBLENDPD $0xa, Y7, Y3, Y4 \
	VBLENDPD $0xc, Y7, Y15, Y5 \
	VMULPD Y5, Y4, Y4 \
	VMULPD Y7, Y7, Y7 \
	VMULPD Y7, Y4, Y5 \
	VMULPD Y7, Y5, Y6

// func tailsAVX2(out, near *float64, first, stop *int32, n int, decay, w *float64, dir int, c *[2 * terms]float64)
//
// One sweep of tailSums over n targets: first[j] is the source to go on from
// (afresh, if that is not where target j−1 stopped), stop[j] the one to end
// before; dir is 1 or −1 for sources and targets alike, whose pointers are to the
// first of each. out receives value and slope of each target.
TEXT ·tailsAVX2(SB), NOSPLIT, $0-72
	MOVQ out+0(FP), DI
	MOVQ near+8(FP), SI
	MOVQ first+16(FP), R8
	MOVQ stop+24(FP), R9
	MOVQ n+32(FP), CX
	MOVQ decay+40(FP), R10
	MOVQ w+48(FP), R11
	MOVQ dir+56(FP), DX
	MOVQ c+64(FP), R12
	VMOVUPD 0(R12), Y8   // tail
	VMOVUPD 32(R12), Y9
	VMOVUPD 64(R12), Y10
	VMOVUPD 96(R12), Y11 // bell
	VMOVUPD 128(R12), Y12
	VMOVUPD 160(R12), Y13
	VMOVUPD one4<>(SB), Y15
	VXORPD Y0, Y0, Y0    // F
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	XORQ R13, R13        // the next target
	TESTQ DX, DX
	JGT  begin
	LEAQ -1(CX), R13

begin:
	MOVLQSX (R8)(R13*4), AX // the next source

target:
	SUBQ $1, CX
	JLT  swept
	MOVLQSX (R8)(R13*4), BX
	CMPQ AX, BX
	JEQ  onward
	MOVQ BX, AX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2

onward:
	MOVLQSX (R9)(R13*4), BX

source:
	CMPQ AX, BX
	JEQ  evaluate
	VBROADCASTSD (R10)(AX*8), Y3
	POWERS
	VBROADCASTSD (R11)(AX*8), Y7
	VFMADD213PD Y7, Y4, Y0
	VFMADD213PD Y7, Y5, Y1
	VFMADD213PD Y7, Y6, Y2
	ADDQ DX, AX
	JMP  source

evaluate:
	VBROADCASTSD (SI)(R13*8), Y3
	POWERS
	VMULPD Y0, Y4, Y4
	VMULPD Y1, Y5, Y5
	VMULPD Y2, Y6, Y6
	VMULPD Y8, Y4, Y3
	VFMADD231PD Y9, Y5, Y3
	VFMADD231PD Y10, Y6, Y3
	VMULPD Y11, Y4, Y4
	VFMADD231PD Y12, Y5, Y4
	VFMADD231PD Y13, Y6, Y4
	VHADDPD Y4, Y3, Y3 // value, slope, value, slope
	VEXTRACTF128 $1, Y3, X4
	VADDPD X4, X3, X3
	MOVQ R13, BX
	SHLQ $4, BX
	VMOVUPD X3, (DI)(BX*1)
	ADDQ DX, R13
	JMP  target

swept:
	VZEROUPPER
	RET
