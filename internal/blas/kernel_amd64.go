package blas

import "golang.org/x/sys/cpu"

// bestKernel returns the widest kernel that the processor has instructions for.
func bestKernel() kernel {
	x := cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX2 && x.HasFMA:
		return avx512Kernel
	case x.HasAVX2 && x.HasFMA:
		return avx2Kernel
	}
	return goKernel
}

var avx2Kernel = kernel{
	name: "AVX2", rows: 6, cols: 16,
	multiply: multiplyAVX2, gather: gatherAVX2, transpose: transposeAVX2, copyRows: copyRowsAVX2,
}

var avx512Kernel = kernel{
	name: "AVX-512", rows: 12, cols: 32,
	multiply: multiplyAVX512, transpose: transposeAVX2, copyStrips: copyStripsAVX512,
}

//go:noescape
func multiplyAVX512(k int, a *float32, rowA, nextA int, b, c *float32, ldc int, add bool)

//go:noescape
func multiplyAVX2(k int, a *float32, rowA, nextA int, b, c *float32, ldc int, add bool)

//go:noescape
func gatherAVX2(taps int, rows **float32, at, k int, b, c *float32, ldc int, add bool)

//go:noescape
func transposeAVX2(dst *float32, cols int, src *float32, ld, blocks int)

//go:noescape
func copyRowsAVX2(dst *float32, step int, src *float32, ld, k, vectors int)

//go:noescape
func copyStripsAVX512(dst *float32, cols, next int, src *float32, ld, k, strips, last int)
