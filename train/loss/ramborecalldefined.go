package loss

import (
	"math"
	"slices"

	"hgld/train/loss/definition"
)

// Define returns the mean over the positives, or over the queries.
func (l RamboRecall) Define(*definition.Batch) definition.Definition {
	return &definition.Scored{Compared: l.GalleryOptions.at(l.Level), Of: l.define()}
}

// define returns the value over all queries. It remembers the batches that it has seen.
func (l RamboRecall) define() func(*definition.Batch, [][]float64, [][]uint8) (float64, [][]float64) {
	past := new([][][]float64) // for each query of each batch in the memory, the negatives ahead of each positive
	return func(_ *definition.Batch, s [][]float64, sh [][]uint8) (value float64, ds [][]float64) {
		ds = definition.ZerosLike(s)
		scale := 1.0
		if l.ScaleByRows {
			scale = float64(len(s)*(1+len(*past))) / float64(len(s)-1)
		}
		moved, now := make([][]float64, len(s)), make([][]float64, len(s))
		for q := range s {
			moved[q] = definition.Behind(s[q], sh[q], l.Margin, nil)
			all := definition.Places(moved[q], sh[q], 0)
			for i, p := range definition.Places(moved[q], sh[q], 1) {
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
			if l.Mean == OverQueries {
				return 1 / (queries * float64(len(ahead)))
			}
			return 1 / positives
		}
		for _, ahead := range rows {
			for _, r := range ahead {
				v, _ := l.weight(scale * r)
				value += v * weight(ahead)
			}
		}
		for q := range s {
			all, d := definition.Places(moved[q], sh[q], 0), make([]float64, len(s[q]))
			for i, p := range definition.Places(moved[q], sh[q], 1) {
				if p > 0 {
					_, slope := l.weight(scale * (all[i] - p))
					d[i] = scale * slope * weight(now[q])
				}
			}
			ds[q] = definition.Interpolated(moved[q], d, sh[q], l.Lambda)
		}
		*past = append([][][]float64{now}, *past...)
		*past = (*past)[:min(len(*past), l.BatchMemory)]
		return value, ds
	}
}

// weight returns f(r) of RamboRecall and its slope.
func (l RamboRecall) weight(r float64) (v, slope float64) {
	if len(l.Weights) > 0 {
		for i, w := range l.Weights {
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
	if l.Weight == LogLog {
		v, slope = math.Log1p(v), slope/(1+v)
	}
	return v, slope
}
