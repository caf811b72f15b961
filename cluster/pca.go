package cluster

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// PCA is the projection onto the directions of largest variance. With the
// centred rows X = U·S·Vᵀ, Components are the first rows of Vᵀ and the explained
// variance is S²/(N−1). The sign of a component is such that the entry of largest
// absolute value in its column of U, the lowest of equals, is positive.
type PCA struct {
	Mean       []float64 // [D]
	Components []float64 // [Dims,D]
	Variance   []float64 // explained by each component [Dims]
	Ratio      []float64 // its share of the total variance [Dims]
	Dims       int
}

// FitPCA finds the first dims components of x, at most min(N−1, D). The thin SVD
// is that of the smaller of XᵀX and XXᵀ, in float64: components whose variance is
// below 1e-12 of the largest are noise there, and are an error.
func FitPCA(x Matrix, dims int) (*PCA, error) {
	most := min(x.Rows-1, x.Cols)
	if dims < 1 || dims > most {
		return nil, fmt.Errorf("cluster: pca: %d components of %d rows of %d values; want 1 to %d", dims, x.Rows, x.Cols, max(most, 0))
	}
	if err := x.finite(); err != nil {
		return nil, fmt.Errorf("cluster: pca: %w", err)
	}
	p := &PCA{Dims: dims, Components: make([]float64, dims*x.Cols)}
	var scatter float64
	p.Mean, scatter = meanScatter(x)
	values, vectors, err := p.decompose(x)
	if err != nil {
		return nil, err
	}
	side := len(values)
	for c := range dims {
		s2 := values[side-1-c] // ascending
		if !(s2 > 1e-12*values[side-1]) {
			return nil, fmt.Errorf("cluster: pca: the rows vary in %d directions only; ask for no more components", c)
		}
		p.Variance = append(p.Variance, s2/float64(x.Rows-1))
		p.Ratio = append(p.Ratio, s2/scatter)
		component := p.Components[c*x.Cols : (c+1)*x.Cols]
		if side == x.Cols {
			for j := range component {
				component[j] = vectors.At(j, side-1-c)
			}
			continue
		}
		for i := range x.Rows { // V = Xᵀ·U / S
			u := vectors.At(i, side-1-c) / math.Sqrt(s2)
			for j, v := range x.Row(i) {
				component[j] += u * (float64(v) - p.Mean[j])
			}
		}
	}
	p.orient(x)
	return p, nil
}

// decompose returns the eigenvalues, ascending, and eigenvectors of XᵀX or XXᵀ.
func (p *PCA) decompose(x Matrix) ([]float64, *mat.Dense, error) {
	centred := make([]float64, len(x.Data))
	for i, v := range x.Data {
		centred[i] = float64(v) - p.Mean[i%x.Cols]
	}
	side, trans := x.Cols, blas.Trans
	if x.Rows < x.Cols {
		side, trans = x.Rows, blas.NoTrans
	}
	sym := mat.NewSymDense(side, nil)
	blas64.Syrk(trans, 1, blas64.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: centred}, 0, sym.RawSymmetric())
	var eigen mat.EigenSym
	if !eigen.Factorize(sym, true) {
		return nil, nil, fmt.Errorf("cluster: pca: the eigenvalues of a matrix of %d rows were not found", side)
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	return eigen.Values(nil), &vectors, nil
}

// orient applies the rule of signs: a column of U has the signs of its scores.
func (p *PCA) orient(x Matrix) {
	scores := p.project(x)
	for c := range p.Dims {
		largest := 0.0
		for i := range x.Rows {
			if s := scores[i*p.Dims+c]; math.Abs(s) > math.Abs(largest) {
				largest = s
			}
		}
		if largest < 0 {
			for j := c * x.Cols; j < (c+1)*x.Cols; j++ {
				p.Components[j] = -p.Components[j]
			}
		}
	}
}

// project returns the scores [N, Dims] of the rows.
func (p *PCA) project(x Matrix) []float64 {
	scores := make([]float64, x.Rows*p.Dims)
	parallel((x.Rows+tileRows-1)/tileRows, func(tile int) {
		centred := make([]float64, x.Cols)
		for i := tile * tileRows; i < min((tile+1)*tileRows, x.Rows); i++ {
			for j, v := range x.Row(i) {
				centred[j] = float64(v) - p.Mean[j]
			}
			for c := range p.Dims {
				for j, v := range p.Components[c*x.Cols : (c+1)*x.Cols] {
					scores[i*p.Dims+c] += centred[j] * v
				}
			}
		}
	})
	return scores
}

// Project returns the scores of the rows, (x − mean)·Componentsᵀ [N, Dims]. With
// whiten each is divided by the root of its component's variance.
func (p *PCA) Project(x Matrix, whiten bool) Matrix {
	if x.Cols != len(p.Mean) {
		panic("cluster: PCA of other vectors")
	}
	y := NewMatrix(x.Rows, p.Dims)
	for i, s := range p.project(x) {
		if whiten {
			s /= math.Sqrt(p.Variance[i%p.Dims])
		}
		y.Data[i] = float32(s)
	}
	return y
}

// Center subtracts the mean of the rows: vectors of CLIP share a large one, which
// spherical k-means would take for likeness.
func Center(x Matrix) Matrix {
	mean, _ := meanScatter(x)
	y := NewMatrix(x.Rows, x.Cols)
	for i, v := range x.Data {
		y.Data[i] = float32(float64(v) - mean[i%x.Cols])
	}
	return y
}
