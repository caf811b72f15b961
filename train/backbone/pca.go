package backbone

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"hgld/train/tensor"
)

// PCA is the principal components of features, from which a projection starts: the
// initialisation of SupRank's landmark models.
type PCA struct {
	Mean       []float64  // [C]
	Components *mat.Dense // [K,C], orthonormal rows by falling variance
	Variance   []float64  // [K], with n−1 below
}

// FitPCA finds the first k components of features [n,C]: rows are scaled to unit
// length, X is what remains after their mean, and X = U·S·Vᵀ gives the components
// (rows of Vᵀ) and their variances S²/(n−1). The entry of largest magnitude in
// each column of U is made positive, so that the signs are defined. Computed in
// float64.
//
// k is at most the number of features and of directions in the data; asking for
// more is an error, as is a row of zeros.
func FitPCA(features *tensor.Tensor, k int) (*PCA, error) {
	n, c := features.Rows(), features.Cols()
	if k < 1 || k > min(n-1, c) {
		return nil, fmt.Errorf("backbone: %d components of %d features of %d images: want 1 to %d; take more images or a smaller projection", k, c, n, min(n-1, c))
	}
	x, mean, err := centred(features)
	if err != nil {
		return nil, err
	}
	var svd mat.SVD
	if !svd.Factorize(x, mat.SVDThin) {
		return nil, fmt.Errorf("backbone: the singular values of %d×%d features do not converge", n, c)
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	s := svd.Values(nil)
	p := &PCA{Mean: mean, Components: mat.NewDense(k, c, nil), Variance: make([]float64, k)}
	for i := range k {
		p.Variance[i] = s[i] * s[i] / float64(n-1)
		if !(s[i] > s[0]*float64(max(n, c))*0x1p-52) { // numpy's rank
			return nil, fmt.Errorf("backbone: the features span %d directions, fewer than the %d asked for", i, k)
		}
		sign := signOf(u.ColView(i))
		for j := range c {
			p.Components.Set(i, j, sign*v.At(j, i))
		}
	}
	return p, nil
}

// centred returns the rows at unit length, without their mean.
func centred(features *tensor.Tensor) (*mat.Dense, []float64, error) {
	n, c := features.Rows(), features.Cols()
	x, mean := mat.NewDense(n, c, nil), make([]float64, c)
	for i := range n {
		sum := 0.0
		for _, v := range features.Row(i) {
			sum += float64(v) * float64(v)
		}
		if !(sum > 0) || math.IsInf(sum, 0) {
			return nil, nil, fmt.Errorf("backbone: row %d of the features has length %v", i, math.Sqrt(sum))
		}
		for j, v := range features.Row(i) {
			u := float64(v) / math.Sqrt(sum)
			x.Set(i, j, u)
			mean[j] += u / float64(n)
		}
	}
	for i := range n {
		for j, m := range mean {
			x.Set(i, j, x.At(i, j)-m)
		}
	}
	return x, mean, nil
}

// signOf is the sign of the entry of largest magnitude, the first of equals.
func signOf(v mat.Vector) float64 {
	sign, most := 1.0, 0.0
	for i := range v.Len() {
		if a := math.Abs(v.AtVec(i)); a > most {
			most, sign = a, math.Copysign(1, v.AtVec(i))
		}
	}
	return sign
}

// Linear returns the weight [K,C] and bias [K] of the layer that projects
// features of unit length on the components,
//
//	W = V (rows), b = −V·mean,     each row over the deviation if whiten is set:
//
// then all components of the features have variance 1.
func (p *PCA) Linear(whiten bool) (weight, bias *tensor.Tensor) {
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
		bias.Data[i] = float32(-factor * sum)
	}
	return weight, bias
}
