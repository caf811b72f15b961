// e^x and ln x for four float64, the constants and steps of wide.go.

LANES4(wideLow, $-709.0)
LANES4(wideHigh, $710.0)
LANES4(wideLog2e, $1.4426950408889634)
LANES4(wideWhole, $6755399441056767.0) // 1.5·2^52 + 1023
LANES4(wideLn2High, $0.6931471803691238)
LANES4(wideLn2Low, $1.9082149292705877e-10)
LANES4(wide2, $0.5000000000430251)
LANES4(wide3, $0.1666666678514964)
LANES4(wide4, $0.041666664391439304)
LANES4(wide5, $0.008333281601788504)
LANES4(wide6, $0.0013889198368521043)
LANES4(wide7, $0.0001990907435478928)
LANES4(wide8, $2.4708100907489068e-05)
LANES4(wideOne, $1.0)

// EXP turns Y0 into e^Y0. Uses Y1 to Y3.
#define EXP \
	VMOVUPD wideLow<>(SB), Y1; \
	VMAXPD  Y0, Y1, Y0; \
	VMOVUPD wideHigh<>(SB), Y1; \
	VMINPD  Y0, Y1, Y0; \
	VMULPD  wideLog2e<>(SB), Y0, Y1; \
	VADDPD  wideWhole<>(SB), Y1, Y1; \
	VSUBPD  wideWhole<>(SB), Y1, Y2; \
	VMULPD  wideLn2High<>(SB), Y2, Y3; \
	VSUBPD  Y3, Y0, Y0; \
	VMULPD  wideLn2Low<>(SB), Y2, Y3; \
	VSUBPD  Y3, Y0, Y0; \
	VPSLLQ  $52, Y1, Y1; \
	VMULPD  Y0, Y0, Y2; \
	VMULPD  wide8<>(SB), Y0, Y3; \
	VADDPD  wide7<>(SB), Y3, Y3; \
	VMULPD  Y0, Y3, Y3; \
	VADDPD  wide6<>(SB), Y3, Y3; \
	VMULPD  Y0, Y3, Y3; \
	VADDPD  wide5<>(SB), Y3, Y3; \
	VMULPD  Y0, Y3, Y3; \
	VADDPD  wide4<>(SB), Y3, Y3; \
	VMULPD  Y0, Y3, Y3; \
	VADDPD  wide3<>(SB), Y3, Y3; \
	VMULPD  Y0, Y3, Y3; \
	VADDPD  wide2<>(SB), Y3, Y3; \
	VMULPD  Y2, Y3, Y3; \
	VADDPD  Y0, Y3, Y3; \
	VADDPD  wideOne<>(SB), Y3, Y3; \
	VMULPD  Y1, Y3, Y0
