package vec

import "math"

// Constants of the exponential in float64, as in exp. The fit of (e^r − 1 − r)/r² gives a
// relative error of 1.2e-12 in e^r.
const (
	wideLow     = -709 // 2^−1023 represents 0
	wideHigh    = 710  // 2^1024 represents infinity
	wideLog2e   = 1.4426950408889634
	wideWhole   = 3<<51 + 1023 // leaves n + 1023, the exponent field, in the low bits
	wideLn2High = 0.6931471803691238
	wideLn2Low  = 1.9082149292705877e-10
	wide2       = 0.5000000000430251
	wide3       = 0.1666666678514964
	wide4       = 0.041666664391439304
	wide5       = 0.008333281601788504
	wide6       = 0.0013889198368521043
	wide7       = 0.0001990907435478928
	wide8       = 2.4708100907489068e-05
)

// expWide computes e^x to 2e-12, which is more accurate than a float32 result shows. It
// returns 0 below −708.7 and +Inf above 709.4.
func expWide(x float64) float64 {
	if x != x {
		return x
	}
	x = min(max(x, wideLow), wideHigh)
	shifted := float64(x*wideLog2e) + wideWhole
	n := shifted - wideWhole
	r := x - float64(n*wideLn2High)
	r -= float64(n * wideLn2Low)
	q := float64(r*wide8) + wide7
	q = float64(q*r) + wide6
	q = float64(q*r) + wide5
	q = float64(q*r) + wide4
	q = float64(q*r) + wide3
	q = float64(q*r) + wide2
	e := float64(q*float64(r*r)) + r
	e += 1
	return e * math.Float64frombits(math.Float64bits(shifted)<<52)
}

// Constants of the logarithm. The fit of (artanh(s)/s − 1)/s² in s² for s ≤ (√2 − 1)/(√2 + 1)
// gives a relative error of 3e-14 in the result.
const (
	logShift = 0x3ff0000000000000 - 0x3fe6a09e667f3bcd // of 1 and √½
	log0     = 0.33333333337911203
	log1     = 0.19999997806993453
	log2     = 0.14286055020354144
	log3     = 0.1108807493131043
	log4     = 0.09792368726404525
)

// logWide computes ln x for a normal x > 0, +Inf or NaN. It uses x = 2^k·m with √½ ≤ m < √2,
// and ln m = 2 artanh((m−1)/(m+1)).
func logWide(x float64) float64 {
	if !(x < math.Inf(1)) {
		return x
	}
	bits := math.Float64bits(x)
	k := (bits + logShift) >> 52 // plus 1023
	m := math.Float64frombits(bits - k<<52 + 0x3ff0000000000000)
	s := (m - 1) / (m + 1)
	z := float64(s * s)
	l := float64(z*log4) + log3
	l = float64(l*z) + log2
	l = float64(l*z) + log1
	l = float64(l*z) + log0
	l = float64(float64(l*z)*s) + s
	l += l
	return l + float64(float64(int64(k)-1023)*math.Ln2)
}
