// Package definition computes losses by their definition, in float64 and plain loops: embeddings to
// scores, scores to ranks over all pairs, and the gradient by the chain rule. Each loss declares its
// Definition in its own file, from the parts that are here. Tests compare the losses with it, and
// `hgld loss` prints it beside them. It is slow: it takes O(positives × gallery) operations per query.
package definition

import "hgld/train/device"

// Definition is what a loss computes.
type Definition interface {
	// Add adds weight times the loss of a batch and its gradients to r.
	Add(in *Batch, weight float64, r *Result)
}

// Of computes a loss and its gradients.
func Of(d Definition, in *Batch) Result {
	r := Result{Query: ZerosLike(in.Query), Proxies: ZerosLike(in.Proxies), Bias: make([]float64, len(in.Bias))}
	if !in.isOwn() {
		r.Gallery = ZerosLike(in.Gallery)
	}
	d.Add(in, 1, &r)
	return r
}

// Func is a Definition that is a function.
type Func func(in *Batch, weight float64, r *Result)

// Add calls f.
func (f Func) Add(in *Batch, weight float64, r *Result) { f(in, weight, r) }

// Term is a Definition with its weight in a sum.
type Term struct {
	Weight float64    // may be negative
	Of     Definition // what is summed
}

// Sum is a weighted sum.
type Sum []Term

// Add adds every term.
func (s Sum) Add(in *Batch, weight float64, r *Result) {
	for _, t := range s {
		t.Of.Add(in, weight*t.Weight, r)
	}
}

// Compared says which items of the gallery a query is compared with, and how.
type Compared struct {
	device.SharedKind      // the compared levels [From, To), and the level of the query's own row
	Average           bool // take the mean of the losses against batch and memory, not their sum
}

// withMemory calls add for the gallery and, if there is one, the memory.
func (c Compared) withMemory(in *Batch, weight float64, add func(in *Batch, weight float64)) {
	if in.Memory == nil {
		add(in, weight)
		return
	}
	memory := *in
	memory.Gallery, memory.Against, memory.Self, memory.fixed = in.Memory.Gallery, in.Memory.Against, in.Memory.Self, true
	w := in.Weight
	if w == 0 {
		w = 1
	}
	both := 1.0
	if c.Average {
		both = 1 + w
	}
	add(in, weight*(1/both))
	add(&memory, weight*(w/both))
}

// OverLevels returns a loss at each of several levels. Without levels it takes all of the data, without
// weights their mean.
func OverLevels(in *Batch, levels []int, weights []float64, at func(level int) Definition) Sum {
	if levels == nil {
		for l := range in.Labels[0] {
			levels = append(levels, l)
		}
	}
	var sum Sum
	for i, level := range levels {
		w := 1 / float64(len(levels))
		if weights != nil {
			w = weights[i]
		}
		sum = append(sum, Term{Weight: w, Of: at(level)})
	}
	return sum
}
