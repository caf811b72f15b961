// Package loss holds the losses of image retrieval as functions on a tape: one file
// each, listed in All. A value in the table is a Kind: the loss with its settings,
// which are its exported fields. New makes a Loss of it for given data.
//
// All ranking losses are the same three operations of the device with different step
// functions; see device.Rank and ranking. A loss declares the proxies that it trains by
// Params.
package loss

import (
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/grad"
	"hgld/train/nn"
)

// Loss records the loss of a batch: F32 [1].
type Loss interface {
	// Forward returns a Var F32 [1], whose backward pass reaches b.Query, b.Gallery and
	// the parameters. It is called once for each recording.
	Forward(t *grad.Tape, b *Batch) *grad.Var
}

// Batch is the input of a loss. Embeddings are rows. Labels are I32 with a column for
// each level, finest first; −1 means none.
//
// The gallery is the batch itself (the same Var, so that it takes gradient from both
// sides), a memory (a leaf without gradient), or both in one array. A row whose labels
// are all −1, such as an unfilled row of a memory, does not exist.
type Batch struct {
	Query       *grad.Var    // [Q,D]
	QueryLabels device.Array // [Q,L]

	Gallery       *grad.Var    // [G,D]
	GalleryLabels device.Array // [G,L]
	Self          device.Array // I32 [Q]: each query's own row in the gallery, −1: none; absent: none at all

	Memory *Memory // a second gallery, or nil

	// Key is I32 [2]: seed and step. Losses draw random numbers from it: the amplitudes
	// [Q,G] of BlackBoxAP's margin, the coefficients of mixtures. If Drawn, F32 of the same
	// shape, is present, it replaces the numbers drawn.
	Key, Drawn device.Array
}

// Memory is a gallery of earlier embeddings, in addition to that of the batch. Ranking
// losses are computed against each and joined by MemoryCombine. Losses with proxies
// ignore it.
type Memory struct {
	Rows   *grad.Var    // [M,D]
	Labels device.Array // [M,L]
	Self   device.Array // I32 [Q], as in Batch
	Weight float32      // of its loss beside that of the batch; 0: 1
	Drawn  device.Array // as in Batch
}

// Facts describe the data and the batches.
type Facts struct {
	Classes  []int         // of each level, finest first
	Dim      int           // columns of an embedding
	Paths    []labels.Path // of each finest class; nil: not known
	Batch    int           // rows of a batch; 0: not known
	PerClass int           // rows of a class in a batch; 0: not known
	Memory   int           // rows of a Memory; 0: none
}

// Kind is a loss with its settings.
type Kind interface {
	// New checks the settings against the data and returns the loss, or an error that names
	// the wrong setting. Each call makes a loss with its own proxies.
	New(f Facts) (Loss, error)
}

// RowWise is a Kind that may be a mean over the rows of a batch, none of which depends
// on another. The losses of the parts of a batch then add up to that of the whole, and
// the loss reads no memory. Losses with proxies are of this kind.
type RowWise interface {
	Kind
	// ByRows reports whether it is.
	ByRows() bool
}

// ByRows reports whether a loss is a mean over independent rows; see RowWise.
func ByRows(k Kind) bool {
	r, ok := k.(RowWise)
	return ok && r.ByRows()
}

// Trained is a Loss with parameters, which form an optimizer group of their own.
type Trained interface {
	Loss
	// Params returns the parameters. Their owner sets Value and Grad before the first
	// Forward.
	Params() []*Param
}

// Param is a parameter of a loss. It starts from a uniform draw within ±1/√FanIn, or a
// normal one of the given Deviation. If both are 0, it starts from 0.
type Param struct {
	Name        string       // unique within its loss
	Dims        []int        // of Value and Grad
	FanIn       int          // 0: no uniform start
	Deviation   float64      // 0: no normal start
	Value, Grad device.Array // F32; set by the owner
}

// Init returns how the parameter starts.
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
	// States returns the arrays. Their owner sets Value, filled with Start, before the
	// first Forward.
	States() []*State
	// Forget records a rollback: if flag, I32 [1], is set because a value was not finite,
	// it undoes what this step has added.
	Forget(t *grad.Tape, flag device.Array)
}

// State is an array that a loss keeps from step to step.
type State struct {
	Name  string       // unique within its loss
	Type  device.DType // of Value
	Dims  []int        // of Value
	Start float32      // value of all elements before the first step
	Value device.Array // set by the owner
}

// weighted records Σ_i weights[i]·terms[i], where each term is one number.
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
