// Package cluster is stage 2 of hgld. It reads tags.jsonl, the "instance of" tags of
// stage 1, and writes draft.json, clusters of tags as a draft of supercategories, and
// vectors.safetensors.
//
// An Encoder turns each distinct tag into a vector, KMeans clusters the vectors, and
// NewDraft names the clusters and orders their members for the curator; a Plan runs these
// steps with the settings of a project. The same tags, settings and seed give the same
// files on any number of cores.
//
// Dimensions: N rows (tags), D embedding, K clusters.
package cluster

import (
	"fmt"
	"math"
)

// Matrix is a dense row-major matrix [Rows, Cols].
type Matrix struct {
	Rows, Cols int       // and Cols are the shape
	Data       []float32 // has Rows·Cols values, row by row
}

// NewMatrix returns a matrix of zeros.
func NewMatrix(rows, cols int) Matrix {
	return Matrix{Rows: rows, Cols: cols, Data: make([]float32, rows*cols)}
}

// Row returns row i; writing to it writes to the matrix.
func (m Matrix) Row(i int) []float32 { return m.Data[i*m.Cols : (i+1)*m.Cols : (i+1)*m.Cols] }

// Pack copies vectors of equal length, as an Encoder returns them, into a matrix. If a
// vector has another length or a value that is not finite, the error names its row.
func Pack(vectors [][]float32) (Matrix, error) {
	if len(vectors) == 0 {
		return Matrix{}, nil
	}
	m := NewMatrix(len(vectors), len(vectors[0]))
	for i, v := range vectors {
		if len(v) != m.Cols {
			return Matrix{}, fmt.Errorf("cluster: vector %d has %d values, want %d as in vector 0", i, len(v), m.Cols)
		}
		copy(m.Row(i), v)
	}
	if err := m.finite(); err != nil {
		return Matrix{}, fmt.Errorf("cluster: %w", err)
	}
	return m, nil
}

func (m Matrix) finite() error {
	for i, v := range m.Data {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("vector %d has the value %v at %d; every value must be finite", i/m.Cols, v, i%m.Cols)
		}
	}
	return nil
}

// normalize returns x with rows of unit length, and the original lengths. A row of
// zeros has no direction and is an error.
func normalize(x Matrix) (Matrix, []float64, error) {
	y, norms := NewMatrix(x.Rows, x.Cols), make([]float64, x.Rows)
	for i := range norms {
		norms[i] = math.Sqrt(square(x.Row(i)))
		if norms[i] == 0 {
			return Matrix{}, nil, fmt.Errorf("vector %d is zero and has no direction; leave the tag out, or cluster with "+
				"Euclidean distances", i)
		}
		for j, v := range x.Row(i) {
			y.Data[i*x.Cols+j] = float32(float64(v) / norms[i])
		}
	}
	return y, norms, nil
}

// square returns ‖v‖² in float64.
func square(v []float32) float64 {
	s := 0.0
	for _, a := range v {
		s += float64(a) * float64(a)
	}
	return s
}
