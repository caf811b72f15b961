package cluster

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"hgld/internal/pca"
)

// PCA is the projection onto the directions of largest variance. With the centred rows
// X = U·S·Vᵀ, Components are the first rows of Vᵀ, and the explained variance is
// S²/(N−1). The sign of a component makes the entry of largest absolute value in its
// column of U positive (the lowest of equals).
type PCA struct {
	Mean       []float64 // [D]
	Components []float64 // [Dims,D]
	Variance   []float64 // explained by each component [Dims]
	Ratio      []float64 // its share of the total variance [Dims]
	// Dims is the number of components.
	Dims int
}

// FitPCA finds the first dims components of x, at most min(N−1, D), in float64. A
// component whose variance is below 1e-12 of the largest is noise, and an error.
func FitPCA(x Matrix, dims int) (*PCA, error) {
	if err := x.finite(); err != nil {
		return nil, fmt.Errorf("cluster: pca: %w", err)
	}
	if x.Rows < 1 || x.Cols < 1 {
		return nil, fmt.Errorf("cluster: pca: %d rows of %d values have no components", x.Rows, x.Cols)
	}
	wide := make([]float64, len(x.Data))
	for i, v := range x.Data {
		wide[i] = float64(v)
	}
	m, err := pca.Fit(mat.NewDense(x.Rows, x.Cols, wide), dims)
	if err != nil {
		return nil, fmt.Errorf("cluster: pca: %w", err)
	}
	p := &PCA{Mean: m.Mean, Components: m.Components.RawMatrix().Data, Variance: m.Variance, Dims: dims}
	for _, v := range m.Variance {
		p.Ratio = append(p.Ratio, v/m.Total)
	}
	return p, nil
}

// Project returns the scores of the rows, (x − mean)·Componentsᵀ [N, Dims]. With whiten
// each score is divided by the standard deviation of its component.
func (p *PCA) Project(x Matrix, whiten bool) Matrix {
	if x.Cols != len(p.Mean) {
		panic("cluster: PCA of other vectors")
	}
	y := NewMatrix(x.Rows, p.Dims)
	tiles(x.Rows, func(lo, hi int) {
		centred := make([]float64, x.Cols)
		for i := lo; i < hi; i++ {
			for j, v := range x.Row(i) {
				centred[j] = float64(v) - p.Mean[j]
			}
			for c := range p.Dims {
				score := 0.0
				for j, v := range p.Components[c*x.Cols : (c+1)*x.Cols] {
					score += centred[j] * v
				}
				if whiten {
					score /= math.Sqrt(p.Variance[c])
				}
				y.Row(i)[c] = float32(score)
			}
		}
	})
	return y
}

// Center subtracts the mean of the rows. Vectors of CLIP share a large mean, which
// spherical k-means would take for likeness.
func Center(x Matrix) Matrix {
	mean, _ := meanScatter(x)
	y := NewMatrix(x.Rows, x.Cols)
	for i, v := range x.Data {
		y.Data[i] = float32(float64(v) - mean[i%x.Cols])
	}
	return y
}
