package train

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"hgld/train/device"
	"hgld/train/device/observe"
)

// Profiler measures the time of a training by operation.
type Profiler struct {
	byName map[string]*OpTime
}

// OpTime is the time of all calls of an operation.
type OpTime struct {
	Op      string  `json:"op"`              // name of the operation
	Calls   int     `json:"calls"`           // in the measured steps
	Seconds float64 `json:"seconds"`         // of all calls
	FLOPs   float64 `json:"flops,omitempty"` // of products
}

// NewProfiler returns an empty profiler.
func NewProfiler() *Profiler { return &Profiler{byName: map[string]*OpTime{}} }

// Watch returns b with every operation timed. It waits for each operation, so a device
// that queues its work is slower with a profiler than without.
func (p *Profiler) Watch(b device.Backend) device.Backend {
	return observe.Operations(b, func(op string, flops float64, do func()) {
		began := time.Now()
		do()
		_ = b.Sync() // its error is kept, and comes at the end of the step
		t := p.byName[op]
		if t == nil {
			t = &OpTime{Op: op}
			p.byName[op] = t
		}
		t.Calls++
		t.Seconds += time.Since(began).Seconds()
		t.FLOPs += flops
	})
}

// Reset discards all times, such as those of the first step, in which memory grows.
func (p *Profiler) Reset() { clear(p.byName) }

// Ops returns what was measured, the longest first.
func (p *Profiler) Ops() []OpTime {
	var list []OpTime
	for _, op := range slices.Sorted(maps.Keys(p.byName)) {
		list = append(list, *p.byName[op])
	}
	slices.SortStableFunc(list, func(a, b OpTime) int {
		switch {
		case a.Seconds > b.Seconds:
			return -1
		case a.Seconds < b.Seconds:
			return 1
		}
		return 0
	})
	return list
}

// Table writes the time of each of so many steps: by operation, the rest of the step,
// and of that the waiting for images.
func (p *Profiler) Table(w io.Writer, steps int, seconds, waited float64) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%-16s %6s %10s %6s %9s\n", "operation", "calls", "ms a step", "share", "GFLOP/s")
	row := func(name, calls string, s float64, rate string) {
		fmt.Fprintf(&text, "%-16s %6s %10.2f %5.1f%% %9s\n", name, calls, 1e3*s/float64(steps), 100*s/seconds, rate)
	}
	rest := seconds
	for _, op := range p.Ops() {
		rate := ""
		if op.FLOPs > 0 {
			rate = fmt.Sprintf("%.1f", op.FLOPs/op.Seconds/1e9)
		}
		row(op.Op, fmt.Sprintf("%.3g", float64(op.Calls)/float64(steps)), op.Seconds, rate)
		rest -= op.Seconds
	}
	row("waiting", "", waited, "")
	row("other", "", max(rest-waited, 0), "")
	row("step", "", seconds, "")
	_, err := io.WriteString(w, text.String())
	return err
}
