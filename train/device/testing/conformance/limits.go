package conformance

// Limits bounds the size of the test cases. The zero value runs all of them. An emulated
// backend needs tens of nanoseconds per thread of a kernel, and would take hours for cases
// that a CPU runs in seconds.
type Limits struct {
	// Work is the largest number of terms in a case: multiplications of a product, pairs of a
	// ranking, or elements of an array. 0 means no bound.
	Work int
}

// fits reports whether a case with this many terms should run.
func (s *suite) fits(terms int) bool { return s.limits.Work == 0 || terms <= s.limits.Work }
