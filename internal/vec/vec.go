// Package vec holds the float32 loops of a neural network other than matrix products: element
// by element, along rows, and down columns. On amd64 with AVX2 they run in assembly, one .s
// file per topic; those that compute much for each element also have a form with AVX-512. The
// Go loop beside each one is its definition. It also runs on other machines and processes the
// remainder after whole vectors.
//
// All produce the same bytes. The assembly multiplies and adds in the order of the Go loop,
// and fuses a product only if it is exact. Sums use interleaved lanes, whose number is part of
// the definition. The only exception is NaN, whose payload and sign are unspecified.
//
// The slices of a call must have equal lengths; a function panics if one is too short. A
// destination may be identical to a source, but must not overlap one partially.
package vec

// lanes holds the parallel sums of a reduction. Element i of a slice is added to lane i modulo
// 16.
type lanes [16]float64

// join adds up the lanes, halving their number at each step.
func (s *lanes) join() float64 {
	for half := len(s) / 2; half > 0; half /= 2 {
		for i := range half {
			s[i] += s[i+half]
		}
	}
	return s[0]
}
