package backbone

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"hgld/internal/pca"
	"hgld/train/tensor"
)

// PCA holds the principal components of features of unit length. A projection can start from
// them, as in SupRank's landmark models.
type PCA struct{ *pca.Model }

// Features collects features for their principal components, a block of rows at a time, in the
// memory of a pca.Stream.
type Features struct {
	rows    int
	lengths float64 // their sum
	stream  pca.Stream
}

// Add takes features [n,C] and scales them to unit length. An all-zero row is an error.
func (f *Features) Add(features *tensor.Tensor) error {
	x := mat.NewDense(features.Rows(), features.Cols(), nil)
	for i := range features.Rows() {
		sum := 0.0
		for _, v := range features.Row(i) {
			sum += float64(v) * float64(v)
		}
		if !(sum > 0) || math.IsInf(sum, 0) {
			return fmt.Errorf("backbone: pca: row %d of the features has length %v, want more than 0", f.rows+i, math.Sqrt(sum))
		}
		for j, v := range features.Row(i) {
			x.Set(i, j, float64(v)/math.Sqrt(sum))
		}
		f.lengths += math.Sqrt(sum)
	}
	f.rows += features.Rows()
	f.stream.Add(x)
	return nil
}

// Fit finds the first k components of all features. It fails if k exceeds min(n−1, C) or the
// number of directions in the data.
func (f *Features) Fit(k int) (*PCA, error) {
	m, err := f.stream.Fit(k)
	if err != nil {
		return nil, fmt.Errorf("backbone: pca: %w", err)
	}
	return &PCA{m}, nil
}

// Length returns the mean length of the features before the scaling.
func (f *Features) Length() float64 { return f.lengths / float64(f.rows) }

// FeatureBytes returns the bytes that Features needs for n rows of c values.
func FeatureBytes(n, c int) int64 { return pca.Bytes(n, c) }

// Linear returns the weight [K,C] and bias [K] of the layer that projects features of a length onto the components,
// which are those of unit length:
//
//	W = V (rows), b = −V·mean·length
//
// If whiten is set, each row is divided by its deviation, so that all components have variance length².
func (p *PCA) Linear(whiten bool, length float64) (weight, bias *tensor.Tensor) {
	k, c := p.Components.Dims()
	weight, bias = tensor.New(k, c), tensor.New(k)
	for i := range k {
		factor, sum := 1.0, 0.0
		if whiten {
			factor = 1 / math.Sqrt(p.Variance[i])
		}
		for j, m := range p.Mean {
			v := p.Components.At(i, j)
			weight.Row(i)[j] = float32(factor * v)
			sum += m * v
		}
		bias.Data[i] = float32(-factor * sum * length)
	}
	return weight, bias
}
