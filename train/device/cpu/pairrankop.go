package cpu

import "hgld/train/device"

// pairTask is one query of PairRank or PairRankGrad.
type pairTask struct {
	grad                 bool
	out1, out2           device.Array // rank, plus, or ds
	in1, in2, s, sh, rel device.Array // in: drank, dplus
	h                    *Steps
	room                 []float64
}

// PairRank computes rank and plus by the definition, in O(P·G) for each query.
// plus may be absent.
func (b *Backend) PairRank(rank, plus, s, sh, rel device.Array, h *device.Steps) {
	checkRank("PairRank", sh, rel, s, rank, plus)
	b.pairs(pairTask{out1: rank, out2: plus, s: s, sh: sh, rel: rel}, h)
}

// PairRankGrad computes ds by the definition. dplus may be absent.
func (b *Backend) PairRankGrad(ds, drank, dplus, s, sh, rel device.Array, h *device.Steps) {
	checkRank("PairRankGrad", sh, rel, s, ds, drank, dplus)
	b.pairs(pairTask{grad: true, out1: ds, in1: drank, in2: dplus, s: s, sh: sh, rel: rel}, h)
}

func (b *Backend) pairs(t pairTask, h *device.Steps) {
	t.h = &scratch[Steps](b, "pairrank.steps", 1)[0]
	t.h.set(h)
	t.room = scratch[float64](b, "pairrank", b.Threads()*(3*t.s.Cols()+t.rel.Cols()))
	split(b, t.s.Rows(), 1, t)
}

func (t *pairTask) span(worker, lo, hi int) {
	g, n := t.s.Cols(), t.rel.Cols()
	room := t.room[worker*(3*g+n):]
	x, y, z, rel := room[:g], room[g:2*g], room[2*g:3*g], room[3*g:3*g+n]
	for q := lo; q < hi; q++ {
		s, sh := row(f32(t.s), t.s, q), row(u8(t.sh), t.sh, q)
		widen(rel, row(f32(t.rel), t.rel, q))
		if t.grad {
			widen(y, row(f32(t.in1), t.in1, q))
			clear(z)
			if !t.in2.Absent() {
				widen(z, row(f32(t.in2), t.in2, q))
			}
			PairRankGrad(x, y, z, s, sh, rel, t.h)
		} else {
			PairRank(x, y, s, sh, rel, t.h)
			if !t.out2.Absent() {
				narrow(row(f32(t.out2), t.out2, q), y)
			}
		}
		narrow(row(f32(t.out1), t.out1, q), x)
	}
}

// checkRank panics unless rel is a matrix with a row for each query and the
// others are as large as sh. Absent arrays are passed over.
func checkRank(op string, sh, rel device.Array, others ...device.Array) {
	fits := sh.N == 2 && rel.N == 2 && rel.Dims[0] == sh.Dims[0] && rel.Dims[1] >= 2 &&
		rel.Dims[1] <= device.AbsentLevel
	for _, a := range others {
		fits = fits && (a.Absent() || a.N == 2 && a.Dims == sh.Dims)
	}
	if !fits {
		panic(shapes(op, append([]device.Array{sh, rel}, others...)...))
	}
}

// row returns row i of a matrix a whose elements are x.
func row[T any](x []T, a device.Array, i int) []T { return x[i*a.Ld : i*a.Ld+a.Dims[1]] }

func widen(dst []float64, src []float32) {
	for i, v := range src {
		dst[i] = float64(v)
	}
}

func narrow(dst []float32, src []float64) {
	for i, v := range src {
		dst[i] = float32(v)
	}
}
