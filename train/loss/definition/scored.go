package definition

import (
	"hgld/train/device"
	"hgld/train/device/reference"
)

// Scored is a loss of the scores of all queries.
type Scored struct {
	Compared
	Normalise bool // rows first
	// Of returns the value and the derivative by each score s [Q,G]. sh holds the shared levels.
	Of func(in *Batch, s [][]float64, sh [][]uint8) (value float64, ds [][]float64)
}

// Add adds weight times the loss against the gallery and the memory.
func (d *Scored) Add(in *Batch, weight float64, r *Result) {
	d.withMemory(in, weight, func(in *Batch, weight float64) { d.add(in, weight, r) })
}

// Pairs sums over pairs and triplets of items; see Scored.
func Pairs(p reference.Pairs) func(*Batch, [][]float64, [][]uint8) (float64, [][]float64) {
	return func(_ *Batch, s [][]float64, sh [][]uint8) (value float64, ds [][]float64) {
		ds = ZerosLike(s)
		sums, total := make([]reference.PairSum, len(s)), [2]int64{}
		for q := range s {
			sums[q] = reference.PairLoss(ds[q], s[q], sh[q], &p)
			total[0] += int64(sums[q].Count[0])
			total[1] += int64(sums[q].Count[1])
		}
		for q, r := range sums {
			w := p.Weights(r.Count, total, len(s))
			value += w[0]*r.Loss[0] + w[1]*r.Loss[1]
			for g, l := range sh[q] {
				if l == 0 {
					ds[q][g] *= w[1]
				} else {
					ds[q][g] *= w[0]
				}
			}
		}
		return value, ds
	}
}

// Bins is average precision of a histogram of the scores; see Scored.
func Bins(o reference.Bins) func(*Batch, [][]float64, [][]uint8) (float64, [][]float64) {
	return func(_ *Batch, s [][]float64, sh [][]uint8) (value float64, ds [][]float64) {
		ds = ZerosLike(s)
		counted := 0.0
		for q := range s {
			value += reference.BinLoss(ds[q], s[q], sh[q], o, make([]float64, 6*o.N))
			if HasPositive(sh[q]) {
				counted++
			}
		}
		if counted == 0 {
			return 0, ds
		}
		for _, row := range ds {
			for g := range row {
				row[g] /= counted
			}
		}
		return value / counted, ds
	}
}

// HasPositive reports whether an item of a row shares a level with the query.
func HasPositive(sh []uint8) bool {
	for _, l := range sh {
		if l >= 1 && l != device.AbsentLevel {
			return true
		}
	}
	return false
}

func (d *Scored) add(in *Batch, weight float64, r *Result) {
	query, gallery, to := in.Query, in.Gallery, in.galleryGradient(r)
	if d.Normalise {
		query, gallery = Units(query), Units(gallery)
	}
	value, ds := d.Of(in, products(query, gallery), d.Shared(in))
	r.Value += weight * value
	dq, dg := ZerosLike(query), ZerosLike(to)
	for q := range ds {
		for g, v := range ds[q] {
			for i := range query[q] {
				dq[q][i] += weight * v * gallery[g][i]
				if dg != nil {
					dg[g][i] += weight * v * query[q][i]
				}
			}
		}
	}
	if d.Normalise {
		dq, dg = ThroughUnits(dq, in.Query), ThroughUnits(dg, in.Gallery)
	}
	addTo(r.Query, dq)
	addTo(to, dg)
}

func products(a, b [][]float64) [][]float64 {
	s := Zeros(len(a), len(b))
	for q := range a {
		for g := range b {
			s[q][g] = Dot(a[q], b[g])
		}
	}
	return s
}

// Units divides every row by its length.
func Units(x [][]float64) [][]float64 {
	u := ZerosLike(x)
	for i, row := range x {
		n := norm(row)
		for j, v := range row {
			u[i][j] = v / n
		}
	}
	return u
}

// ThroughUnits returns the gradient by x, given the gradient by the normalised rows of x.
func ThroughUnits(d, x [][]float64) [][]float64 {
	out := Tangent(d, x)
	for i := range d {
		row := x[i]
		n := norm(row)
		for j := range out[i] {
			out[i][j] /= n
		}
	}
	return out
}

// addTo adds x to sum.
func addTo(sum, x [][]float64) {
	for i, row := range x {
		for j, v := range row {
			sum[i][j] += v
		}
	}
}
