package pca

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// kept is the number of rows that a Stream keeps. If there are more, these alone determine the
// signs.
const kept = 4096

// Stream computes the principal components of rows that need not fit into memory. Bytes returns
// what it takes.
//
// Up to 4,096 rows it is Fit. Beyond that the components are the eigenvectors of the scatter
// matrix, which is accumulated as rows arrive, and the first 4,096 rows determine the signs. A sign
// does not change the product of two projected rows.
type Stream struct {
	n       int
	first   []float64     // of the first rows, as they came
	shift   []float64     // near the mean: that of the first rows
	sum     []float64     // Σ(x − shift)
	scatter *mat.SymDense // Σ(x − shift)(x − shift)ᵀ
}

// Bytes returns the memory of a Stream of n rows of d values, including its Fit: the kept rows,
// which grow by doubling, and about four matrices for the eigenvectors.
func Bytes(n, d int) int64 {
	side := d
	if n <= kept {
		side = min(n, d)
	}
	return 8 * (2*int64(min(n, kept))*int64(d) + 4*int64(side)*int64(side))
}

// Add adds rows [n,D]. It may overwrite them.
func (s *Stream) Add(x *mat.Dense) {
	n, d := x.Dims()
	at := 0
	for ; at < n && s.n < kept; at++ {
		s.first = append(s.first, x.RawRowView(at)...)
		s.n++
	}
	if at == n {
		return
	}
	if s.scatter == nil {
		s.begin(d)
	}
	s.n += n - at
	s.accumulate(x.Slice(at, n, 0, d).(*mat.Dense))
}

// begin initialises the sums from the first rows.
func (s *Stream) begin(d int) {
	s.shift, s.sum, s.scatter = make([]float64, d), make([]float64, d), mat.NewSymDense(d, nil)
	for i, v := range s.first {
		s.shift[i%d] += v / kept
	}
	x := mat.NewDense(kept, d, nil)
	copy(x.RawMatrix().Data, s.first)
	s.accumulate(x)
}

func (s *Stream) accumulate(x *mat.Dense) {
	n, _ := x.Dims()
	for i := range n {
		row := x.RawRowView(i)
		for j := range row {
			row[j] -= s.shift[j]
			s.sum[j] += row[j]
		}
	}
	s.scatter.SymRankK(s.scatter, 1, x.T())
}

// Fit computes the first k components of the rows, as the function Fit does. The stream cannot be
// used afterwards.
func (s *Stream) Fit(k int) (*Model, error) {
	if s.n == 0 {
		return nil, fmt.Errorf("%d components of no rows", k)
	}
	if s.scatter == nil {
		return Fit(mat.NewDense(s.n, len(s.first)/s.n, s.first), k)
	}
	d := len(s.sum)
	if k < 1 || k > d {
		return nil, fmt.Errorf("%d components of %d rows of %d values: want 1 to %d", k, s.n, d, d)
	}
	m := &Model{Mean: s.shift, Variance: make([]float64, k)}
	for j, v := range s.sum {
		m.Mean[j] += v / float64(s.n)
	}
	s.scatter.SymRankOne(s.scatter, -1/float64(s.n), mat.NewVecDense(d, s.sum))
	m.Total = mat.Trace(s.scatter) / float64(s.n-1)
	values, vectors, err := eigen(s.scatter, k)
	if err != nil {
		return nil, err
	}
	if err := m.vary(values, s.n); err != nil {
		return nil, err
	}
	m.Components = mat.DenseCopyOf(vectors.T())
	x := mat.NewDense(kept, d, s.first)
	for i := range kept {
		row := x.RawRowView(i)
		for j := range row {
			row[j] -= m.Mean[j]
		}
	}
	var u mat.Dense
	u.Mul(x, vectors)
	m.orient(&u)
	return m, nil
}
