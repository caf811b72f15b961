// Package vec has the loops over float32 slices that a neural network spends its
// time in apart from matrix products: element by element, along rows, down
// columns. On amd64 with AVX2 they run in assembly, one .s file a topic; the Go
// loop beside each is the definition, runs everywhere else and takes what a
// whole number of vectors leaves over.
//
// Both give the same bytes: assembly multiplies and adds in the order that the
// Go loop states, with no fused product unless the product is exact, and sums
// are kept in interleaved lanes whose number is part of the definition. The one
// exception is a NaN, whose payload and sign are left open.
//
// Slices that a function takes have equal lengths; it panics where one is too
// short. A destination may be one of the sources, from the same element on, but
// must not overlap one otherwise.
package vec

// lanes are the sums that a reduction keeps side by side: element i of a slice
// is added to lane i modulo their number.
type lanes [16]float64

// join adds up the lanes, halves first.
func (s *lanes) join() float64 {
	for half := len(s) / 2; half > 0; half /= 2 {
		for i := range half {
			s[i] += s[i+half]
		}
	}
	return s[0]
}
