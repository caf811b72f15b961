package vec

import "math"

// Constants of exp. ln 2 is split so that n times its high part is exact. expC is the minimax
// fit of (e^r − 1 − r)/r² for |r| ≤ ln(2)/2. The relative error of e^r is 3e-9 before
// rounding.
const (
	expLow  = -104 // e^−104 is less than half of the smallest float32
	expHigh = 89   // e^89 exceeds the largest float32
	log2e   = 1.44269504
	whole   = 3 << 22 // 1.5·2^23: adding it rounds to an integer
	ln2High = 0.693359375
	ln2Low  = -2.12194440e-4
	expC2   = 0.4999999403953552
	expC3   = 0.1666651964187622
	expC4   = 0.04166839271783829
	expC5   = 0.008368780836462975
	expC6   = 0.001381446490995586
)

// Exp computes dst = e^x within 0.99 ulp (measured over all float32 of magnitude 1e-9 to 105).
// e^−Inf is 0, e^NaN is NaN, and the result above 88.72 is +Inf. Denormal results are rounded,
// not flushed to zero.
func Exp(dst, x []float32) { ExpSub(dst, x, 0) }

// ExpSub computes dst = e^(x − top) and returns the sum of dst, accumulated in float64 and
// rounded once. The difference is rounded to float32, and its exponential is that of Exp. If
// top is the maximum of x, the results are the numerator and the denominator of a softmax. If
// top and x are the same infinity, the result is NaN. The sum of an empty x is 0.
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

// exp computes e^x = 2^n·e^r, where n is an integer and |r| ≤ ln(2)/2. It applies the power of
// two in two steps within the range of float32, so that a denormal is rounded once. The
// conversions keep the compiler from fusing products with sums.
func exp(x float32) float32 { return expLess(x, 0) }

// expLess computes e^(x − less) for a small less. It subtracts less after the range reduction,
// so that rounding against x does not lose it.
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
