// Package loss holds the losses of image retrieval as functions on a tape. Each loss has its own
// file and is listed in All. An entry of the table is a Kind: the loss with its settings, which
// are its exported fields. Kind.New makes a Loss for given data.
//
// All ranking losses use the same three operations of the device with different step functions;
// see device.Rank and ranking. A loss that trains proxies declares them in Params.
package loss

import (
	"fmt"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/loss/definition"
	"hgld/train/nn"
)

// Loss records the loss of a batch as one number, F32 [1].
type Loss interface {
	// Forward returns a Var F32 [1] whose backward pass reaches b.Query, b.Gallery and the
	// parameters. It is called once per recording.
	Forward(t *grad.Tape, b *Batch) *grad.Var
}

// Batch is the input of a loss. Embeddings are rows. Labels are I32 with one column per level,
// finest first; −1 means no label. With several paths of classes to a row, the columns of one path
// follow those of another, and a row with fewer paths repeats one. Two rows then share as many of the
// compared levels as the best pair of their paths. Losses that compare a row with its one class take
// that of the first path.
//
// The gallery is the batch itself (the same Var, so that it takes gradient from both sides), a
// memory (a leaf without gradient), or both in one array. A row whose labels are all −1, such as
// an unfilled row of a memory, is ignored; GalleryPath makes an item without any class a negative.
type Batch struct {
	Query       *grad.Var    // [Q,D]
	QueryLabels device.Array // [Q,L]

	Gallery       *grad.Var    // [G,D]
	GalleryLabels device.Array // [G,L]
	Self          device.Array // I32 [Q]: each query's own row in the gallery, or −1; absent: no query has one

	Memory *Memory // a second gallery, or nil

	Paths int // paths of a row; 0: one. With several, all rows have a class at every level, or at none

	// Key is I32 [2]: seed and step. Losses draw random numbers from it: the amplitudes [Q,G] of
	// BlackBoxAP's margin and the coefficients of mixtures. If Drawn, F32 of the same shape, is
	// present, it replaces the drawn numbers.
	Key, Drawn device.Array
}

// Memory is a gallery of earlier embeddings, in addition to the batch. Ranking losses are
// computed against each, and MemoryCombine joins the two. Losses with proxies ignore the memory.
type Memory struct {
	Rows   *grad.Var    // [M,D]
	Labels device.Array // [M,L]
	Self   device.Array // I32 [Q], as in Batch
	Weight float32      // weight of its loss relative to the batch; 0: 1
	Drawn  device.Array // as in Batch
}

// Facts describe the data and the batches.
type Facts struct {
	Classes  []int         // number of classes per level, finest first
	Dim      int           // columns of an embedding
	Paths    []labels.Path // labels of each finest class; nil: not known
	Batch    int           // rows of a batch; 0: not known
	PerClass int           // rows of a class in a batch; 0: not known
	Memory   int           // rows of a Memory; 0: none
}

// Kind is a loss with its settings.
type Kind interface {
	// New checks the settings against the data and returns the loss, or an error that names the
	// wrong setting. Each call makes a loss with its own proxies.
	New(f Facts) (Loss, error)
	// Define returns what the loss computes, in float64, on data like those of a batch, or nil if only
	// another program can tell. The definition remembers the batches that the loss would remember.
	Define(in *definition.Batch) definition.Definition
}

// ByDefinition computes a loss and its gradients by its definition. It fails for a loss that has none.
func ByDefinition(k Kind, in *definition.Batch) (definition.Result, error) {
	d := k.Define(in)
	if d == nil {
		return definition.Result{}, fmt.Errorf("there is no definition of %T", k)
	}
	return definition.Of(d, in), nil
}

// Drawing is a Kind that may draw random numbers, which its definition reads from the Drawn of a batch.
type Drawing interface {
	Kind
	// Draws reports whether this Kind does.
	Draws() bool
}

// Draws reports whether a loss draws random numbers; see Drawing.
func Draws(k Kind) bool {
	d, ok := k.(Drawing)
	return ok && d.Draws() || anyTerm(k, Draws)
}

// ByClass is a Kind that ranks the items of a batch by their scores for each class. It can measure scores
// in place of embeddings, and has no value for a single query.
type ByClass interface {
	Kind
	RanksItems() // marks the Kind
}

// ByQuery reports whether the queries of a loss have values that do not depend on other queries: it draws no random
// numbers, remembers no batches, and ranks no items for classes.
func ByQuery(l Loss, k Kind) bool {
	keeps, ok := l.(Stateful)
	return !(ok && len(keeps.States()) > 0) && !Draws(k) && !ranksItems(k)
}

func ranksItems(k Kind) bool {
	_, ok := k.(ByClass)
	return ok || anyTerm(k, ranksItems)
}

// RowWise is a Kind that can be a mean over independent rows of a batch. The losses of parts of a
// batch then add up to the loss of the whole, and the loss reads no memory. Losses that compare
// only with proxies are of this kind.
type RowWise interface {
	Kind
	// ByRows reports whether this Kind is.
	ByRows() bool
}

// ByRows reports whether a loss is a mean over independent rows; see RowWise.
func ByRows(k Kind) bool {
	if _, sum := k.(interface{ terms() []Term }); sum {
		return !anyTerm(k, func(k Kind) bool { return !ByRows(k) })
	}
	r, ok := k.(RowWise)
	return ok && r.ByRows()
}

// ParamGroup and ParamScope name the parameters of a loss in a store: the group that they form for
// the optimizer, and the scope that begins their names.
const (
	ParamGroup = "proxies"
	ParamScope = "loss"
)

// Trained is a Loss with parameters. They form the optimizer group ParamGroup.
type Trained interface {
	Loss
	// Params returns the parameters. The caller sets Value and Grad before the first Forward.
	Params() []*Param
}

// Param is a parameter of a loss. It starts uniform in ±1/√FanIn, or normal with the given
// Deviation. If both are 0, it starts at 0.
type Param struct {
	Name        string       // unique within its loss
	Dims        []int        // of Value and Grad
	FanIn       int          // 0: no uniform start
	Deviation   float64      // 0: no normal start
	Value, Grad device.Array // F32; set by the caller
}

// Init returns the distribution of the initial values.
func (p *Param) Init() nn.Init {
	switch {
	case p.FanIn > 0:
		return nn.UniformFan(p.FanIn)
	case p.Deviation > 0:
		return nn.Normal(p.Deviation)
	}
	return nn.Constant(0)
}

// Stateful is a Loss with arrays that outlive a step and belong in a checkpoint.
type Stateful interface {
	Loss
	// States returns the arrays. The caller sets Value, filled with Start, before the first
	// Forward.
	States() []*State
	// Forget records a rollback: if flag, I32 [1], is set because a value was not finite, it
	// undoes what this step added.
	Forget(t *grad.Tape, flag device.Array)
}

// State is an array that a loss keeps from step to step.
type State struct {
	Name  string       // unique within its loss
	Type  device.DType // of Value
	Dims  []int        // of Value
	Start float32      // initial value of all elements
	Value device.Array // set by the caller
}

// weighted records Σ_i weights[i]·terms[i]. Each term is F32 [1].
func weighted(t *grad.Tape, weights []float32, terms []*grad.Var) *grad.Var {
	sum := t.New(device.F32, 1)
	t.Do(func(b device.Backend) {
		b.Axpby(sum.Value, weights[0], terms[0].Value, 0, terms[0].Value)
		for i, x := range terms[1:] {
			b.Axpby(sum.Value, 1, sum.Value, weights[i+1], x.Value)
		}
	})
	t.Back(func(b device.Backend) {
		d := t.Grad(sum)
		for i, x := range terms {
			if dx := t.Into(x); !dx.Absent() {
				b.Axpby(dx, weights[i], d, 0, d)
			}
		}
	})
	for _, x := range terms {
		t.Done(x)
	}
	return sum
}
