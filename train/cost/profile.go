package cost

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"hgld/internal/texttable"
	"hgld/train"
	"hgld/train/checkpoint"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/device/observe"
	"hgld/train/network"
)

// Profile holds the time of some training steps. Times are in seconds, summed over all steps.
type Profile struct {
	// Operations are the calls by operation, longest first.
	Operations []OpTime `json:"operations"`

	// Parts are the times of the parts of a step, in the order of a step.
	Parts []PartTime `json:"parts"`

	// Seconds is the time of the steps.
	Seconds float64 `json:"seconds"`

	// Steps is the number of steps.
	Steps int `json:"steps"`

	// Waited is the part of Seconds spent waiting for images.
	Waited float64 `json:"waited"`

	// Rates are the rates that the modelled times are computed from.
	Rates observe.Rates `json:"rates"`
}

// NewProfile measures the device's rates, then takes o.Limit steps. It does not measure the
// first, which allocates. It measures nothing if the run has only one step.
func NewProfile(ctx context.Context, c config.Config, data train.Data, o train.Options) (*Profile, error) {
	checkpoint.ResolvePrecision(&c.Model, o.Backend, "")
	c.Run.ResolveResample(o.Backend) // before the observer hides what kind of backend it is
	p := new(Profile)
	var err error
	if o.Plan, err = train.PlanOn(steady(c), data, o.Backend, ""); err != nil {
		return nil, err
	}
	if p.Rates, err = observe.MeasureRates(o.Backend, c.Model.Activations()); err != nil {
		return nil, err
	}
	times := &profiler{byName: map[string]*OpTime{}, byPart: map[network.Part]float64{}, rates: p.Rates}
	o.Backend = times.watch(o.Backend)
	err = Rehearse(ctx, steady(c), data, o, func(e train.Event) {
		switch {
		case !e.Taken():
		case e.Step == 1:
			clear(times.byName)
			clear(times.byPart)
		default:
			p.Steps, p.Seconds, p.Waited = p.Steps+1, p.Seconds+e.Seconds, p.Waited+e.Waited
		}
	})
	p.Operations = times.list()
	for _, part := range []network.Part{network.PartInput, network.PartNetwork, network.PartLoss, network.PartOptimizer} {
		p.Parts = append(p.Parts, PartTime{part, times.byPart[part]})
	}
	return p, err
}

// PartTime is the time of the operations of a part of a step, in seconds.
type PartTime struct {
	Part    network.Part `json:"part"`    // input, network, loss or optimizer
	Seconds float64      `json:"seconds"` // of all steps
}

// profiler measures the time of a training by operation and by part of a step.
type profiler struct {
	byName map[string]*OpTime
	byPart map[network.Part]float64
	part   network.Part // of the operations that follow
	rates  observe.Rates
}

// watched is a backend whose operations are timed. It implements train.PartObserver.
type watched struct {
	device.Backend
	*profiler
}

// Begin implements train.PartObserver.
func (w watched) Begin(p network.Part) { w.part = p }

// OpTime is the time of all calls of an operation, and their work.
type OpTime struct {
	train.OpWork
	Seconds float64 `json:"seconds"` // of all calls

	// Modelled is the time of all calls at the device's rates. A call takes the time of its bytes
	// or of its products, whichever is longer.
	Modelled float64 `json:"modelled_seconds"`
}

// watch returns b with every operation timed. It waits for each operation, so a device that
// queues its work runs slower with a profiler.
func (p *profiler) watch(b device.Backend) device.Backend {
	return watched{observe.Operations(b, func(c observe.Call, do func()) {
		began := time.Now()
		do()
		_ = b.Sync() // the error is kept and returned at the end of the step
		p.add(c, time.Since(began))
	}), p}
}

// add counts a call and its time.
func (p *profiler) add(c observe.Call, took time.Duration) {
	t := p.byName[c.Op]
	if t == nil {
		t = &OpTime{OpWork: train.OpWork{Op: c.Op}}
		p.byName[c.Op] = t
	}
	t.OpWork.Add(c)
	t.Seconds += took.Seconds()
	p.byPart[p.part] += took.Seconds()
	t.Modelled += p.rates.Seconds(c)
}

// list returns the measured operations, longest first.
func (p *profiler) list() []OpTime {
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

// Table writes the time of a step by operation, then the time spent waiting for images and the
// rest. Beside the measured time of an operation are its modelled time and their quotient. Rates
// are the modelled work, each array counted once, divided by the measured time. The parts of a step follow.
func (p *Profile) Table(w io.Writer) error {
	steps := float64(p.Steps)
	const format = "%-16s %6s %10s %6s %9s %6s %9s %9s %7s"
	fixed := func(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	row := func(name, calls string, s float64, work ...string) []string {
		return append([]string{name, calls, fixed(1e3*s/steps, 2), fixed(100*s/p.Seconds, 1) + "%"}, work...)
	}
	rows := [][]string{{"operation", "calls", "ms a step", "share", "modelled", "times", "GFLOP/s", "MB a step", "GB/s"}}
	rest, modelled := p.Seconds, 0.0
	for _, op := range p.Operations {
		rate := ""
		if op.FLOPs > 0 {
			rate = fixed(op.FLOPs/op.Seconds/1e9, 1)
		}
		rows = append(rows, row(op.Op, fmt.Sprintf("%.3g", float64(op.Calls)/steps), op.Seconds,
			fixed(1e3*op.Modelled/steps, 2), fixed(op.Seconds/op.Modelled, 1), rate, fixed(op.Bytes/1e6/steps, 2),
			fixed(op.Bytes/1e9/op.Seconds, 2)))
		rest, modelled = rest-op.Seconds, modelled+op.Modelled
	}
	rows = append(rows, row("waiting", "", p.Waited), row("other", "", max(rest-p.Waited, 0)),
		row("step", "", p.Seconds, fixed(1e3*modelled/steps, 2), fixed(p.Seconds/modelled, 1)))
	var parts [][]string
	for _, part := range p.Parts {
		parts = append(parts, row(string(part.Part), "", part.Seconds))
	}
	_, err := fmt.Fprintf(w, "%s\n%s\nmodelled: bytes at %.1f GB/s, the rate of a large copy, or products at %.4g "+
		"GFLOP/s, the rate of a large product, whichever takes longer\n", texttable.Format(format, rows...),
		texttable.Format(format, parts...), p.Rates.Copy/1e9, p.Rates.Products/1e9)
	return err
}
