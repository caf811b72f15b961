package cpu

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hgld/internal/blas"
	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/testing/conformance"
)

// maker allocates arrays of random values.
type maker struct {
	b *Backend
	r *rand.Rand
}

func (m *maker) f32(dims ...int) device.Array {
	a := device.New(m.b, device.F32, dims...)
	for i := range f32(a) {
		f32(a)[i] = float32(m.r.NormFloat64())
	}
	return a
}

// Ranks are on one thread, since the assignment of rows to threads depends on timing.
func TestOperationsAllocateNothingInTheSteadyState(t *testing.T) {
	for _, lib := range []blas.Library{blas.Gonum(), blas.Native()} {
		for threads := 1; threads <= 2; threads++ {
			for _, c := range conformance.Calls(t, NewWith(threads, lib)) {
				if threads > 1 && strings.Contains(c.Name, "Rank") {
					continue
				}
				if n := testing.AllocsPerRun(5, c.Run); n != 0 {
					t.Errorf("%v: %s: %v allocations a call", lib, c.Name, n)
				}
			}
		}
	}
}

// The arrays start from the same values for every number of threads.
func TestBytesDoNotDependOnTheNumberOfThreads(t *testing.T) {
	libs := []blas.Library{blas.Gonum(), blas.Native()}
	if lib, err := blas.Open("openblas"); err == nil {
		libs = append(libs, lib)
	}
	counts := []int{1, 3}
	if effort.Exhaustive() {
		counts = []int{1, 2, 3, 7}
	}
	for _, lib := range libs {
		want := map[string][][]byte{}
		for _, threads := range counts {
			for _, c := range conformance.Calls(t, NewWith(threads, lib)) {
				c.Run()
				if got := c.Results(); threads == 1 {
					want[c.Name] = got
				} else if !slices.EqualFunc(got, want[c.Name], bytes.Equal) {
					t.Errorf("%v: %s differs between 1 and %d threads", lib, c.Name, threads)
				}
			}
		}
	}
}
