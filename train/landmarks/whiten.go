package landmarks

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"hgld/internal/pca"
)

// Whitening turns vectors so that those it was learned on have equal variance in all directions.
type Whitening struct {
	model *pca.Model
	dims  int
}

// Learn learns a whitening from rows of vectors [N,cols], with the dims directions of largest variance. 0:
// as many as the rows allow.
func Learn(values []float32, cols, dims int) (*Whitening, error) {
	rows := len(values) / cols
	if dims == 0 {
		dims = min(rows-1, cols)
	}
	wide := make([]float64, len(values))
	for i, v := range values {
		wide[i] = float64(v)
	}
	m, err := pca.Fit(mat.NewDense(rows, cols, wide), dims)
	if err != nil {
		return nil, fmt.Errorf("whitening: %w", err)
	}
	return &Whitening{m, dims}, nil
}

// Cols returns the width of the result.
func (w *Whitening) Cols() int { return w.dims }

// Apply returns the whitened rows, scaled to unit length.
func (w *Whitening) Apply(values []float32) []float32 {
	cols := len(w.model.Mean)
	out := make([]float32, 0, len(values)/cols*w.dims)
	row, turned := make([]float64, cols), make([]float64, w.dims)
	for ; len(values) > 0; values = values[cols:] {
		for j, m := range w.model.Mean {
			row[j] = float64(values[j]) - m
		}
		length := 0.0
		for k := range turned {
			turned[k] = mat.Dot(mat.NewVecDense(cols, row), w.model.Components.RowView(k)) / math.Sqrt(w.model.Variance[k])
			length += turned[k] * turned[k]
		}
		for _, v := range turned {
			out = append(out, float32(v/math.Sqrt(max(length, 1e-300))))
		}
	}
	return out
}
