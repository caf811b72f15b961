package reference

import (
	"math"

	"hgld/train/device"
)

// Pairs are the constants of device.Pairs in float64.
type Pairs struct {
	Kind                     device.PairKind // which sum
	Mean                     device.PairMean // over all queries
	PosMargin, NegMargin     float64         // of positives and negatives
	PosScale, NegScale, Base float64         // inverse temperatures and their origin
	Ceiling                  float64         // positives from this score on do not count
	Mine, Easy               bool            // as in device.Pairs
	Smoothing                float64         // Angular: ε
	Margins                  []float64       // Levels: finest first
}

// Set sets p to the result of NewPairs.
func (p *Pairs) Set(o *device.Pairs) {
	*p = Pairs{
		Kind: o.Kind, Mean: o.Mean, PosMargin: float64(o.PosMargin), NegMargin: float64(o.NegMargin),
		PosScale: float64(o.PosScale), NegScale: float64(o.NegScale), Base: float64(o.Base),
		Ceiling: float64(o.Ceiling), Mine: o.Mine, Easy: o.Easy, Smoothing: float64(o.Smoothing), Margins: p.Margins[:0],
	}
	for _, m := range o.Margins {
		p.Margins = append(p.Margins, float64(m))
	}
}

// NewPairs converts o.
func NewPairs(o *device.Pairs) *Pairs {
	p := new(Pairs)
	p.Set(o)
	return p
}

// PairSum is the contribution of a query to the mean: the sums over its positives and its
// negatives, and the number of terms of each. Triplets, and sums that are not over terms, use the
// first.
type PairSum struct {
	Loss  [2]float64 // over positives, over negatives
	Count [2]int32   // number of terms of each
}

// Weights returns the factors of a query's two sums and of their gradients. n is the query's
// count, total that of all Q queries.
func (p *Pairs) Weights(n [2]int32, total [2]int64, queries int) (w [2]float64) {
	for sign := range w {
		switch {
		case p.Mean == device.MeanQueries:
			w[sign] = 1 / float64(queries)
		case p.Mean == device.MeanPairs && n[sign] > 0:
			w[sign] = 1 / float64(n[sign]) / float64(queries)
		case p.Mean == device.MeanTerms && total[sign] > 0:
			w[sign] = 1 / float64(total[sign])
		}
	}
	if p.Kind == device.Triplet || p.Kind == device.EasyTriplet {
		w[1] = w[0]
	}
	return w
}

// PairLoss defines the sums for one query. s [G] and sh [G] are its scores and shared levels. ds
// receives the gradient of the sum without the weights of the mean, and may be nil.
func PairLoss[T float32 | float64](ds []float64, s []T, sh []uint8, p *Pairs) PairSum {
	clear(ds)
	switch p.Kind {
	case device.MultiSimilarity:
		return multiSimilarity(ds, s, sh, p)
	case device.Triplet:
		return triplets(ds, s, sh, p)
	case device.EasyTriplet:
		return easyTriplet(ds, s, sh, p)
	case device.Levels:
		return levelsLoss(ds, s, sh, p)
	case device.Angular, device.Ratio:
		return ofProxies(ds, s, sh, p)
	}
	return contrastive(ds, s, sh, p)
}

// contrastive: hinges, or the scores themselves on the wrong side of a bound.
func contrastive[T float32 | float64](ds []float64, s []T, sh []uint8, p *Pairs) (r PairSum) {
	for i, l := range sh {
		if l == device.AbsentLevel {
			continue
		}
		x, sign, slope := float64(s[i]), 0, -1.0
		if l == 0 {
			sign, slope = 1, 1
		}
		term := p.hinge(x, sign)
		if term > 0 || p.Mean == device.MeanPairs {
			r.Count[sign]++
		}
		if term > 0 {
			r.Loss[sign] += term
			add(ds, i, slope)
		}
	}
	return r
}

// hinge returns the term of one item, 0 if it is not a violation.
func (p *Pairs) hinge(x float64, sign int) float64 {
	if p.Kind == device.Contrastive {
		if sign == 0 {
			return max(p.PosMargin-x, 0)
		}
		return max(x-p.NegMargin, 0)
	}
	switch {
	case sign == 0 && x < p.Ceiling:
		return 1 - x
	case sign == 1 && x > p.NegMargin:
		return x
	}
	return 0
}

func add(ds []float64, i int, v float64) {
	if ds != nil {
		ds[i] += v
	}
}

// multiSimilarity: log(1 + Σ e^(±scale·(s − Base))) / scale of each sign. Sums are relative to
// their greatest term, so that no exponential overflows.
func multiSimilarity[T float32 | float64](ds []float64, s []T, sh []uint8, p *Pairs) (r PairSum) {
	least, most := math.Inf(1), math.Inf(-1)
	for i, l := range sh {
		switch x := float64(s[i]); {
		case l == 0:
			most = max(most, x)
		case l != device.AbsentLevel && x < p.Ceiling:
			least = min(least, x)
		}
	}
	keep := func(i, sign int) bool {
		x := float64(s[i])
		if sign == 0 {
			return sh[i] >= 1 && sh[i] != device.AbsentLevel && x < p.Ceiling && (!p.Mine || x-p.PosMargin < most)
		}
		return sh[i] == 0 && (!p.Mine || x+p.PosMargin > least)
	}
	scale := [2]float64{-p.PosScale, p.NegScale}
	var top, sum [2]float64 // the 1 in the logarithm is e^0
	for sign := range 2 {
		for i := range sh {
			if keep(i, sign) {
				r.Count[sign]++
				top[sign] = max(top[sign], scale[sign]*(float64(s[i])-p.Base))
			}
		}
	}
	if p.Mine && (r.Count[0] == 0 || r.Count[1] == 0) {
		return PairSum{}
	}
	for sign := range 2 {
		sum[sign] = math.Exp(-top[sign])
		for i := range sh {
			if keep(i, sign) {
				sum[sign] += math.Exp(scale[sign]*(float64(s[i])-p.Base) - top[sign])
			}
		}
		r.Loss[sign] = (top[sign] + math.Log(sum[sign])) / math.Abs(scale[sign])
		for i := range sh {
			if keep(i, sign) {
				e := math.Exp(scale[sign]*(float64(s[i])-p.Base) - top[sign])
				add(ds, i, math.Copysign(e/sum[sign], scale[sign]))
			}
		}
	}
	return r
}

// triplets: all pairs of a positive and a negative.
func triplets[T float32 | float64](ds []float64, s []T, sh []uint8, p *Pairs) (r PairSum) {
	margin := T(p.PosMargin)
	for i, l := range sh {
		if l == 0 || l == device.AbsentLevel {
			continue
		}
		for j, m := range sh {
			if m != 0 {
				continue
			}
			if v := s[j] - s[i] + margin; v > 0 {
				r.Loss[0] += float64(v)
				r.Count[0]++
				add(ds, i, -1)
				add(ds, j, 1)
			}
		}
	}
	return r
}

// easyTriplet: the nearest positive and the nearest negative below it.
func easyTriplet[T float32 | float64](ds []float64, s []T, sh []uint8, p *Pairs) (r PairSum) {
	pos, neg := -1, -1
	for i, l := range sh {
		if l >= 1 && l != device.AbsentLevel && (pos < 0 || s[i] > s[pos]) {
			pos = i
		}
	}
	if pos < 0 {
		return r
	}
	for i, l := range sh {
		if l == 0 && s[i] < s[pos] && (neg < 0 || s[i] > s[neg]) {
			neg = i
		}
	}
	if neg < 0 {
		return r
	}
	if v := s[neg] - s[pos] + T(p.PosMargin); v > 0 {
		r.Loss[0], r.Count[0] = float64(v), 1
		add(ds, pos, -1)
		add(ds, neg, 1)
	}
	return r
}
