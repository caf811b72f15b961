package call_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cpu"
	"hgld/train/python/call"
)

func backend(threads int) device.Backend { return cpu.New(threads) }

const rows, dim, classes = 24, 8, 6

// vectors are random rows, with the given number of unused elements after each.
func vectors(gap int) call.Matrix {
	r := rand.New(rand.NewPCG(1, 2))
	m := call.Matrix{F32: make([]float32, rows*(dim+gap)), Rows: rows, Cols: dim, Stride: dim + gap}
	for i := range rows {
		for j := range dim {
			m.F32[i*m.Stride+j] = float32(r.NormFloat64())
		}
	}
	return m
}

// paths are labels of two levels.
func paths() (list []int32) {
	for i := range rows {
		c := int32(i % classes)
		list = append(list, c, c/2)
	}
	return list
}

func open(t *testing.T, spec string) *call.Loss {
	t.Helper()
	l, err := call.Open(backend, []byte(spec))
	must.Do(t, err)
	return l
}

func wide(m call.Matrix) call.Matrix {
	w := call.Matrix{F64: make([]float64, len(m.F32)), Rows: m.Rows, Cols: m.Cols, Stride: m.Stride}
	for i, v := range m.F32 {
		w.F64[i] = float64(v)
	}
	return w
}

func zeros(r, c int) call.Matrix {
	return call.Matrix{F32: make([]float32, r*c), Rows: r, Cols: c, Stride: c}
}

const happier = `{"name": "happier", "classes": [6, 3], "dim": 8, "unit": true, "threads": 1}`

func TestLossOfTheCallersMemory(t *testing.T) {
	l := open(t, happier)
	about := l.Describe()
	if len(about.Params) != 1 || !slices.Equal(about.Params[0].Dims, []int{classes, dim}) || !about.Exact {
		t.Fatalf("%+v", about)
	}
	proxies := zeros(classes, dim)
	must.Do(t, l.Start(1, []call.Matrix{proxies}))
	compute := func(x call.Matrix) (float64, call.Matrix, call.Matrix) {
		in := &call.Batch{Query: x, QueryLabels: paths(), Params: []call.Matrix{proxies}}
		out := &call.Gradient{Query: zeros(rows, dim), Params: []call.Matrix{zeros(classes, dim)}}
		v, err := l.Compute(in, out)
		must.Do(t, err)
		return v, out.Query, out.Params[0]
	}
	value, byRows, byProxies := compute(vectors(0))
	for range 2 { // recorded, then replayed in other memory
		again, g, p := compute(vectors(3))
		if again != value || !slices.Equal(g.F32, byRows.F32) || !slices.Equal(p.F32, byProxies.F32) {
			t.Errorf("%v with gaps between rows, %v without", again, value)
		}
	}
	exact := &call.Gradient{Query: wide(zeros(rows, dim)), Params: []call.Matrix{wide(zeros(classes, dim))}}
	in := &call.Batch{Query: wide(vectors(2)), QueryLabels: paths(), Params: []call.Matrix{wide(proxies)}}
	v, err := l.Compute(in, exact)
	if err != nil || math.Abs(v-value) > 1e-5 {
		t.Fatalf("%v in float64, %v in float32, %v", v, value, err)
	}
	for i, g := range exact.Params[0].F64 {
		if math.Abs(g-float64(byProxies.F32[i])) > 1e-5 {
			t.Errorf("gradient %d by the proxies: %v in float64, %v in float32", i, g, byProxies.F32[i])
		}
	}
}

func TestFailingCallWritesNothing(t *testing.T) {
	l := open(t, `{"name": "smooth-ap", "levels": 2, "dim": 8}`)
	for want, change := range map[string]func(in *call.Batch, out *call.Gradient){
		"class -3 at level 1":     func(in *call.Batch, _ *call.Gradient) { in.QueryLabels[5] = -3 },
		"have 40 labels":          func(in *call.Batch, _ *call.Gradient) { in.QueryLabels = in.QueryLabels[:40] },
		"float32, or all in":      func(in *call.Batch, _ *call.Gradient) { in.Query = wide(in.Query) },
		"of 7 columns":            func(in *call.Batch, _ *call.Gradient) { in.Query.Cols = 7 },
		"has 2 rows, want 24":     func(_ *call.Batch, out *call.Gradient) { out.Query.Rows = 2 },
		"is row 24 of the memory": memoryOf(24),
		"has 1 parameters, want":  func(in *call.Batch, _ *call.Gradient) { in.Params = []call.Matrix{zeros(1, 1)} },
		"no queries":              func(in *call.Batch, _ *call.Gradient) { in.Query = call.Matrix{} },
	} {
		in, out := &call.Batch{Query: vectors(0), QueryLabels: paths()}, &call.Gradient{Query: zeros(rows, dim)}
		before := out.Query.F32
		change(in, out)
		if _, err := l.Compute(in, out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if slices.Max(before) != 0 {
			t.Errorf("%s: a gradient was written", want)
		}
	}
	in, out := &call.Batch{Query: vectors(0), QueryLabels: paths()}, &call.Gradient{Query: zeros(rows, dim)}
	if _, err := l.Compute(in, out); err != nil || slices.Max(out.Query.F32) == 0 {
		t.Errorf("no gradient after failures, %v", err)
	}
}

// memoryOf gives a memory in which the first query has the given row.
func memoryOf(row int32) func(in *call.Batch, _ *call.Gradient) {
	return func(in *call.Batch, _ *call.Gradient) {
		in.Memory, in.MemoryLabels, in.MemorySelf = vectors(0), paths(), make([]int32, rows)
		in.MemorySelf[0] = row
	}
}

func TestWrongLossesSayWhatIsWanted(t *testing.T) {
	for spec, want := range map[string]string{
		`{"name": "hapier", "classes": [3], "dim": 2}`:                           `did you mean "happier"`,
		`{"name": "nsm", "levels": 1, "dim": 2}`:                                 "number of classes",
		`{"name": "nsm", "classes": [3]}`:                                        "0 columns",
		`{"name": "nsm", "dim": 2}`:                                              "no level",
		`{"name": "nsm", "classes": [3], "levels": 2, "dim": 2}`:                 "one for each",
		`{"name": "nsm", "classes": [3], "dim": 2, "settings": {"tau": 1}}`:      "tau",
		`{"name": "nsm", "classes": [3], "dim": 2, "preset": "papers"}`:          `"paper"`,
		`{"name": "csl", "classes": [3, 2], "dim": 2, "paths": [[0], [1], [2]]}`: "class 0 has 1 labels",
		`{"name": "nsm", "classes": "3"}`:                                        "JSON",
		`{"name": "nsm", "classes": [3], "dim": 2, "threads": -1}`:               "threads is -1",
	} {
		if _, err := call.Open(backend, []byte(spec)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", spec, err, want)
		}
	}
}

func TestEvaluationOfTheCallersMemory(t *testing.T) {
	spec := []byte(`{"levels": ["fine", "coarse"], "unit": true, "per_query": true, "intervals": true, "seed": 1}`)
	side := &call.Side{Vectors: vectors(0), Classes: paths()}
	want, err := call.Evaluate(context.Background(), backend, spec, side, new(call.Side), nil)
	if err != nil || want.Queries != rows || len(want.PerQuery.Values["H-AP"]) != rows || want.Values[0].Interval == nil {
		t.Fatalf("%+v, %v", want, err)
	}
	other := &call.Side{Vectors: wide(vectors(5)), Classes: paths()}
	for i := range other.Classes { // any numbers that tell classes apart
		other.Classes[i] = other.Classes[i]*7 + 1000
	}
	self := make([]int32, rows)
	for i := range self {
		self[i] = int32(i)
	}
	got, err := call.Evaluate(context.Background(), backend, spec, other, other, self)
	must.Do(t, err)
	a, _ := json.Marshal(want.Values)
	if b, _ := json.Marshal(got.Values); string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
	idle := []byte(`{"levels": ["fine", "coarse"], "threads": -1}`) // as others write "all"
	if _, err := call.Evaluate(context.Background(), backend, idle, side, new(call.Side), nil); err == nil ||
		!strings.Contains(err.Error(), "threads is -1") {
		t.Errorf("%v, want an error for -1 threads", err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := call.Evaluate(stopped, backend, spec, side, new(call.Side), nil); err == nil {
		t.Error("a cancelled evaluation has a result")
	}
}

// A query of class 7 and parent 1, and two items of other classes: 8 of parent 2, and 9 of parent 1. With 2 as a
// extra parent of 7, the first shares a level, too.
func TestEvaluationByExtraParents(t *testing.T) {
	query := &call.Side{Vectors: call.Matrix{F32: []float32{1}, Rows: 1, Cols: 1, Stride: 1}, Classes: []int32{7, 1}}
	gallery := &call.Side{Vectors: call.Matrix{F32: []float32{2, 1}, Rows: 2, Cols: 1, Stride: 1},
		Classes: []int32{8, 2, 9, 1}}
	for extra, want := range map[string]float64{"": 1. / 2, `{"level": "fine", "class": 7, "class_name": "q", "parent": 2,
		"parent_name": "b", "where": "row 0"}`: 1} {
		spec := []byte(`{"levels": ["fine", "coarse"], "metrics": ["AP"], "extra_parents": [` + extra + `]}`)
		r, err := call.Evaluate(context.Background(), backend, spec, query, gallery, nil)
		if err != nil || r.Mean("AP_level1") != want {
			t.Errorf("%s: %+v, %v, want %v", extra, r, err, want)
		}
	}
}

func TestTableHasEveryLossWithBothPresets(t *testing.T) {
	list, err := call.Table()
	must.Do(t, err)
	for _, e := range list {
		if len(e.Settings) != 2 || e.About == "" || e.Source == "" {
			t.Errorf("%+v", e)
		}
		if e.Name == "happier" && (!e.Proxies || !strings.Contains(string(e.Settings["paper"]), `"alpha":1`)) {
			t.Errorf("%s", e.Settings["paper"])
		}
	}
}
