package definition

import (
	"cmp"
	"math"
	"slices"

	"hgld/train/device"
	"hgld/train/loss"
)

// placesOf returns the place, from 1, of each item among those with at least the level least, by
// falling score; 0 for other items.
func placesOf(s []float64, sh []uint8, least uint8) []float64 {
	var items []int
	for i, l := range sh {
		if l >= least && l != device.AbsentLevel {
			items = append(items, i)
		}
	}
	slices.SortStableFunc(items, func(a, b int) int { return cmp.Compare(s[b], s[a]) })
	rank := make([]float64, len(s))
	for at, i := range items {
		rank[i] = float64(at + 1)
	}
	return rank
}

// interpolated returns the gradient that replaces that of the ranks, divided by the number of
// items n. d is the derivative of the loss by the rank.
func interpolated(s, d []float64, sh []uint8, lambda float64) []float64 {
	rank, n := placesOf(s, sh, 0), 0.0
	for _, r := range rank {
		n = max(n, r)
	}
	moved := slices.Clone(s)
	for i := range s {
		moved[i] += lambda * n * d[i]
	}
	ds := make([]float64, len(s))
	if n == 0 { // no item
		return ds
	}
	for i, r := range placesOf(moved, sh, 0) {
		ds[i] = (r - rank[i]) / n / (lambda + 1e-8) // the authors' guard against λ = 0
	}
	return ds
}

// behind returns the scores moved by half the margin, positives down and others up, times an
// amplitude if there are any.
func behind(s []float64, sh []uint8, margin float64, amplitude []float64) []float64 {
	out := slices.Clone(s)
	for i, l := range sh {
		by := -margin / 2
		if l == 1 {
			by = margin / 2
		}
		if amplitude != nil {
			by *= amplitude[i]
		}
		out[i] -= by
	}
	return out
}

// blackBoxAPOf is the mean over the queries with a positive. past holds the losses of those of each batch
// in the memory.
func blackBoxAPOf(k loss.BlackBoxAP, drawn [][]float64, past *[][]float64) func([][]float64, [][]uint8) (float64,
	[][]float64) {
	return func(s [][]float64, sh [][]uint8) (value float64, ds [][]float64) {
		ds = ZerosLike(s)
		before := slices.Concat(*past...)
		counted := float64(len(before))
		for q := range s {
			if hasPositive(sh[q]) {
				counted++
			}
		}
		for _, v := range before {
			value += v / counted
		}
		now := []float64{}
		for q := range s {
			if !hasPositive(sh[q]) {
				continue
			}
			var amplitude []float64
			if k.MarginKind == loss.HalfNormal {
				amplitude = drawn[q]
			}
			moved := behind(s[q], sh[q], k.Margin, amplitude)
			all, plus, d := placesOf(moved, sh[q], 0), placesOf(moved, sh[q], 1), make([]float64, len(s[q]))
			z, own := slices.Max(plus)+k.Epsilon, 1.0
			for i, p := range plus {
				if p > 0 {
					own -= p / all[i] / z
					d[i] = p / (z * all[i] * all[i]) / counted
				}
			}
			value += own / counted
			now = append(now, own)
			ds[q] = interpolated(moved, d, sh[q], k.Lambda)
		}
		*past = append([][]float64{now}, *past...)
		*past = (*past)[:min(len(*past), k.BatchMemory)]
		return value, ds
	}
}

// BlackBoxAP returns the loss of one step of BlackBoxAP with a memory. past holds the losses of the
// queries with a positive of each batch in the memory. The step adds its own batch.
func BlackBoxAP(k loss.BlackBoxAP, in *Batch, past *[][]float64) Result {
	d := scored{Ranking: Ranking{from: k.Level, to: k.Level + 1, self: selfOf(k.GalleryOptions)},
		of: blackBoxAPOf(k, in.Draws(), past)}
	r := Result{Query: ZerosLike(in.Query)}
	d.add(in, 1, &r)
	return r
}

// ramboRecallOf is the mean over the positives, or over the queries. past holds, for each query of each
// batch in the memory, how many negatives are ahead of each positive.
func ramboRecallOf(k loss.RamboRecall, past *[][][]float64) func([][]float64, [][]uint8) (float64, [][]float64) {
	return func(s [][]float64, sh [][]uint8) (value float64, ds [][]float64) {
		ds = ZerosLike(s)
		scale := 1.0
		if k.ScaleByRows {
			scale = float64(len(s)*(1+len(*past))) / float64(len(s)-1)
		}
		moved, now := make([][]float64, len(s)), make([][]float64, len(s))
		for q := range s {
			moved[q] = behind(s[q], sh[q], k.Margin, nil)
			all := placesOf(moved[q], sh[q], 0)
			for i, p := range placesOf(moved[q], sh[q], 1) {
				if p > 0 {
					now[q] = append(now[q], all[i]-p)
				}
			}
		}
		rows, queries, positives := slices.Concat(now, slices.Concat(*past...)), 0.0, 0.0
		for _, ahead := range rows {
			positives += float64(len(ahead))
			queries += float64(min(len(ahead), 1))
		}
		weight := func(ahead []float64) float64 {
			if k.Mean == loss.OverQueries {
				return 1 / (queries * float64(len(ahead)))
			}
			return 1 / positives
		}
		for _, ahead := range rows {
			for _, r := range ahead {
				v, _ := recallWeight(k, scale*r)
				value += v * weight(ahead)
			}
		}
		for q := range s {
			all, d := placesOf(moved[q], sh[q], 0), make([]float64, len(s[q]))
			for i, p := range placesOf(moved[q], sh[q], 1) {
				if p > 0 {
					_, slope := recallWeight(k, scale*(all[i]-p))
					d[i] = scale * slope * weight(now[q])
				}
			}
			ds[q] = interpolated(moved[q], d, sh[q], k.Lambda)
		}
		*past = append([][][]float64{now}, *past...)
		*past = (*past)[:min(len(*past), k.BatchMemory)]
		return value, ds
	}
}

// recallWeight returns f(r) of RamboRecall and its slope.
func recallWeight(k loss.RamboRecall, r float64) (v, slope float64) {
	if len(k.Weights) > 0 {
		for i, w := range k.Weights {
			switch K := float64(i + 1); {
			case K <= r:
				v += w
			case K == r+1:
				slope = w
			}
		}
		return v, slope
	}
	v, slope = math.Log1p(r), 1/(1+r)
	if k.Weight == loss.LogLog {
		v, slope = math.Log1p(v), slope/(1+v)
	}
	return v, slope
}

// RamboRecall returns the loss of one step of RamboRecall with a memory. past holds, for each query of
// each batch in the memory, how many negatives are ahead of each positive. The step adds its own
// batch.
func RamboRecall(k loss.RamboRecall, in *Batch, past *[][][]float64) Result {
	d := scored{Ranking: Ranking{from: k.Level, to: k.Level + 1, self: selfOf(k.GalleryOptions)},
		of: ramboRecallOf(k, past)}
	r := Result{Query: ZerosLike(in.Query)}
	d.add(in, 1, &r)
	return r
}
