package definition

import (
	"math"
	"slices"

	"hgld/labels"
)

// Batch is the input of a loss, rows of embeddings with their labels, finest first.
type Batch struct {
	Query   [][]float64 // [Q,D]
	Gallery [][]float64 // [G,D]; for Own it takes gradient from both sides
	Labels  [][]int32   // [Q,L] of the queries, −1 for none
	Against [][]int32   // [G,L] of the gallery
	Self    []int32     // [Q]: each query's own row in the gallery, or −1; nil: no query has one

	Memory *Batch  // Gallery, Against and Self of a second gallery; nil: none
	Weight float64 // of the loss against Memory, relative to that against Gallery; 0: 1

	Proxies [][]float64 // [C·Centers,D] of the loss, or the weights of its classifier
	Bias    []float64   // [C] of the classifier
	Centers int         // proxies per class; 0: 1
	Paths   [][]int32   // [C,L]: labels of the proxies' classes; nil: taken from Labels

	Drawn    [][]float64 // random numbers; nil: amplitudes by label
	PerClass int         // rows of a class

	fixed bool // Gallery takes no gradient
}

// Result holds a loss and its gradients, in the shapes of the Batch.
type Result struct {
	Value   float64     // the loss
	Query   [][]float64 // gradient by the queries, and by the gallery if that is Own
	Gallery [][]float64 // gradient by another gallery
	Proxies [][]float64 // gradient by the proxies
	Bias    []float64   // gradient by the bias
}

// Own makes the batch its own gallery.
func (in *Batch) Own() *Batch {
	in.Gallery, in.Against = in.Query, in.Labels
	in.Self = nil
	for i := range in.Query {
		in.Self = append(in.Self, int32(i))
	}
	return in
}

// isOwn reports whether the gallery is the batch itself.
func (in *Batch) isOwn() bool {
	return len(in.Gallery) > 0 && len(in.Query) > 0 && &in.Gallery[0] == &in.Query[0]
}

// galleryGradient returns where the gradient by the gallery adds up; nil: it is not computed.
func (in *Batch) galleryGradient(r *Result) [][]float64 {
	switch {
	case in.fixed:
		return nil
	case in.isOwn():
		return r.Query
	}
	return r.Gallery
}

// Draws returns the random numbers of a batch.
func (in *Batch) Draws() [][]float64 {
	if in.Drawn != nil {
		return in.Drawn
	}
	return Amplitudes(in.Labels, in.Against)
}

// Amplitudes returns substitutes for the random amplitudes of a margin. They are functions of the
// labels, so that they do not depend on the order of rows.
func Amplitudes(query, gallery [][]int32) [][]float64 {
	out := Zeros(len(query), len(gallery))
	for q, a := range query {
		for g, b := range gallery {
			out[q][g] = float64((7*a[0]+5*b[0]+11)%13+1) / 8
		}
	}
	return out
}

// Path returns the labels of a finest class.
func (in *Batch) Path(class int32) labels.Path {
	if in.Paths != nil {
		return in.Paths[class]
	}
	for _, p := range in.Labels {
		if p[0] == class {
			return p
		}
	}
	return slices.Repeat(labels.Path{-1}, len(in.Labels[0]))
}

// Dot returns the inner product of a and b.
func Dot(a, b []float64) (s float64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// ZerosLike returns zeros in the shape of x, or nil if x has no rows.
func ZerosLike(x [][]float64) [][]float64 {
	if len(x) == 0 {
		return nil
	}
	return Zeros(len(x), len(x[0]))
}

// Zeros returns a matrix of zeros.
func Zeros(rows, cols int) [][]float64 {
	out := make([][]float64, rows)
	for i := range out {
		out[i] = make([]float64, cols)
	}
	return out
}

// Tangent removes from each row of g its component along the row of x.
func Tangent(g, x [][]float64) [][]float64 {
	out := ZerosLike(g)
	for i := range g {
		along := Dot(g[i], x[i]) / Dot(x[i], x[i])
		for j := range g[i] {
			out[i][j] = g[i][j] - along*x[i][j]
		}
	}
	return out
}

func norm(row []float64) float64 { return math.Sqrt(Dot(row, row)) }
