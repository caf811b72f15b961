package cpu

import (
	"hgld/train/device"
	"hgld/train/device/reference"
)

// PairLoss computes the sums of each query, then the divisors of their means, then scales sums
// and gradients, unless their factor is known before.
func (b *Backend) PairLoss(loss, cnt, ds, s, sh device.Array, o *device.Pairs) {
	if !device.AreMatrices(sh, s, ds) || loss.Len() != sh.Rows() || cnt.N != 2 || cnt.Rows() != sh.Rows() ||
		cnt.Cols() != 2 {
		panic(shapes("PairLoss", loss, cnt, ds, s, sh))
	}
	p := &scratch[reference.Pairs](b, "pairloss.pairs", 1)[0]
	p.Set(o)
	sums := scratch[reference.PairSum](b, "pairloss.sums", sh.Rows())
	t, n := pairSumTask{ds: ds, s: s, sh: sh, pairs: p, sums: sums, weight: 1}, b.Threads()*sh.Cols()
	if o.Kind == device.MultiSimilarity {
		t.kept = kept{scratch[int32](b, "pairloss.items", n), scratch[float32](b, "pairloss.scores", n),
			scratch[float32](b, "pairloss.exponentials", n)}
		if o.Mean == device.MeanQueries { // known before the sums are
			t.weight, ds = 1/float64(sh.Rows()), device.Array{}
		}
	} else {
		t.grads = scratch[float64](b, "pairloss.row", n)
	}
	split(b, sh.Rows(), 1, t)
	var total [2]int64
	for q, r := range sums {
		copy(row(i32(cnt), cnt, q), r.Count[:])
		total[0] += int64(r.Count[0])
		total[1] += int64(r.Count[1])
	}
	split(b, sh.Rows(), 1, pairMeanTask{loss: loss, ds: ds, sh: sh, pairs: p, sums: sums, total: total})
}

type pairSumTask struct {
	ds, s, sh device.Array
	pairs     *reference.Pairs
	sums      []reference.PairSum
	weight    float64   // of the gradient
	kept      kept      // of all workers; MultiSimilarity
	grads     []float64 // of all workers; the other kinds
}

func (t *pairSumTask) span(worker, lo, hi int) {
	g := t.sh.Cols()
	for q := lo; q < hi; q++ {
		s, sh := row(f32(t.s), t.s, q), row(u8(t.sh), t.sh, q)
		if t.pairs.Kind == device.MultiSimilarity {
			var ds []float32
			if !t.ds.Absent() {
				ds = row(f32(t.ds), t.ds, q)
			}
			own := kept{t.kept.items[worker*g:][:g], t.kept.scores[worker*g:][:g], t.kept.row[worker*g:][:g]}
			t.sums[q] = own.multiSimilarity(ds, s, sh, t.pairs, t.weight)
			continue
		}
		if t.ds.Absent() {
			t.sums[q] = reference.PairLoss(nil, s, sh, t.pairs)
			continue
		}
		grad := t.grads[worker*g:][:g]
		t.sums[q] = reference.PairLoss(grad, s, sh, t.pairs)
		narrow(row(f32(t.ds), t.ds, q), grad)
	}
}

type pairMeanTask struct {
	loss, ds, sh device.Array
	pairs        *reference.Pairs
	sums         []reference.PairSum
	total        [2]int64
}

func (t *pairMeanTask) span(_, lo, hi int) {
	for q := lo; q < hi; q++ {
		r := t.sums[q]
		w := t.pairs.Weights(r.Count, t.total, t.sh.Rows())
		f32(t.loss)[q] = float32(w[0]*r.Loss[0] + w[1]*r.Loss[1])
		if t.ds.Absent() {
			continue
		}
		ds := row(f32(t.ds), t.ds, q)
		for i, l := range row(u8(t.sh), t.sh, q) {
			sign := 0
			if l == 0 {
				sign = 1
			}
			ds[i] = float32(w[sign] * float64(ds[i]))
		}
	}
}
