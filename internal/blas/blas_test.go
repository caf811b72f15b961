package blas

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// libraries returns the libraries of this machine: at least gonum and one kernel.
func libraries(t testing.TB) []Library {
	t.Helper()
	list := []Library{Gonum()}
	for _, k := range kernels() {
		list = append(list, &native{kernel: k})
	}
	if lib, err := Open("openblas"); err == nil {
		list = append(list, lib)
	} else {
		t.Log(err)
	}
	return list
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// product computes the definition in float64, and the sum of magnitudes that bounds the error of a
// float32 sum.
func product(transA, transB bool, i, j, k int, a []float32, lda int, b []float32, ldb int) (sum, size float64) {
	for p := range k {
		atA, atB := i*lda+p, p*ldb+j
		if transA {
			atA = p*lda + i
		}
		if transB {
			atB = j*ldb + p
		}
		term := float64(a[atA]) * float64(b[atB])
		sum += term
		size += math.Abs(term)
	}
	return sum, size
}

func TestSgemmIsTheMatrixProduct(t *testing.T) {
	sizes := []int{1, 2, 3, 7, 8, 16, 31, 33, 64, 65, 130, 257, 521}
	for _, lib := range libraries(t) {
		t.Log(lib)
		r := rand.New(rand.NewPCG(1, 2))
		for trial := range 200 {
			m, n, k := sizes[r.IntN(len(sizes))], sizes[r.IntN(len(sizes))], sizes[r.IntN(len(sizes))]
			if m*n*k > 2e6 && trial%20 > 3 {
				continue // test few of the large ones, because the definition is slow
			}
			testProduct(t, lib, r, trial, m, n, k)
		}
	}
}

func testProduct(t *testing.T, lib Library, r *rand.Rand, trial, m, n, k int) {
	transA, transB := trial&1 != 0, trial&2 != 0
	alpha, beta := float32(1), float32(0)
	if trial&4 != 0 {
		alpha, beta = -1.5, 0.5
	}
	rowsA, colsA, rowsB, colsB := m, k, k, n
	if transA {
		rowsA, colsA = k, m
	}
	if transB {
		rowsB, colsB = n, k
	}
	lda, ldb, ldc := colsA+r.IntN(3), colsB+r.IntN(3), n+r.IntN(3)
	a, b := random(r, (rowsA-1)*lda+colsA), random(r, (rowsB-1)*ldb+colsB)
	old := random(r, m*ldc)
	if beta == 0 { // c is only written
		for i := range old {
			old[i] = float32(math.NaN())
		}
	}
	c := append([]float32(nil), old...)
	lib.Sgemm(transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	for i := range m {
		for j := range ldc {
			at := i*ldc + j
			if j >= n {
				if c[at] != old[at] && old[at] == old[at] {
					t.Fatalf("%v: %d×%d×%d wrote beyond column %d", lib, m, n, k, n)
				}
				continue
			}
			want, size := product(transA, transB, i, j, k, a, lda, b, ldb)
			want *= float64(alpha)
			if beta != 0 {
				want += float64(beta) * float64(old[at])
				size += math.Abs(float64(old[at]))
			}
			// k roundings of half a unit in the last place (2^-24), in any order
			if diff := math.Abs(float64(c[at]) - want); !(diff <= (size*float64(k+2)+1e-30)*0x1p-23) {
				t.Fatalf("%v: %d×%d×%d trans %v %v: c[%d,%d] = %g, want %g", lib, m, n, k, transA, transB, i, j, c[at], want)
			}
		}
	}
}

func TestSgemmWithoutSumScalesC(t *testing.T) {
	for _, lib := range libraries(t) {
		c := []float32{1, 2, 3, 4}
		lib.Sgemm(false, false, 2, 2, 0, 1, nil, 1, nil, 2, 0.5, c, 2)
		if c[3] != 2 {
			t.Errorf("%v: c = %v", lib, c)
		}
		lib.Sgemm(false, false, 0, 0, 3, 1, nil, 3, nil, 1, 0, nil, 1)
	}
}

func TestSgemmPanicsInsteadOfReadingBeyondASlice(t *testing.T) {
	for _, lib := range libraries(t) {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v took a short matrix", lib)
				}
			}()
			lib.Sgemm(false, false, 2, 2, 2, 1, make([]float32, 3), 2, make([]float32, 4), 2, 0, make([]float32, 4), 2)
		}()
	}
}

// Tiles are computed concurrently. Each must have the bytes that it has alone.
func TestSgemmGivesTheSameBytesOnManyThreads(t *testing.T) {
	for _, lib := range libraries(t) {
		r := rand.New(rand.NewPCG(3, 4))
		const n = 96
		a, b := random(r, n*n), random(r, n*n)
		want := make([]float32, n*n)
		lib.Sgemm(false, true, n, n, n, 1, a, n, b, n, 0, want, n)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					c := make([]float32, n*n)
					lib.Sgemm(false, true, n, n, n, 1, a, n, b, n, 0, c, n)
					for i := range c {
						if c[i] != want[i] {
							t.Errorf("%v: element %d differs", lib, i)
							return
						}
					}
				}
			})
		}
		wg.Wait()
	}
}

func TestSgemmAllocatesNothing(t *testing.T) {
	for _, lib := range libraries(t) {
		a := make([]float32, 200*200)
		if n := testing.AllocsPerRun(10, func() {
			lib.Sgemm(false, true, 200, 200, 200, 1, a, 200, a, 200, 0, a, 200)
		}); n != 0 {
			t.Errorf("%v: %v allocations a call", lib, n)
		}
	}
}

func TestOpenFollowsTheVariable(t *testing.T) {
	if lib, err := Open("gonum"); err != nil || !strings.HasPrefix(lib.String(), "gonum") {
		t.Errorf("Open(gonum) = %v, %v", lib, err)
	}
	if _, err := Open("mkl"); err == nil || !strings.Contains(err.Error(), "known: native, openblas, gonum") {
		t.Errorf("Open(mkl): %v", err)
	}
	if _, err := Open("/nowhere/libopenblas.so"); err == nil || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("Open(path): %v", err)
	}
	if lib, err := Open(""); err != nil || lib == nil {
		t.Errorf(`Open("") = %v, %v`, lib, err)
	}
	t.Setenv(Variable, "gonum")
	if s := Which(); !strings.HasPrefix(s, "gonum") || !strings.Contains(s, Variable) {
		t.Errorf("Which() = %q", s)
	}
}

// Tiles as the CPU backend makes them: of a convolution's forward pass, of its weight gradient, and
// of scores.
func BenchmarkSgemm(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, lib := range libraries(b) {
		name := strings.ReplaceAll(strings.TrimSuffix(lib.String(), " kernel"), ", ", "-")
		if strings.HasSuffix(name, "-Go") {
			continue // the definition, which is slow
		}
		for _, s := range []struct {
			name           string
			transA, transB bool
			m, n, k        int
		}{
			{"64", false, false, 64, 64, 64},
			{"256", false, false, 256, 256, 256},
			{"conv", false, true, 192, 64, 576},
			{"deep", false, true, 48, 512, 4608},
			{"dw", true, false, 512, 256, 256},
			{"scores", false, true, 48, 256, 512},
		} {
			b.Run(name+"/"+s.name, func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 1)) // random, because gonum skips zeros
				x, y, z := random(r, s.m*s.k), random(r, s.k*s.n), make([]float32, s.m*s.n)
				lda, ldb := s.k, s.n
				if s.transA {
					lda = s.m
				}
				if s.transB {
					ldb = s.k
				}
				for b.Loop() {
					lib.Sgemm(s.transA, s.transB, s.m, s.n, s.k, 1, x, lda, y, ldb, 0, z, s.n)
				}
				b.ReportMetric(2*float64(s.m)*float64(s.n)*float64(s.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// The bytes of an element depend only on its row of a, its column of b and k. Rows and columns of a
// product that are moved to other places and strides give the same numbers.
func TestNativeRoundsAnElementAlikeEverywhere(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, kernel := range kernels() {
		lib := &native{kernel: kernel}
		for range 20 {
			m, n, k := 1+r.IntN(40), 1+r.IntN(70), 1+r.IntN(600)
			a, b := random(r, m*k), random(r, n*k)
			whole := make([]float32, m*n)
			lib.Sgemm(false, true, m, n, k, 1, a, k, b, k, 0, whole, n)
			i, j := r.IntN(m), r.IntN(n)
			ldb := n - j + r.IntN(3)
			turned := make([]float32, k*ldb) // columns from j on, not transposed
			for p := range k {
				for q := j; q < n; q++ {
					turned[p*ldb+q-j] = b[q*k+p]
				}
			}
			part := make([]float32, (m-i)*(n-j))
			lib.Sgemm(false, false, m-i, n-j, k, 1, a[i*k:], k, turned, ldb, 0, part, n-j)
			for p, v := range part {
				if w := whole[(i+p/(n-j))*n+j+p%(n-j)]; v != w {
					t.Fatalf("%v: %d×%d×%d from (%d,%d): element %d is %v and %v", lib, m, n, k, i, j, p, v, w)
				}
			}
		}
	}
}
