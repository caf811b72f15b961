// e^x for eight float32, the constants and steps of exp.go.

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

// REDUCE takes Y0, bounded, apart into n·ln 2 + r: n as a whole number in Y1, whose
// low bits the sum with 1.5·2^23 shows, and r in Y0. Uses Y2 and Y3. The second
// source of a maximum or minimum wins against NaN.
#define REDUCE \
	VMOVUPS expLow<>(SB), Y1; \
	VMAXPS  Y0, Y1, Y0; \
	VMOVUPS expHigh<>(SB), Y1; \
	VMINPS  Y0, Y1, Y0; \
	VMULPS  log2e<>(SB), Y0, Y1; \
	VADDPS  whole<>(SB), Y1, Y1; \
	VSUBPS  whole<>(SB), Y1, Y2; \
	VMULPS  ln2High<>(SB), Y2, Y3; \
	VSUBPS  Y3, Y0, Y0; \
	VMULPS  ln2Low<>(SB), Y2, Y3; \
	VSUBPS  Y3, Y0, Y0; \
	VPSUBD  whole<>(SB), Y1, Y1

// EXPAND gives e^(n·ln 2 + r) in Y4. Uses Y1 to Y3.
#define EXPAND \
	VPSRAD  $1, Y1, Y2; \
	VPSUBD  Y2, Y1, Y1; \
	VMULPS  Y0, Y0, Y3; \
	VMULPS  exp6<>(SB), Y0, Y4; \
	VADDPS  exp5<>(SB), Y4, Y4; \
	VMULPS  Y0, Y4, Y4; \
	VADDPS  exp4<>(SB), Y4, Y4; \
	VMULPS  Y0, Y4, Y4; \
	VADDPS  exp3<>(SB), Y4, Y4; \
	VMULPS  Y0, Y4, Y4; \
	VADDPS  exp2<>(SB), Y4, Y4; \
	VMULPS  Y3, Y4, Y4; \
	VADDPS  Y0, Y4, Y4; \
	VADDPS  expOne<>(SB), Y4, Y4; \
	VPADDD  bias<>(SB), Y1, Y1; \
	VPADDD  bias<>(SB), Y2, Y2; \
	VPSLLD  $23, Y1, Y1; \
	VPSLLD  $23, Y2, Y2; \
	VMULPS  Y1, Y4, Y4; \
	VMULPS  Y2, Y4, Y4
