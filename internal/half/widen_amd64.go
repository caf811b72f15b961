package half

import "golang.org/x/sys/cpu"

//go:noescape
func widenF16AVX2(dst *float32, src *byte, n int)

//go:noescape
func widenBF16AVX2(dst *float32, src *byte, n int)

// widenFast widens as many elements as fill vectors, and returns their number.
func widenFast(dst []float32, src []byte, f16 bool) int {
	n := len(dst) &^ 7
	switch {
	case n == 0 || !cpu.X86.HasAVX2:
		return 0
	case f16:
		widenF16AVX2(&dst[0], &src[0], n)
	default:
		widenBF16AVX2(&dst[0], &src[0], n)
	}
	return n
}
