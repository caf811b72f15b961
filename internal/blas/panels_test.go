package blas

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A product computed in panels has the same bytes as Sgemm's.
func TestPanelsGiveTheBytesOfSgemm(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, kernel := range kernels() {
		lib := &native{kernel: kernel}
		side, width, gather := lib.Shape()
		for trial := range 40 {
			m, n, taps := 1+r.IntN(40), 1+r.IntN(70), 1+r.IntN(5)
			k := taps * (1 + r.IntN(depth/taps))
			transA, transB := trial&1 != 0, trial&2 != 0
			a, b, want := random(r, m*k), random(r, n*k), random(r, m*n)
			got := append([]float32(nil), want...)
			runs := append([]float32(nil), want...)
			lda, ldb, alpha, beta := k, n, float32(-1.5), float32(trial>>2&1)
			if transA {
				lda = m
			}
			if transB {
				ldb = k
			}
			lib.Sgemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, want, n)

			panels := make([]float32, (n+width-1)/width*(width*k+5))
			lib.PackPanels(panels, width*k, transB, n, k, alpha, b, ldb)
			lib.MultiplyPanels(transA, m, n, k, a, lda, panels, beta != 0, got, n)
			same(t, lib, "panels", got, want)
			if !gather || transA {
				continue
			}
			all, at := taps+r.IntN(3), r.IntN(2)
			rows := make([]*float32, (m+side-1)/side*side*all)
			for i := range rows {
				strip, tap, row := i/(all*side), i/side%all, i%side
				if row += strip * side; tap < taps && row < m {
					rows[i] = &append(make([]float32, at), a[row*k+tap*(k/taps):][:k/taps]...)[0]
				} else {
					rows[i] = &make([]float32, at+k/taps)[0]
				}
			}
			lib.MultiplyRuns(rows, all, taps, at, m, n, k, panels, beta != 0, runs, n)
			same(t, lib, "runs", runs, want)
		}
	}
}

func same(t *testing.T, lib Library, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v: %s: element %d is %v, by Sgemm %v", lib, what, i, got[i], want[i])
		}
	}
}

// Each kernel's packing copies bits, pads with zeros, and writes nothing else.
func TestStripsAreCopiesFilledUpWithZeros(t *testing.T) {
	const margin = 1234.5
	r := rand.New(rand.NewPCG(9, 10))
	for _, kernel := range kernels() {
		for _, cols := range []int{kernel.rows, kernel.cols} {
			for n := 1; n <= 5*cols+1; n++ {
				k, ld := 1+r.IntN(20), n+r.IntN(3)
				strips := (n + cols - 1) / cols
				next := cols*k + 8 // copyRows may write one more vector
				src := random(r, (k-1)*ld+n)
				src[r.IntN(len(src))] = float32(math.NaN())
				src[r.IntN(len(src))] = float32(math.Inf(-1))
				src[r.IntN(len(src))] = 1e-45
				dst := make([]float32, strips*next+1)
				for i := range dst {
					dst[i] = margin
				}
				p := pass{kernel: kernel, k: k}
				p.copy(dst, cols, next, src, ld, n)
				for i, got := range dst {
					strip, row, col := i/next, i%next/cols, i%next%cols
					want := float32(0)
					switch at := strip*cols + col; {
					case strip == strips || row > k || row == k && (kernel.copyStrips != nil || col >= 8):
						want = margin
					case row == k:
						continue
					case at < n:
						want = src[row*ld+at]
					}
					if math.Float32bits(got) != math.Float32bits(want) {
						t.Fatalf("%s: %d of %d in strips of %d: element %d is %v, want %v", kernel.name, k, n, cols, i, got, want)
					}
				}
			}
		}
	}
}
