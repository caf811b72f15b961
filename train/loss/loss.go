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
	"hgld/train/device"
	"hgld/train/grad"
)

// Loss records the loss of a batch: F32 [1].
type Loss interface {
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
}

// Memory is a gallery of earlier embeddings beside the one of the batch. Ranking
// losses are computed against each and combined as MemoryCombine says; losses
// with proxies do not read it.
type Memory struct {
	Rows   *grad.Var    // [M,D]
	Labels device.Array // [M,L]
	Self   device.Array // I32 [Q], as in Batch
}

// Facts are what a loss must know of the data.
type Facts struct {
	Classes []int // of each level, finest first
	Dim     int   // columns of an embedding
}

// Kind is a loss with its settings. New checks them against the data and makes
// the loss; each call makes one with proxies of its own. Its error names the
// setting; the caller knows the loss.
type Kind interface {
	New(f Facts) (Loss, error)
}

// Trained is a Loss with parameters. They form an optimizer's group of their own.
type Trained interface {
	Loss
	// Params returns them. Their owner sets Value and Grad before the first Forward.
	Params() []*Param
}

// Param is a parameter of a loss. It starts from a uniform draw within
// ±1/√FanIn.
type Param struct {
	Name        string
	Dims        []int
	FanIn       int
	Value, Grad device.Array
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
