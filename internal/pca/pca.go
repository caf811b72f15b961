// Package pca computes principal components in float64: of the features that a projection starts
// from, and of vectors before clustering.
package pca

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Model holds the directions of largest variance of some rows. With the centred rows X = U·S·Vᵀ
// these are the first rows of Vᵀ, with variance S²/(N−1). The sign of a component makes the largest
// entry, by magnitude, of its column of U positive. Of equal entries the first counts.
type Model struct {
	Mean       []float64  // [D]
	Components *mat.Dense // [K,D], orthonormal rows by decreasing variance
	Variance   []float64  // [K]
	Total      float64    // the variance of all D directions
}

// least is the smallest variance, relative to the largest, that can be distinguished from the
// rounding errors of XᵀX: about a thousand times the precision of float64. It is far below the
// rounding errors of rows that were float32, 2⁻⁴⁸ for each number.
const least = 1e-12

// Fit computes the first k components of the rows of x [N,D], at most min(N−1, D), from the
// eigenvectors of the smaller of XᵀX and XXᵀ. It overwrites x with the centred rows. It fails if
// the rows vary in fewer than k directions.
func Fit(x *mat.Dense, k int) (*Model, error) {
	n, d := x.Dims()
	if most := min(n-1, d); k < 1 || k > most {
		return nil, fmt.Errorf("%d components of %d rows of %d values: want 1 to %d; take more rows or fewer components", k,
			n, d, max(most, 0))
	}
	m := &Model{Variance: make([]float64, k)}
	scatter := m.centre(x)
	m.Total = scatter / float64(n-1)
	values, vectors, err := eigen(smaller(x), k)
	if err != nil {
		return nil, err
	}
	if err := m.vary(values, n); err != nil {
		return nil, err
	}
	var u mat.Dense // its columns are scaled by positive numbers
	m.Components = mat.NewDense(k, d, nil)
	if n < d { // the eigenvectors are U, and Vᵀ = S⁻¹·Uᵀ·X
		u = *vectors
		m.Components.Mul(vectors.T(), x)
		for c, s2 := range values {
			row := m.Components.RawRowView(c)
			for j := range row {
				row[j] /= math.Sqrt(s2)
			}
		}
	} else { // the eigenvectors are V, and U·S = X·V
		m.Components.Copy(vectors.T())
		u.Mul(x, vectors)
	}
	m.orient(&u)
	return m, nil
}

// centre subtracts the mean from the rows and returns the sum of their squares.
func (m *Model) centre(x *mat.Dense) (scatter float64) {
	n, d := x.Dims()
	m.Mean = make([]float64, d)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			m.Mean[j] += v
		}
	}
	for j := range m.Mean {
		m.Mean[j] /= float64(n)
	}
	for i := range n {
		row := x.RawRowView(i)
		for j := range row {
			row[j] -= m.Mean[j]
			scatter += row[j] * row[j]
		}
	}
	return scatter
}

// vary sets the variances from the eigenvalues of the scatter of n rows.
func (m *Model) vary(values []float64, n int) error {
	for c, s2 := range values {
		if !(s2 > least*values[0]) {
			return fmt.Errorf("the rows vary in only %d directions, fewer than the %d asked for", c, len(values))
		}
		m.Variance[c] = s2 / float64(n-1)
	}
	return nil
}

// smaller returns the smaller of XᵀX and XXᵀ.
func smaller(x *mat.Dense) *mat.SymDense {
	var gram mat.SymDense
	if n, d := x.Dims(); n < d {
		gram.SymOuterK(1, x)
	} else {
		gram.SymOuterK(1, x.T())
	}
	return &gram
}

// eigen returns the k largest eigenvalues, decreasing, and their eigenvectors as columns.
func eigen(gram *mat.SymDense, k int) ([]float64, *mat.Dense, error) {
	side := gram.SymmetricDim()
	var e mat.EigenSym
	if !e.Factorize(gram, true) {
		return nil, nil, fmt.Errorf("the eigenvalues of a matrix of %d rows were not found", side)
	}
	var all mat.Dense
	e.VectorsTo(&all)
	values, vectors := e.Values(nil), mat.NewDense(side, k, nil)
	top := make([]float64, k)
	for c := range k {
		from := side - 1 - c // they rise
		top[c] = values[from]
		for i := range side {
			vectors.Set(i, c, all.At(i, from))
		}
	}
	return top, vectors, nil
}

// orient sets the signs of the components.
func (m *Model) orient(u *mat.Dense) {
	n, _ := u.Dims()
	for c := range m.Variance {
		largest := 0.0
		for i := range n {
			if v := u.At(i, c); math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		if largest >= 0 {
			continue
		}
		row := m.Components.RawRowView(c)
		for j := range row {
			row[j] = -row[j]
		}
	}
}
