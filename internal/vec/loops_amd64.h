// What the loops have in common: AX counts the elements that are done, in a loop
// at the label next.

// NEXT goes on until AX is end, and then returns.
#define NEXT(step, end) \
	ADDQ step, AX; \
	CMPQ AX, end; \
	JNE  next; \
	VZEROUPPER; \
	RET

// WIDEN8 loads eight float32 as float64.
#define WIDEN8(p, lo, hi) \
	VCVTPS2PD (p)(AX*4), lo; \
	VCVTPS2PD 16(p)(AX*4), hi

// NARROW4 stores four float64 as float32; x is the lower half of y.
#define NARROW4(y, x, p) \
	VCVTPD2PSY y, x; \
	VMOVUPS    x, (p)(AX*4)

// ADDTO8 adds eight float64 to those at p, and leaves the sums in the registers.
#define ADDTO8(p, lo, hi) \
	VADDPD  (p)(AX*8), lo, lo; \
	VADDPD  32(p)(AX*8), hi, hi; \
	VMOVUPD lo, (p)(AX*8); \
	VMOVUPD hi, 32(p)(AX*8)
