package blas

import (
	"runtime/debug"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Gonum returns gonum's matrix product, which needs no installation.
func Gonum() Library { return gonumLibrary{} }

type gonumLibrary struct{ gonum.Implementation }

func (gonumLibrary) String() string {
	const module = "gonum.org/v1/gonum"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == module {
				return "gonum " + d.Version
			}
		}
	}
	return "gonum"
}

// A tile of this shape is two of gonum's blocks of 64 × 64. From four blocks on, gonum starts
// goroutines of its own.
const gonumRows, gonumCols = 64, 128

func (g gonumLibrary) Sgemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int) {
	if k == 0 { // gonum would index the rows of a and b
		for i := range m {
			scale(c[i*ldc:i*ldc+n], beta)
		}
		return
	}
	rowA, colB := lda, 1 // distance from one row of op(a), or column of op(b), to the next
	if transA {
		rowA = 1
	}
	if transB {
		colB = ldb
	}
	for i := 0; i < m; i += gonumRows {
		for j := 0; j < n; j += gonumCols {
			g.Implementation.Sgemm(transpose(transA), transpose(transB), min(gonumRows, m-i), min(gonumCols, n-j), k,
				alpha, a[i*rowA:], lda, b[j*colB:], ldb, beta, c[i*ldc+j:], ldc)
		}
	}
}

// scale multiplies x by f. If f is zero it overwrites x.
func scale(x []float32, f float32) {
	if f == 0 {
		clear(x)
		return
	}
	for i := range x {
		x[i] *= f
	}
}

func transpose(t bool) blas.Transpose {
	if t {
		return blas.Trans
	}
	return blas.NoTrans
}
