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

// OpTime is the time of all calls of an operation, and their work.
type OpTime struct {
	OpWork
	Seconds float64 `json:"seconds"` // of all calls
}

// NewProfiler returns an empty profiler.
func NewProfiler() *Profiler { return &Profiler{byName: map[string]*OpTime{}} }

// Watch returns b with every operation timed. It waits for each operation, so a device
// that queues its work is slower with a profiler than without.
func (p *Profiler) Watch(b device.Backend) device.Backend {
	return observe.Operations(b, func(c observe.Call, do func()) {
		began := time.Now()
		do()
		_ = b.Sync() // its error is kept, and comes at the end of the step
		t := p.byName[c.Op]
		if t == nil {
			t = &OpTime{OpWork: OpWork{Op: c.Op}}
			p.byName[c.Op] = t
		}
		t.add(c)
		t.Seconds += time.Since(began).Seconds()
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

// Table writes the time of each of so many steps: by operation, the rest of the step, and of
// that the waiting for images. Rates are the modelled work, each array counted once, over the
// measured time.
func (p *Profiler) Table(w io.Writer, steps int, seconds, waited float64) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%-16s %6s %10s %6s %9s %9s %7s\n", "operation", "calls", "ms a step", "share", "GFLOP/s",
		"MB a step", "GB/s")
	row := func(name, calls string, s float64, work string) {
		line := fmt.Sprintf("%-16s %6s %10.2f %5.1f%% %s", name, calls, 1e3*s/float64(steps), 100*s/seconds, work)
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	rest := seconds
	for _, op := range p.Ops() {
		rate := ""
		if op.FLOPs > 0 {
			rate = fmt.Sprintf("%.1f", op.FLOPs/op.Seconds/1e9)
		}
		work := fmt.Sprintf("%9s %9.2f %7.2f", rate, op.Bytes/1e6/float64(steps), op.Bytes/1e9/op.Seconds)
		row(op.Op, fmt.Sprintf("%.3g", float64(op.Calls)/float64(steps)), op.Seconds, work)
		rest -= op.Seconds
	}
	row("waiting", "", waited, "")
	row("other", "", max(rest-waited, 0), "")
	row("step", "", seconds, "")
	_, err := io.WriteString(w, text.String())
	return err
}
