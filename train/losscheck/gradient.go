// Package losscheck computes a loss and its gradient on vectors from files, so that another
// program's loss can be compared with hgld's. It reports the value by term, the gradient by the
// vectors and by the proxies, and the same by the definition in float64.
package losscheck

import (
	"fmt"
	"math"
	"time"

	"hgld/internal/tensorfile"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/embeddings"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/nn"
	"hgld/train/step"
)

// Input selects the loss and the rows to compute it on.
type Input struct {
	Loss config.Loss // loss, preset and settings

	// Rows are the vectors as in the files. A separate gallery takes no gradient.
	Rows *embeddings.Evaluation

	// Scores says that the rows are scores; see AsScores. The gradient is by the scores, and Unit and
	// Proxies are not used.
	Scores bool

	Unit bool // normalise every row first; the gradient includes it

	Seed    uint64 // of the initial proxies, as in a training with this seed, and of random draws
	Proxies string // .npy of a single parameter, or .safetensors with all; "": drawn by Seed

	// PerQuery also computes the loss of each query alone.
	PerQuery bool

	// Repeat times the loss with its gradient this often, after the first time.
	Repeat int

	// Definition also computes the float64 definition, in O(positives × gallery) per query.
	Definition bool
}

// mostScores bounds queries × gallery, the size of the score matrix and of its gradient.
const mostScores = 1 << 28

// Compute returns the loss of the rows. Each row is a query.
func Compute(b device.Backend, in *Input) (*Report, error) {
	kind, err := in.Loss.Kind()
	if err != nil {
		return nil, err
	}
	if in.Scores {
		own := *in
		in, own.Unit, own.Proxies = &own, false, ""
		if err := in.checkScores(kind); err != nil {
			return nil, err
		}
	}
	queries, gallery := len(in.Rows.Query.Labels), len(in.Rows.Gallery.Labels)
	if !in.Scores && queries*gallery > mostScores { // the losses of scores sort them, without a matrix
		return nil, fmt.Errorf("%d queries and %d gallery items have %d scores; want at most %d: use fewer rows",
			queries, gallery, queries*gallery, mostScores)
	}
	f := in.facts()
	l, err := kind.New(f)
	if err != nil {
		return nil, fmt.Errorf("loss: %s: %w", in.Loss.Name, err)
	}
	if len(loss.Externals(l)) > 0 {
		return nil, fmt.Errorf("loss: %s: %w", in.Loss.Name, loss.ErrExternal)
	}
	var r *Report
	err = device.Do(b, func() error {
		m := &measured{in: in, b: b, kind: kind, loss: l}
		if err := m.declare(); err != nil {
			return err
		}
		if err := m.run(); err != nil {
			return err
		}
		r, err = m.report()
		return err
	})
	return r, err
}

// facts describes the rows as one batch.
func (in *Input) facts() loss.Facts {
	if in.Scores {
		return in.ofScores()
	}
	e := in.Rows
	f := loss.Facts{Dim: e.Query.Vectors.Cols(), Batch: len(e.Query.Labels)}
	for level := range e.Levels {
		f.Classes = append(f.Classes, len(e.Classes.Names(level)))
	}
	f.Paths = step.ClassPaths(append(e.Gallery.Labels[:len(e.Gallery.Labels):len(e.Gallery.Labels)], e.Query.Labels...),
		f.Classes[0])
	return f
}

// measured is a loss on the device, with its inputs.
type measured struct {
	in    *Input
	b     device.Backend
	kind  loss.Kind
	loss  loss.Loss
	store *nn.Store // the proxies

	query  device.Array // [Q,D] gradient
	value  device.Array // [1]
	terms  []loss.RecordedTerm
	params []*loss.Param

	seconds []float64 // of each repetition
}

// declare makes the proxies and the state of the loss.
func (m *measured) declare() error {
	m.store = nn.NewStore()
	trained, ok := m.loss.(loss.Trained)
	var held []*nn.Param
	if ok {
		m.params = trained.Params()
		scope := m.store.Group(loss.ParamGroup).In(loss.ParamScope)
		for _, p := range m.params {
			held = append(held, scope.Param(p.Name, p.Init(), p.Dims...))
		}
	}
	m.store.Build(m.b, m.in.Seed)
	for i, p := range m.params {
		p.Value, p.Grad = held[i].Value, held[i].Grad
	}
	if s, ok := m.loss.(loss.Stateful); ok {
		for _, state := range s.States() {
			state.Value = device.New(m.b, state.Type, state.Dims...)
		}
	}
	m.reset()
	if m.in.Scores {
		m.setIdentity()
		return nil
	}
	return m.readProxies()
}

// reset gives the state of the loss the values it has before the first step.
func (m *measured) reset() {
	if s, ok := m.loss.(loss.Stateful); ok {
		for _, state := range s.States() {
			m.b.Fill(state.Value, state.Start)
		}
	}
}

// run records the loss and its backward pass.
func (m *measured) run() error {
	e, b := m.in.Rows, m.b
	tape := grad.NewTape(b, device.NewArena(b))
	m.query = device.New(b, device.F32, e.Query.Vectors.Shape()...)
	b.Fill(m.query, 0)
	batch := m.input(tape, tape.Leaf(e.Query.Vectors, m.query))
	if !e.Same {
		batch.Gallery = m.unit(tape, tape.Leaf(e.Gallery.Vectors, device.Array{}))
		batch.GalleryLabels = paths(b, gallery(e.Gallery.Labels))
	}
	out := tape.Keep(m.loss.Forward(tape, batch))
	m.terms = loss.RecordedTerms(m.loss)
	if m.terms == nil {
		m.terms = []loss.RecordedTerm{{Name: m.in.Loss.Name, Weight: 1, Kind: m.kind, Params: m.params, Value: out}}
	}
	tape.Backward(out, device.Array{})
	m.value = out.Value
	if err := b.Sync(); err != nil {
		return err
	}
	return m.time(tape)
}

// input returns the queries, as rows of the tape, as a batch that is its own gallery.
func (m *measured) input(tape *grad.Tape, rows *grad.Var) *loss.Batch {
	e := m.in.Rows
	query := m.unit(tape, rows)
	return &loss.Batch{Query: query, QueryLabels: paths(m.b, e.Query.Labels), Gallery: query,
		GalleryLabels: paths(m.b, gallery(e.Query.Labels)), Self: vector(m.b, e.Self), Key: m.store.Key}
}

// time replays the loss and its gradient, and puts the gradients of one pass back.
func (m *measured) time(tape *grad.Tape) error {
	if m.in.Repeat == 0 {
		return nil
	}
	kept := []device.Array{m.query}
	for _, p := range m.params {
		kept = append(kept, p.Grad)
	}
	var copies []device.Array
	for _, a := range kept {
		c := device.New(m.b, a.Type, a.Shape()...)
		m.b.Copy(c, a)
		copies = append(copies, c)
	}
	for range m.in.Repeat {
		began := time.Now()
		tape.Replay()
		if err := m.b.Sync(); err != nil {
			return err
		}
		m.seconds = append(m.seconds, time.Since(began).Seconds())
	}
	for i, a := range kept {
		m.b.Copy(a, copies[i])
	}
	return m.b.Sync()
}

// unit divides rows by their lengths, if Input.Unit is set.
func (m *measured) unit(t *grad.Tape, rows *grad.Var) *grad.Var {
	if !m.in.Unit {
		return rows
	}
	return nn.Normalize(t, rows, 1e-12) // torch's ε
}

// readProxies fills the parameters from a file.
func (m *measured) readProxies() error {
	path := m.in.Proxies
	if path == "" {
		return nil
	}
	if len(m.params) == 0 {
		return fmt.Errorf("%s has no proxies: remove %s", m.in.Loss.Name, path)
	}
	tensors, err := readTensors(path, len(m.params), "loss."+m.params[0].Name)
	if err != nil {
		return err
	}
	if err := m.store.Import(m.b, tensors, ""); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// number downloads an F32 [1].
func number(b device.Backend, a device.Array) (float64, error) {
	v, err := values(b, a)
	if err != nil {
		return 0, err
	}
	return float64(v[0]), nil
}

// Tensors returns the gradient by the vectors, and the proxies with their gradients:
//
//	embeddings.grad            [Q,D]
//	loss.NAME, loss.NAME.grad  of every parameter of the loss
func (r *Report) Tensors() []tensorfile.Tensor { return r.tensors }

// largest returns the greatest absolute value.
func largest(rows [][]float64) (m float64) {
	for _, row := range rows {
		for _, v := range row {
			m = max(m, math.Abs(v))
		}
	}
	return m
}
