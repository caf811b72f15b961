package cluster

import (
	"runtime"
	"sync"
	"sync/atomic"

	"hgld/internal/crash"
)

// parallel calls f(0) … f(n-1) on all cores and returns when all are done. The pieces
// depend on the shape of the problem, never on the number of cores, and each writes
// only its own part, so that results do not depend on the machine.
func parallel(n int, f func(piece int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			defer crash.Guard()
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}

// tiles calls f for each tile of n rows, [lo,hi), on all cores.
func tiles(n int, f func(lo, hi int)) {
	parallel((n+tileRows-1)/tileRows, func(tile int) { f(tile*tileRows, min((tile+1)*tileRows, n)) })
}
