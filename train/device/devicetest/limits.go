package devicetest

// Limits say how large the cases are that a backend is given. The zero value leaves
// nothing out; a backend that is emulated, at some ten nanoseconds for each thread of
// a kernel, takes hours for what a processor does in seconds.
type Limits struct {
	// Work bounds the terms of a case: the multiplications of a product, the pairs of
	// a ranking, the elements of an array. 0: no bound.
	Work int
}

// fits reports whether a case of so many terms is to be run.
func (s *suite) fits(terms int) bool { return s.limits.Work == 0 || terms <= s.limits.Work }
