package cuda_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/conformance"
	"hgld/train/device/testing/emu"
)

const (
	// ratesVariable names the JSON file that BenchmarkKernels writes. It writes a table beside
	// it with the extension .md.
	ratesVariable = "HGLD_GPU_CHECK_RATES"

	// smallVariable selects shapes that are small enough for the emulator.
	smallVariable = "HGLD_GPU_CHECK_SMALL"
)

// rates holds the measurements of BenchmarkKernels. Times are measured on the GPU between two
// events, the smallest of several. Bytes count each array of a call once.
type rates struct {
	Card       string   `json:"card"`
	Copy       float64  `json:"copy_gb_s"`       // cuMemcpyDtoD, read and written
	FMA        float64  `json:"fma_tflop_s"`     // on values in registers
	Tensor     float64  `json:"mma_tflop_s"`     // of BF16 fragments in registers
	Launch     float64  `json:"launch_us"`       // an empty kernel after another, on the GPU
	LaunchHost float64  `json:"launch_host_us"`  // time for the host to queue it
	Graph      float64  `json:"graph_node_us"`   // an empty kernel in a graph of a thousand
	GraphHost  float64  `json:"graph_launch_us"` // time for the host to queue the graph
	Operations []rate   `json:"operations"`
	Unmeasured []string `json:"kernels_not_used"` // at these shapes
}

// rate is an operation at one shape.
type rate struct {
	Name    string       `json:"name"`
	Ms      float64      `json:"ms"`
	GBs     float64      `json:"gb_s,omitempty"`
	TFLOPs  float64      `json:"tflop_s,omitempty"`
	Peak    float64      `json:"of_peak"` // fraction of the copy rate, or of the multiply-add rate of FMA or mma
	Kernels []kernelTime `json:"kernels,omitempty"`
}

// kernelTime is the time of one kernel within an operation.
type kernelTime struct {
	Name     string  `json:"name"`
	Launches int     `json:"launches"`
	Ms       float64 `json:"ms"`
}

// BenchmarkKernels measures every operation and its kernels at training shapes, on a GPU if
// tests run on one.
func BenchmarkKernels(b *testing.B) {
	m := newMeasure(b)
	r := rates{Card: m.b.Name()}
	m.peaks(&r)
	for _, c := range m.cases() {
		o := m.rate(c, &r)
		if err := m.b.Sync(); err != nil { // a backend that has failed does nothing, and that quickly
			b.Fatalf("%s: %v", c.name, err)
		}
		r.Operations = append(r.Operations, o)
		r.write(b) // what there is, should the GPU fail or the time be over
	}
	names, err := cuda.Kernels()
	must.Do(b, err)
	for _, name := range names {
		if !m.watch.seen[name] && !strings.HasPrefix(name, "peak_") {
			r.Unmeasured = append(r.Unmeasured, name)
		}
	}
	b.Log("\n" + r.table())
	r.write(b)
}

// write writes the rates to the file of ratesVariable, and a table beside it.
func (r *rates) write(tb testing.TB) {
	if path := os.Getenv(ratesVariable); path != "" {
		writeFigures(tb, path, r, r.table())
	}
}

// writeFigures writes a JSON file, and a table beside it with the extension .md.
func writeFigures(tb testing.TB, path string, v any, table string) {
	tb.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	must.Do(tb, err)
	for name, text := range map[string]string{path: string(data), strings.TrimSuffix(path, ".json") + ".md": table} {
		err := os.WriteFile(name+".new", []byte(text), 0o644) // a part may be killed while it writes
		if err = errors.Join(err, os.Rename(name+".new", name)); err != nil {
			tb.Fatal(err)
		}
	}
}

// table formats the rates as Markdown.
func (r *rates) table() string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s: copies %.0f GB/s, multiply-adds %.1f TFLOP/s, of BF16 on tensor cores %.1f; "+
		"a launch takes the GPU %.2f µs and the host %.2f µs; "+
		"in a graph it takes the GPU %.2f µs, and the whole graph the host %.1f µs.\n\n",
		r.Card, r.Copy, r.FMA, r.Tensor, r.Launch, r.LaunchHost, r.Graph, r.GraphHost)
	fmt.Fprint(&t, "| operation | ms | GB/s | TFLOP/s | of peak | kernels (ms) |\n|---|---:|---:|---:|---:|---|\n")
	for _, o := range r.Operations {
		var kernels []string
		for _, k := range o.Kernels {
			kernels = append(kernels, fmt.Sprintf("%s %.4f", k.Name, k.Ms))
		}
		fmt.Fprintf(&t, "| %s | %.4f | %s | %s | %.0f %% | %s |\n",
			o.Name, o.Ms, figure(o.GBs), figure(o.TFLOPs), 100*o.Peak, strings.Join(kernels, ", "))
	}
	if len(r.Unmeasured) > 0 {
		fmt.Fprintf(&t, "\nNot used at these shapes: %s.\n", strings.Join(r.Unmeasured, ", "))
	}
	return t.String()
}

// figure formats a rate. It returns "" for a rate that does not apply.
func figure(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.3g", v)
}

// measure times work on a GPU.
type measure struct {
	testing.TB
	b     *cuda.Backend
	watch *stopwatch
	small bool
	dtype device.DType // of activations
	list  []benchCase
}

// newMeasure opens a GPU if tests run on one, and otherwise the emulator.
func newMeasure(b testing.TB) *measure {
	small := os.Getenv(smallVariable) != ""
	if !conformance.OnCard() {
		b.Setenv(cuda.LibrariesVariable, emu.Build(b))
		small = true
	}
	drv, _, err := cuda.OpenDriver()
	must.Do(b, err)
	w := &stopwatch{Driver: drv, names: map[cuda.Function]string{}, seen: map[string]bool{}}
	backend, err := cuda.OpenWith(w, 0)
	must.Do(b, err)
	b.Cleanup(func() {
		if err := backend.Close(); err != nil {
			b.Error(err)
		}
	})
	return &measure{TB: b, b: backend, watch: w, small: small}
}

// benchCase is an operation at one shape.
type benchCase struct {
	name         string
	bytes, flops float64
	tensor       bool // multiplies on tensor cores
	run          func()
}

const (
	leastTime = 10e-3 // minimum time in seconds for the repetitions of an operation
	mostRuns  = 200
	rounds    = 3 // number of rounds, of which the fastest counts
)

// seconds returns the time of f on the GPU after a first run: the fastest of several rounds
// of repetitions.
func (m *measure) seconds(f func()) float64 {
	f()
	once := m.watch.time(m, f)
	runs := min(max(int(leastTime/max(once, 1e-7)), 1), mostRuns)
	best := once
	for range rounds {
		if m.small {
			break
		}
		best = min(best, m.watch.time(m, func() {
			for range runs {
				f()
			}
		})/float64(runs))
	}
	return best
}

// rate measures a case, and then each of its kernels.
func (m *measure) rate(c benchCase, r *rates) rate {
	s := m.seconds(c.run)
	o := rate{Name: c.name, Ms: 1e3 * s, Kernels: m.watch.kernels(m, c.run)}
	if c.flops > 0 {
		o.TFLOPs = c.flops / s / 1e12
		o.Peak = o.TFLOPs / r.FMA
		if c.tensor {
			o.Peak = o.TFLOPs / r.Tensor
		}
	} else {
		o.GBs = c.bytes / s / 1e9
		o.Peak = o.GBs / r.Copy
	}
	return o
}

// peaks measures the limits of the GPU and the cost of a launch.
func (m *measure) peaks(r *rates) {
	size, threads, iterations, launches := 1<<30, 1<<20, 256, 1000
	if m.small {
		size, threads, iterations, launches = 1<<20, 1<<10, 4, 20
	}
	from, to := device.New(m.b, device.U8, size), device.New(m.b, device.U8, size)
	r.Copy = 2 * float64(size) / m.seconds(func() { m.b.Copy(to, from) }) / 1e9
	sums := device.New(m.b, device.F32, threads)
	r.FMA = 256 * float64(threads) * float64(iterations) / m.seconds(func() { m.b.PeakFMA(sums, iterations) }) / 1e12
	r.Tensor = 4096 * float64(threads/32) * 8 * float64(iterations) /
		m.seconds(func() { m.b.PeakMMA(sums, iterations) }) / 1e12
	for _, a := range []device.Array{from, to, sums} {
		m.b.Free(a.Buf)
	}
	many := func() {
		for range launches {
			m.b.PeakEmpty()
		}
	}
	us := func(seconds float64) float64 { return 1e6 * seconds / float64(launches) }
	r.Launch = us(m.seconds(many))
	r.LaunchHost = us(m.host(many))
	program, err := m.b.Record(many)
	must.Do(m, err)
	r.Graph = us(m.seconds(program.Run))
	r.GraphHost = 1e6 * m.host(program.Run)
	program.Close()
}

// host returns how long it takes the host to queue f.
func (m *measure) host(f func()) float64 {
	best := 1e9
	for range rounds {
		start := time.Now()
		f()
		best = min(best, time.Since(start).Seconds())
		must.Do(m, m.b.Sync())
	}
	return best
}

// stopwatch is a driver that times launches.
type stopwatch struct {
	cuda.Driver
	ctx     cuda.Context
	compute cuda.Stream // first stream that was created
	names   map[cuda.Function]string
	seen    map[string]bool
	on      bool
	spans   []span
}

// span is the time of one launch.
type span struct {
	name     string
	from, to cuda.Event
}

func (w *stopwatch) Retain(ordinal int) (ctx cuda.Context, err error) {
	ctx, err = w.Driver.Retain(ordinal)
	w.ctx = ctx
	return ctx, err
}

func (w *stopwatch) NewStream() (cuda.Stream, error) {
	s, err := w.Driver.NewStream()
	if w.compute == 0 {
		w.compute = s
	}
	return s, err
}

func (w *stopwatch) Function(m cuda.Module, name string) (cuda.Function, error) {
	f, err := w.Driver.Function(m, name)
	w.names[f] = name
	return f, err
}

func (w *stopwatch) Launch(f cuda.Function, grid, block [3]uint32, shared int, s cuda.Stream,
	params unsafe.Pointer) error {
	w.seen[w.names[f]] = true
	if !w.on {
		return w.Driver.Launch(f, grid, block, shared, s, params)
	}
	from, err := w.mark()
	if err == nil {
		err = w.Driver.Launch(f, grid, block, shared, s, params)
	}
	if err != nil {
		return err
	}
	to, err := w.mark()
	w.spans = append(w.spans, span{w.names[f], from, to})
	return err
}

// mark records a timed event on the stream of operations.
func (w *stopwatch) mark() (cuda.Event, error) {
	e, err := w.NewEvent(cuda.Timed)
	if err != nil {
		return e, err
	}
	return e, w.Record(e, w.compute)
}

// between returns the seconds between two events, which it frees.
func (w *stopwatch) between(from, to cuda.Event) (float64, error) {
	if err := w.SyncEvent(to); err != nil {
		return 0, err
	}
	ms, err := w.Elapsed(from, to)
	for _, e := range []cuda.Event{from, to} {
		if err == nil {
			err = w.FreeEvent(e)
		}
	}
	return float64(ms) / 1e3, err
}

// enter makes the context current until the returned function is called.
func (w *stopwatch) enter(m *measure) func() {
	runtime.LockOSThread()
	must.Do(m, w.SetCurrent(w.ctx))
	return runtime.UnlockOSThread
}

// time returns the duration of f on the GPU in seconds.
func (w *stopwatch) time(m *measure, f func()) float64 {
	defer w.enter(m)()
	from, err := w.mark()
	must.Do(m, err)
	f()
	to, err := w.mark()
	must.Do(m, err)
	s, err := w.between(from, to)
	must.Do(m, err)
	return s
}

// kernels runs f with an event before and after each kernel, and adds up the times by
// name, in the order in which they began.
func (w *stopwatch) kernels(m *measure, f func()) (all []kernelTime) {
	defer w.enter(m)()
	w.on, w.spans = true, nil
	f()
	w.on = false
	for _, s := range w.spans {
		seconds, err := w.between(s.from, s.to)
		must.Do(m, err)
		i := slices.IndexFunc(all, func(k kernelTime) bool { return k.Name == s.name })
		if i < 0 {
			i, all = len(all), append(all, kernelTime{Name: s.name})
		}
		all[i].Launches++
		all[i].Ms += 1e3 * seconds
	}
	return all
}
