package cluster

import (
	"math"

	"gonum.org/v1/gonum/blas/gonum"
)

// bounds holds, for Elkan's algorithm, a lower bound of the distance of each row
// to each centroid. All distances are float32 products; bounds leave room for
// their rounding, so that what they exclude is excluded.
type bounds struct {
	*descent
	lower  []float32 // [N,K]; nil before the first assignment
	before []float64 // centroids of the assignment before [K,D]
	shift  []float32 // how far each has moved since, rounded up [K]
	apart  []float32 // half the distance of two centroids, rounded down [K,K]
}

// rounding is a bound of the error of a squared distance from products in
// float32, relative to ‖x‖²+‖c‖². An error of 2⁻²⁴ in each of 512 terms of random
// sign leaves 2⁻¹⁹·⁵ of the sum of their magnitudes at worst by far.
const rounding = 1. / (1 << 19)

func newBounds(w *descent) *bounds {
	k := w.c.Rows
	return &bounds{descent: w, before: make([]float64, len(w.centroids)), shift: make([]float32, k), apart: make([]float32, k*k)}
}

// assign finds the nearest centroid of each row.
func (b *bounds) assign() {
	first := b.lower == nil
	if first {
		b.lower = make([]float32, b.y.Rows*b.c.Rows)
	} else {
		b.measureShift()
		b.measureApart()
	}
	parallel((b.y.Rows+tileRows-1)/tileRows, func(tile int) {
		lo := tile * tileRows
		hi := min(lo+tileRows, b.y.Rows)
		if first {
			b.compareAll(lo, hi)
			return
		}
		for i := lo; i < hi; i++ {
			b.compare(i)
		}
	})
	copy(b.before, b.centroids)
}

// length2 is ‖c_k‖² as it enters a distance: cc is zero for spherical k-means.
func (b *bounds) length2(k int) float64 {
	if b.norms != nil {
		return 1
	}
	return float64(b.cc[k])
}

// ends returns bounds of the distance of row i to centroid k from cc − 2y·c.
func (b *bounds) ends(i, k int, dist float32) (low, high float64) {
	size := b.yy[i] + b.length2(k)
	square := b.yy[i] + b.length2(k) - float64(b.cc[k]) + float64(dist)
	return math.Sqrt(max(0, square-rounding*size)), math.Sqrt(max(0, square+rounding*size))
}

func (b *bounds) compareAll(lo, hi int) {
	k := b.c.Rows
	buf := make([]float32, (hi-lo)*k)
	CPU{BLAS: b.lib}.products(buf, b.y, lo, hi, b.c, 0, k)
	for i := lo; i < hi; i++ {
		b.index[i], b.dist[i] = 0, float32(math.Inf(1))
		for c, dot := range buf[(i-lo)*k:][:k] {
			d := b.cc[c] - 2*dot
			low, _ := b.ends(i, c, d)
			b.lower[i*k+c] = float32(low)
			if d < b.dist[i] {
				b.index[i], b.dist[i] = int32(c), d
			}
		}
	}
}

// compare brings row i up to date: its distance to its own centroid is computed,
// others only where no bound shows that they are larger.
func (b *bounds) compare(i int) {
	k := b.c.Rows
	lower := b.lower[i*k : (i+1)*k]
	for c, s := range b.shift {
		lower[c] -= s
	}
	own, y := int(b.index[i]), b.y.Row(i)
	d := b.cc[own] - 2*dot(y, b.c.Row(own))
	low, high := b.ends(i, own, d)
	lower[own] = float32(low)
	upper, apart := float32(high), b.apart[own*k:(own+1)*k]
	for c := range lower {
		if lower[c] > upper || apart[c] > upper || c == own {
			continue
		}
		other := b.cc[c] - 2*dot(y, b.c.Row(c))
		low, high := b.ends(i, c, other)
		lower[c] = float32(low)
		if other < d || other == d && c < own {
			own, d = c, other
			upper, apart = float32(high), b.apart[own*k:(own+1)*k]
		}
	}
	b.index[i], b.dist[i] = int32(own), d
}

func (b *bounds) measureShift() {
	d := b.y.Cols
	for k := range b.shift {
		moved := math.Sqrt(gap2(b.centroids[k*d:(k+1)*d], b.before[k*d:(k+1)*d]))
		b.shift[k] = float32(moved*(1+1e-6) + 1e-6*math.Sqrt(b.length2(k)))
		if moved == 0 {
			b.shift[k] = 0
		}
	}
}

// measureApart uses that c' is no nearer to a row than c if ‖c−c'‖ is twice the
// distance of the row to c.
func (b *bounds) measureApart() {
	k := b.c.Rows
	buf := make([]float32, k*k)
	parallel((k+tileRows-1)/tileRows, func(tile int) {
		lo := tile * tileRows
		hi := min(lo+tileRows, k)
		CPU{BLAS: b.lib}.products(buf[lo*k:hi*k], b.c, lo, hi, b.c, 0, k)
		for i := lo; i < hi; i++ {
			for j := range k {
				size := b.length2(i) + b.length2(j)
				square := size - 2*float64(buf[i*k+j]) - rounding*size
				b.apart[i*k+j] = float32(math.Sqrt(max(0, square)) / 2 * (1 - 1e-6))
			}
		}
	})
}

// dot is x·y in float32.
func dot(x, y []float32) float32 { return gonum.Implementation{}.Sdot(len(x), x, 1, y, 1) }
