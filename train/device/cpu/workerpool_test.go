package cpu

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"hgld/internal/blas"
	"hgld/internal/testing/must"
	"hgld/train/device"
)

// helpers counts the goroutines of all worker pools, without those of backends that are garbage.
func helpers() int {
	runtime.GC()
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "(*workerPool).help(")
}

func TestHelpersEndWithTheirBackend(t *testing.T) {
	must.Become(t, "the helpers of other tests end", func() bool { return helpers() == 0 })
	func() {
		b := NewWith(4, blas.Native())
		x := device.New(b, device.F32, 1<<20)
		if n := helpers(); n != 0 {
			t.Errorf("%d helpers before there is work", n)
		}
		b.Fill(x, 1)
		must.Become(t, "there are 3 helpers", func() bool { return helpers() == 3 })
		runtime.KeepAlive(b)
	}()
	must.Become(t, "helpers end with their Backend", func() bool { return helpers() == 0 })
}

// AllocsPerRun uses one processor, whereas the threads run concurrently here. The runtime
// allocates once when a goroutine first waits, and other goroutines of the process may
// allocate too. The test therefore requires only one round without allocations among many.
func TestRunningThreadsAllocateNothing(t *testing.T) {
	b := NewWith(2, blas.Native())
	x := device.New(b, device.F32, 1<<18)
	var before, after runtime.MemStats
	for range 20 {
		runtime.ReadMemStats(&before)
		for range 1000 {
			b.Fill(x, 1)
		}
		runtime.ReadMemStats(&after)
		if after.Mallocs == before.Mallocs {
			return
		}
	}
	t.Errorf("%d allocations in the last 1,000 operations", after.Mallocs-before.Mallocs)
}

func TestWorkerPoolDoesEverySpanOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		c := newWorkerPool(threads)
		for _, n := range []int{1, 7, 64, 1000} {
			visits := make(visitTask, n)
			for range 50 {
				c.each(n, 7, visits)
			}
			if want := bytes.Repeat([]byte{50}, n); !bytes.Equal(visits, want) {
				t.Errorf("%d threads, %d items: %v", threads, n, visits)
			}
		}
		c.close()
	}
}

// visitTask counts the visits of each item.
type visitTask []byte

func (v visitTask) span(_, lo, hi int) {
	for i := lo; i < hi; i++ {
		v[i]++
	}
}
