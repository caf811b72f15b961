// Package loss holds the losses of image retrieval as functions on a tape: one
// file each and the table All. A value in the table is a Kind, the loss with its
// settings, which are its exported fields; New turns it into a Loss for given
// data.
//
// Every ranking loss is the same three operations of the device with other step
// functions: see device.Rank and ranking. What a loss trains itself, proxies, it
// declares by Params.
package loss

import (
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/grad"
)

// Loss records the loss of a batch: F32 [1].
type Loss interface {
	// Forward returns a Var F32 [1], whose backward pass reaches b.Query, b.Gallery and
	// the parameters. It is called once for each recording.
	Forward(t *grad.Tape, b *Batch) *grad.Var
}

// Batch is what a loss is computed from. Embeddings are rows, labels I32 with a
// column for each level, finest first, −1 meaning none.
//
// The gallery is the batch itself (the same Var, so that it takes gradient from
// both sides), a memory (a leaf without gradient), or both in one array. A row
// whose labels are all −1, such as a place of a memory that is still empty, does
// not exist.
type Batch struct {
	Query       *grad.Var    // [Q,D]
	QueryLabels device.Array // [Q,L]

	Gallery       *grad.Var    // [G,D]
	GalleryLabels device.Array // [G,L]
	Self          device.Array // I32 [Q]: each query's own row in the gallery, −1: none; absent: none at all

	Memory *Memory // a second gallery, or nil

	// Key is I32 [2], seed and step, from which a loss that needs random numbers draws
	// them: the amplitudes [Q,G] of BlackBoxAP's margin, the coefficients of mixtures.
	// Drawn, F32 of the same shape, takes the place of what would be drawn.
	Key, Drawn device.Array
}

// Memory is a gallery of earlier embeddings beside the one of the batch. Ranking
// losses are computed against each and combined as MemoryCombine says; losses
// with proxies do not read it.
type Memory struct {
	Rows   *grad.Var    // [M,D]
	Labels device.Array // [M,L]
	Self   device.Array // I32 [Q], as in Batch
	Weight float32      // of its loss beside that of the batch; 0: 1
	Drawn  device.Array // as in Batch
}

// Facts are what a loss must know of the data and of the batches.
type Facts struct {
	Classes  []int         // of each level, finest first
	Dim      int           // columns of an embedding
	Paths    []labels.Path // of each finest class; nil: not known
	Batch    int           // rows of a batch; 0: not known
	PerClass int           // rows of a class in a batch; 0: not known
	Memory   int           // rows of a Memory; 0: none
}

// Kind is a loss with its settings. New checks them against the data and makes
// the loss; each call makes one with proxies of its own. Its error names the
// setting; the caller knows the loss.
type Kind interface {
	// New returns the loss, or an error that names the wrong setting.
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

// Trained is a Loss with parameters. They form an optimizer's group of their own.
type Trained interface {
	Loss
	// Params returns them. Their owner sets Value and Grad before the first Forward.
	Params() []*Param
}

// Param is a parameter of a loss. It starts from a uniform draw within ±1/√FanIn or
// a normal one of the given Deviation; where both are 0, from 0.
type Param struct {
	Name        string       // unique within its loss
	Dims        []int        // of Value and Grad
	FanIn       int          // 0: no uniform start
	Deviation   float64      // 0: no normal start
	Value, Grad device.Array // F32; set by the owner
}

// Stateful is a Loss with arrays that outlive a step and belong in a checkpoint.
type Stateful interface {
	Loss
	// States returns them. Their owner sets Value, full of Start, before the first
	// Forward.
	States() []*State
	// Forget records that what this step has put in is taken out again if flag, I32
	// [1], is set: then a value was not finite.
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

// weighted records Σ_i weights[i]·terms[i] of numbers.
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
