// e^x for sixteen float32: exp_amd64.h with AVX-512. A constant is one number, which the
// instruction spreads.

#define ONE(name, bits) \
	DATA name<>+0(SB)/4, bits \
	GLOBL name<>(SB), RODATA|NOPTR, $4

ONE(expLow, $-104.0)
ONE(expHigh, $89.0)
ONE(log2e, $1.44269504)
ONE(whole, $12582912.0) // 1.5·2^23
ONE(ln2High, $0.693359375)
ONE(ln2Low, $-2.12194440e-4)
ONE(exp2, $0.4999999403953552)
ONE(exp3, $0.1666651964187622)
ONE(exp4, $0.04166839271783829)
ONE(exp5, $0.008368780836462975)
ONE(exp6, $0.001381446490995586)
ONE(expOne, $1.0)
ONE(bias, $127)

// REDUCE16 is REDUCE for Z0, Z1, Z2 and Z3.
#define REDUCE16 \
	VBROADCASTSS expLow<>(SB), Z1; \
	VMAXPS       Z0, Z1, Z0; \
	VBROADCASTSS expHigh<>(SB), Z1; \
	VMINPS       Z0, Z1, Z0; \
	VMULPS.BCST  log2e<>(SB), Z0, Z1; \
	VADDPS.BCST  whole<>(SB), Z1, Z1; \
	VSUBPS.BCST  whole<>(SB), Z1, Z2; \
	VMULPS.BCST  ln2High<>(SB), Z2, Z3; \
	VSUBPS       Z3, Z0, Z0; \
	VMULPS.BCST  ln2Low<>(SB), Z2, Z3; \
	VSUBPS       Z3, Z0, Z0; \
	VPSUBD.BCST  whole<>(SB), Z1, Z1

// EXPAND16 is EXPAND for Z0 to Z4.
#define EXPAND16 \
	VPSRAD      $1, Z1, Z2; \
	VPSUBD      Z2, Z1, Z1; \
	VMULPS      Z0, Z0, Z3; \
	VMULPS.BCST exp6<>(SB), Z0, Z4; \
	VADDPS.BCST exp5<>(SB), Z4, Z4; \
	VMULPS      Z0, Z4, Z4; \
	VADDPS.BCST exp4<>(SB), Z4, Z4; \
	VMULPS      Z0, Z4, Z4; \
	VADDPS.BCST exp3<>(SB), Z4, Z4; \
	VMULPS      Z0, Z4, Z4; \
	VADDPS.BCST exp2<>(SB), Z4, Z4; \
	VMULPS      Z3, Z4, Z4; \
	VADDPS      Z0, Z4, Z4; \
	VADDPS.BCST expOne<>(SB), Z4, Z4; \
	VPADDD.BCST bias<>(SB), Z1, Z1; \
	VPADDD.BCST bias<>(SB), Z2, Z2; \
	VPSLLD      $23, Z1, Z1; \
	VPSLLD      $23, Z2, Z2; \
	VMULPS      Z1, Z4, Z4; \
	VMULPS      Z2, Z4, Z4
