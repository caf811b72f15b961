package vec

import "math"

// Constants of exp. ln 2 is split so that n times its high part is exact; expC is
// the least-maximum fit of (e^r − 1 − r)/r² for |r| ≤ ln(2)/2, relative error of
// e^r 3e-9 before rounding.
const (
	expLow  = -104 // e^−104 is less than half of the least float32
	expHigh = 89   // e^89 is more than the greatest
	log2e   = 1.44269504
	whole   = 3 << 22 // 1.5·2^23: adding it rounds to a whole number
	ln2High = 0.693359375
	ln2Low  = -2.12194440e-4
	expC2   = 0.4999999403953552
	expC3   = 0.1666651964187622
	expC4   = 0.04166839271783829
	expC5   = 0.008368780836462975
	expC6   = 0.001381446490995586
)

// Exp is dst = e^x, within 0.99 ulp (measured over all float32 of size 1e-9 to 105).
// e^−Inf is 0, e^NaN NaN, and above 88.72 it is +Inf. Denormal results are
// rounded, not flushed.
func Exp(dst, x []float32) { ExpSub(dst, x, 0) }

// ExpSub is dst = e^(x − top) and returns the sum of dst, kept in float64 and
// rounded once. The difference is a float32, e to its power that of Exp. With top
// the maximum of x it is the numerator and the denominator of a softmax; where
// top and x are the same infinity the result is NaN. An empty x has sum 0.
func ExpSub(dst, x []float32, top float32) (sum float32) {
	dst = dst[:len(x)]
	var s [8]float64
	if n := len(x) &^ 7; expSubFast(dst[:n], x[:n], top, &s) {
		if n < len(x) {
			var rest [8]float32
			var none [8]float64
			copy(rest[:], x[n:])
			expSubFast(rest[:], rest[:], top, &none)
			for i, v := range rest[:copy(dst[n:], rest[:])] {
				s[i] += float64(v)
			}
		}
	} else {
		expSub(dst, x, top, &s)
	}
	return float32(join8(&s))
}

func expSub(dst, x []float32, top float32, s *[8]float64) {
	for i, v := range x {
		e := exp(v - top)
		dst[i] = e
		s[i&7] += float64(e)
	}
}

// exp is e^x = 2^n·e^r, n whole and |r| ≤ ln(2)/2. The power of two is applied in
// two steps, each in the range of float32, so that a denormal is rounded once.
// Conversions keep a compiler from fusing products with sums.
func exp(x float32) float32 { return expLess(x, 0) }

// expLess is e^(x − less) for a small less, which is not rounded away against x.
func expLess(x, less float32) float32 {
	if x != x {
		return x
	}
	x = min(max(x, expLow), expHigh)
	shifted := float32(x*log2e) + whole
	n := shifted - whole
	r := x - float32(n*ln2High)
	r -= float32(n * ln2Low)
	r -= less
	q := float32(r*expC6) + expC5
	q = float32(q*r) + expC4
	q = float32(q*r) + expC3
	q = float32(q*r) + expC2
	e := float32(q*float32(r*r)) + r
	e += 1
	k := int32(math.Float32bits(shifted) - math.Float32bits(whole))
	half := k >> 1
	return e * math.Float32frombits(uint32(k-half+127)<<23) * math.Float32frombits(uint32(half+127)<<23)
}
