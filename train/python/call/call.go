// Package call computes losses and evaluations on arrays in the memory of another program, such as the
// tensors of a Python process. The losses are those of package loss and the evaluation that of
// package retrieval: this package checks what it is given, lends the memory to a backend without
// a copy where the strides allow, and writes results only when all of them are known.
package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"hgld/labels"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/loss"
	"hgld/train/nn"
)

// Matrix is a row-major matrix in the caller's memory. One of F32 and F64 is set. It is absent if both
// are nil.
type Matrix struct {
	F32    []float32 // elements from the first to the last, with the gaps between rows
	F64    []float64 // the same, in float64
	Rows   int       // rows
	Cols   int       // columns
	Stride int       // elements from one row to the next, at least Cols
}

// Absent reports whether m stands for no matrix.
func (m Matrix) Absent() bool { return m.F32 == nil && m.F64 == nil }

// wide reports whether m is float64.
func (m Matrix) wide() bool { return m.F64 != nil }

// Batch is the input of a loss; see loss.Batch. Labels are rows of one class per level, finest first,
// −1 for none.
type Batch struct {
	Query       Matrix  // [Q,D]
	QueryLabels []int32 // [Q·L]

	Gallery       Matrix  // [G,D]; absent: the queries themselves
	GalleryLabels []int32 // [G·L]
	Self          []int32 // [Q]: each query's row in Gallery, or −1; nil: no query has one

	Memory       Matrix  // [M,D] earlier rows, which take no gradient; absent: none
	MemoryLabels []int32 // [M·L]
	MemorySelf   []int32 // [Q], as Self
	MemoryWeight float32 // of the loss against Memory; 0: 1

	Params []Matrix // values of the parameters, in the order of Description.Params
	States [][]byte // of Description.States; Compute replaces them

	Seed uint32 // of random draws
	Step uint32 // number of the step, for random draws
}

// Gradient is where Compute writes gradients. Absent matrices are not wanted.
type Gradient struct {
	Query   Matrix   // [Q,D]
	Gallery Matrix   // [G,D]; absent if the queries are the gallery
	Params  []Matrix // as Batch.Params; nil: none
}

// wanted reports whether any gradient is.
func (g *Gradient) wanted() bool { return !g.Query.Absent() || !g.Gallery.Absent() || g.Params != nil }

// Spec selects a loss. It is read from JSON.
type Spec struct {
	Name     string         `json:"name"`      // in the table of losses
	Preset   string         `json:"preset"`    // paper or released; "": paper
	Settings map[string]any `json:"settings"`  // those that differ from the preset
	Classes  []int          `json:"classes"`   // number of classes per level, finest first
	Levels   int            `json:"levels"`    // number of levels, if Classes is empty
	Dim      int            `json:"dim"`       // columns of an embedding
	Paths    []labels.Path  `json:"paths"`     // labels of each finest class; empty: not known
	Batch    int            `json:"batch"`     // rows of a batch; 0: not known
	PerClass int            `json:"per_class"` // rows of a class in a batch; 0: not known
	Memory   int            `json:"memory"`    // rows of a memory; 0: none
	Unit     bool           `json:"unit"`      // scale queries and gallery to length 1 first
	Threads  int            `json:"threads"`   // 0: one for each processor
}

// What no loss or evaluation of a machine's memory has more of.
const (
	mostThreads = 10_000
	mostLevels  = 1_000
	mostNumbers = 1 << 40 // of an array
)

func checkThreads(n int) error {
	if n < 0 || n > mostThreads {
		return fmt.Errorf("threads is %d, want 0 for one on each processor, or 1 to %d", n, mostThreads)
	}
	return nil
}

func checkLevels(n int) error {
	if n < 1 || n > mostLevels {
		return fmt.Errorf("there are %d levels, want 1 to %d", n, mostLevels)
	}
	return nil
}

// checkSizes returns an error for numbers of which no array can be made.
func (s *Spec) checkSizes() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"batch", s.Batch}, {"per_class", s.PerClass}, {"memory", s.Memory}} {
		if n.value < 0 || n.value > math.MaxInt32 {
			return fmt.Errorf("%s is %d, want 0 for not known, or 1 to %d", n.name, n.value, math.MaxInt32)
		}
	}
	if s.Dim < 1 || s.Dim > math.MaxInt32 {
		return fmt.Errorf("embeddings have %d columns, want 1 to %d", s.Dim, math.MaxInt32)
	}
	for level, n := range s.Classes {
		if n < 0 || n > mostNumbers/s.Dim {
			return fmt.Errorf("level %d has %d classes, want at most %d for embeddings of %d columns", level, n,
				mostNumbers/s.Dim, s.Dim)
		}
	}
	return nil
}

// Array describes a parameter or a state of a loss.
type Array struct {
	Name string `json:"name"`            // unique in its loss
	Dims []int  `json:"dims"`            // at least one
	Type string `json:"type"`            // F32 or U8
	Fill uint8  `json:"start,omitempty"` // first value of every element of a state
}

// Description says what a caller keeps for a loss.
type Description struct {
	Params []Array `json:"params"` // trained
	States []Array `json:"states"` // from step to step
	Exact  bool    `json:"exact"`  // float64 is computed by the definition; otherwise rounded to float32

	ByQuery bool `json:"by_query"` // queries have values of their own, see loss.ByQuery
}

// Loss is an open loss. Its methods may be called from several goroutines; they wait for one another.
type Loss struct {
	mu      sync.Mutex
	spec    Spec
	kind    loss.Kind
	facts   loss.Facts
	backend func(threads int) device.Backend
	about   Description
	session *session // nil: made by the next call
}

// Open looks up a loss and checks its settings. backend opens the processor with a number of threads.
func Open(backend func(threads int) device.Backend, text []byte) (*Loss, error) {
	l := &Loss{backend: backend}
	if err := json.Unmarshal(text, &l.spec); err != nil {
		return nil, fmt.Errorf("the loss is no JSON of the expected form: %w", err)
	}
	s := &l.spec
	if s.Preset == "" {
		s.Preset = loss.Presets[0].Name
	}
	if s.Levels == 0 {
		s.Levels = len(s.Classes)
	}
	switch {
	case s.Levels < 1:
		return nil, errors.New("the loss has no level, want the number of classes of each, finest first")
	case len(s.Classes) > 0 && len(s.Classes) != s.Levels:
		return nil, fmt.Errorf("%d levels have %d numbers of classes, want one for each", s.Levels, len(s.Classes))
	}
	if err := errors.Join(checkLevels(s.Levels), checkThreads(s.Threads), s.checkSizes()); err != nil {
		return nil, err
	}
	var err error
	named := config.Named{Name: s.Name, Settings: s.Settings}
	if l.kind, err = (config.Loss{Named: named, Preset: s.Preset}).Kind(); err != nil {
		return nil, err
	}
	l.facts = loss.Facts{Classes: s.Classes, Dim: s.Dim, Paths: s.Paths, Batch: s.Batch, PerClass: s.PerClass,
		Memory: s.Memory}
	if len(s.Classes) == 0 {
		l.facts.Classes = make([]int, s.Levels)
	}
	for i, p := range s.Paths {
		if len(p) != s.Levels {
			return nil, fmt.Errorf("class %d has %d labels, want one for each of %d levels", i, len(p), s.Levels)
		}
	}
	made, err := l.kind.New(l.facts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	if len(loss.Externals(made)) > 0 {
		return nil, fmt.Errorf("%s: %w", s.Name, loss.ErrExternal)
	}
	l.describe(made)
	if len(l.about.Params) > 0 && len(s.Classes) == 0 {
		return nil, fmt.Errorf("%s trains proxies: it needs the number of classes of each level", s.Name)
	}
	return l, nil
}

func (l *Loss) describe(made loss.Loss) {
	l.about = Description{Params: []Array{}, States: []Array{}}
	if trained, ok := made.(loss.Trained); ok {
		for _, p := range trained.Params() {
			l.about.Params = append(l.about.Params, Array{Name: p.Name, Dims: p.Dims, Type: device.F32.String()})
		}
	}
	if keeps, ok := made.(loss.Stateful); ok {
		for _, s := range keeps.States() {
			l.about.States = append(l.about.States,
				Array{Name: s.Name, Dims: s.Dims, Type: s.Type.String(), Fill: uint8(s.Start)})
		}
	}
	l.about.Exact = len(l.about.States) == 0 && !loss.Draws(l.kind)
	l.about.ByQuery = loss.ByQuery(made, l.kind)
}

// Describe returns the arrays that the caller keeps.
func (l *Loss) Describe() Description { return l.about }

// Levels returns the number of labels of a row.
func (l *Loss) Levels() int { return l.spec.Levels }

// RingFirst returns the first row that batch n, counted from 0, takes in a memory of size rows; see
// loss.Ring.
func RingFirst(size, batch, n int) int { return loss.RingFirst(size, batch, n) }

// Start writes the initial values of the parameters, as a training with this seed draws them.
func (l *Loss) Start(seed uint64, into []Matrix) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkParams("initial values", into, false); err != nil {
		return err
	}
	made, err := l.kind.New(l.facts)
	if err != nil {
		return err
	}
	trained, ok := made.(loss.Trained)
	if !ok {
		return nil
	}
	b := l.backend(1)
	store := nn.NewStore()
	scope := store.Group(loss.ParamGroup).In(loss.ParamScope)
	var held []*nn.Param
	for _, p := range trained.Params() {
		held = append(held, scope.Param(p.Name, p.Init(), p.Dims...))
	}
	store.Build(b, seed)
	for i, p := range held {
		into[i].fill(b.(device.Host).Floats(p.Value))
	}
	return b.Sync()
}

// Compute returns the loss of a batch and writes the gradients that are wanted. It writes nothing if it
// fails. With float64 arrays the loss is computed by its definition in float64, which is slow, if
// Description.Exact is set; otherwise its float32 operations compute it. A loss may pass over a score that is
// NaN, so the loss of numbers that are not all finite is NaN by rule.
func (l *Loss) Compute(in *Batch, out *Gradient) (value float64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(in, out); err != nil {
		return 0, err
	}
	whole := false
	defer func() {
		if !whole { // a panic passes: what it left is not used again
			l.session = nil
		}
	}()
	if l.session == nil {
		if l.session, err = l.newSession(); err != nil {
			return 0, err
		}
	}
	if in.Query.wide() && l.about.Exact {
		value, err = l.session.exact(in, out)
	} else {
		value, err = l.session.run(in, out)
	}
	whole = err == nil
	if whole && !in.finite() {
		value = math.NaN()
	}
	return value, err
}
