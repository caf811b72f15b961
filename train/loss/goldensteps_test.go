package loss_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/loss/definition"
)

// goldenStep is a batch of a sequence: through the memory of scores of RaMBO, or
// through the ring of Cross-Batch Memory.
type goldenStep struct {
	Embeddings [][]float64
	Labels     [][]int32

	RowsInMemory int         `json:"rows_in_memory"`
	ValueCode    float64     `json:"value_code"`
	GradCode     [][]float64 `json:"grad_embeddings_code"`
	ValuePaper   float64     `json:"value_paper"`
	GradPaper    [][]float64 `json:"grad_embeddings_paper"`
	GradWeights  [][]float64 `json:"grad_proxies_paper"`

	Returned int  `json:"returned_rows"`
	Pointer  int  `json:"pointer_after"`
	Full     bool `json:"full_after"`
	Memory   struct {
		Embeddings [][]float64
		Labels     [][]int32
	} `json:"memory_after"`
	ValueBatch   *float64    `json:"value_batch"`
	ValueMemory  float64     `json:"value_memory"`
	ValueSum     *float64    `json:"value_sum"`
	ValueAverage *float64    `json:"value_average"`
	GradSum      [][]float64 `json:"grad_sum"`
	GradAverage  [][]float64 `json:"grad_average"`
}

func (s *goldenStep) batch() *batch {
	return (&batch{Query: s.Embeddings, Labels: s.Labels}).Own()
}

// sequence runs a sequence in float32 on a backend, or by the definition.
func (g *golden) sequence(t *testing.T, float32 bool) (name string, value, grad float64) {
	t.Helper()
	tolerance := [2]float64{float64Tolerance, float64Tolerance}
	if float32 {
		tolerance[0], tolerance[1] = allowed(t, strings.Replace(g.Loss, "xbm-memory", "xbm-contrastive", 1))
	}
	check := func(step int, got result, wantValue float64, wantGrad [][]float64) {
		t.Helper()
		step++
		one := &golden{Loss: g.Loss, Compare: "full", Value: wantValue, Grad: wantGrad}
		_, v, d := compare(t, one, got, tolerance[0], tolerance[1])
		if t.Failed() {
			t.Fatalf("in step %d", step)
		}
		value, grad = max(value, v), max(grad, d)
	}
	switch g.Loss {
	case "rambo-recall":
		for _, released := range []bool{false, true} {
			g.scoreMemory(t, float32, released, check)
		}
	case "rambo-detection":
		g.classMemory(t, float32, check)
	case "xbm-memory":
		g.ring(t, float32, check)
	default:
		t.Fatalf("no sequences of %s are understood", g.Loss)
	}
	return g.Loss, value, grad
}

// scoreMemory runs RaMBO with its memory, as the released code scales ranks or not.
func (g *golden) scoreMemory(t *testing.T, float32, released bool, check func(int, result, float64, [][]float64)) {
	t.Helper()
	s := maps.Clone(g.Settings)
	s.set(t, "scale_by_rows", released)
	k := into(t, s, loss.RamboRecall{})
	m, d := newMade(t, g.on, k, g.Steps[0].batch()), k.Define(g.Steps[0].batch())
	for i := range g.Steps {
		step := &g.Steps[i]
		in := step.batch()
		if n := min(i, k.BatchMemory) * len(in.Query); n != step.RowsInMemory {
			t.Fatalf("step %d: %d rows in the memory, want %d", i+1, n, step.RowsInMemory)
		}
		want, wantGrad := step.ValuePaper, step.GradPaper
		if released {
			want, wantGrad = step.ValueCode, step.GradCode
		}
		got := definition.Of(d, in)
		if float32 {
			got = m.forward(t, in)
		}
		check(i, got, want, wantGrad)
	}
}

// classMemory runs RaMBO's loss for detection with its memory of scores.
func (g *golden) classMemory(t *testing.T, float32 bool, check func(int, result, float64, [][]float64)) {
	t.Helper()
	k := into(t, maps.Clone(g.Settings), loss.RamboDetection{})
	in := g.Steps[0].batch()
	in.Proxies = g.Proxies
	m, d := newMade(t, g.on, k, in), k.Define(in)
	for i := range g.Steps {
		step := &g.Steps[i]
		in := step.batch()
		in.Proxies = g.Proxies
		if n := min(i, k.BatchMemory) * len(in.Query); n != step.RowsInMemory {
			t.Fatalf("step %d: %d rows in the memory, want %d", i+1, n, step.RowsInMemory)
		}
		got := definition.Of(d, in)
		if float32 {
			got = m.forward(t, in)
			for _, p := range m.proxies {
				g.on.Fill(p.Grad, 0) // each step adds to it
			}
		}
		check(i, got, step.ValuePaper, step.GradPaper)
		if off := farthest(got.Proxies, step.GradWeights); off > 1e-5 {
			t.Errorf("step %d: gradient of the weights off by %.2g", i+1, off)
		}
	}
}

// ring runs the contrastive loss against the batch and the ring of the last ones.
func (g *golden) ring(t *testing.T, float32 bool, check func(int, result, float64, [][]float64)) {
	t.Helper()
	var o struct {
		Size     int
		Dim      int     `json:"embedding_size"`
		Levels   int     `json:"label_columns"`
		GetFirst bool    `json:"get_first"`
		Margin   float64 `json:"margin"`
		Weight   float64 `json:"weight"`
		Combine  string  `json:"memory_combine"`
	}
	s := maps.Clone(g.Settings)
	for key, v := range map[string]any{
		"size": &o.Size, "embedding_size": &o.Dim, "margin": &o.Margin, "memory_combine": &o.Combine,
		"label_columns": &o.Levels, "get_first": &o.GetFirst, "weight": &o.Weight,
	} {
		if s[key] != nil {
			s.take(t, key, v)
		}
	}
	if len(s) > 0 {
		t.Fatalf("settings %v are not understood", s)
	}
	k := loss.XBMContrastive{Margin: o.Margin, Epsilon: 1e-5}
	switch o.Combine {
	case "batch + weight * memory":
	case "(batch + memory)/2":
		k.MemoryCombine = loss.Average
	default:
		t.Fatalf("memory_combine %q is not understood", o.Combine)
	}
	b := g.on
	ring, err := loss.NewRing(o.Size, len(g.Steps[0].Embeddings), o.Dim, len(g.Steps[0].Labels[0]))
	must.Do(t, err)
	attachStates(b, ring.States())
	for i := range g.Steps {
		step := &g.Steps[i]
		in := step.batch()
		before := g.seen(t, b, ring, step, i, o.GetFirst)
		if step.ValueBatch == nil { // nothing is remembered yet, and the reference computes nothing
			continue
		}
		got := g.against(t, b, k, in, before, o.Weight, float32)
		if step.ValueSum != nil {
			check(i, got, *step.ValueSum, step.GradSum)
		} else {
			check(i, got, *step.ValueAverage, step.GradAverage)
		}
	}
}

// against is the loss against batch and memory, the latter of the given weight.
func (g *golden) against(t *testing.T, b device.Backend, k loss.XBMContrastive, in, memory *batch, weight float64,
	float32 bool) result {
	t.Helper()
	if weight == 0 {
		weight = 1
	}
	alone := *in
	alone.Gallery, alone.Against, alone.Self = memory.Gallery, memory.Against, memory.Self
	w := [2]float64{1, weight}
	if k.MemoryCombine == loss.Average {
		w = [2]float64{1 / (1 + weight), weight / (1 + weight)}
	}
	var parts [2]result
	for i, of := range []*batch{in, &alone} {
		switch {
		case len(of.Gallery) == 0:
			parts[i] = result{Query: definition.ZerosLike(in.Query)}
		case float32:
			parts[i] = forward(t, b, k, of)
		default:
			parts[i] = define(t, k, of)
		}
	}
	sum := result{Value: w[0]*parts[0].Value + w[1]*parts[1].Value, Query: definition.ZerosLike(in.Query)}
	for i, p := range parts {
		for q, row := range p.Query {
			for d, v := range row {
				sum.Query[q][d] += w[i] * v
			}
		}
	}
	return sum
}

// seen puts a batch into the ring and returns what the loss sees of it, checking
// the ring against the file.
func (g *golden) seen(t *testing.T, b device.Backend, ring *loss.Ring, step *goldenStep, i int, first bool) *batch {
	t.Helper()
	rows, classes := ring.States()[0], ring.States()[1]
	copied := func() (m batch) {
		gallery, labels := download(t, b, rows.Value), download(t, b, classes.Value)
		for r, row := range labels {
			if row[0] < 0 {
				continue
			}
			path := make([]int32, len(row))
			for l, v := range row {
				path[l] = int32(v)
			}
			m.Gallery, m.Against = append(m.Gallery, gallery[r]), append(m.Against, path)
		}
		return m
	}
	before := len(copied().Gallery)
	ring.At(b, i)
	tape := grad.NewTape(b, b)
	ring.Push(tape, tape.Leaf(floats(b, step.Embeddings), device.Array{}), ints(b, step.Labels))
	after := copied()
	n := len(after.Gallery)
	want := batch{Gallery: step.Memory.Embeddings[:n], Against: step.Memory.Labels[:n]}
	if farthest(after.Gallery, want.Gallery) != 0 || !reflect.DeepEqual(after.Against, want.Against) {
		t.Fatalf("step %d: the ring holds other rows", i+1)
	}
	size, last := len(step.Memory.Labels), step.Memory.Labels[len(step.Memory.Labels)-1][0]
	if next := min(step.Pointer, size-len(step.Labels)); ring.First(i+1) != next {
		t.Fatalf("step %d: the next batch goes to row %d, want %d", i+1, ring.First(i+1), next)
	}
	if first { // what it returns is no copy: the rows are those of before, their content is not
		after.Gallery, after.Against = after.Gallery[:before], after.Against[:before]
	}
	// The original takes its ring for full if the last label is not 0: of one whose
	// last row is of class 0 it returns what stands before the pointer.
	if g.Settings["get_first"] == nil && n == size && last == 0 {
		after.Gallery, after.Against = after.Gallery[:step.Pointer], after.Against[:step.Pointer]
	}
	if len(after.Gallery) != step.Returned {
		t.Fatalf("step %d: the loss sees %d rows, want %d", i+1, len(after.Gallery), step.Returned)
	}
	return &after
}
