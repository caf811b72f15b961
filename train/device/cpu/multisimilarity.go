package cpu

import (
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// kept is the memory of one worker for the items of a query that count: their numbers and scores.
type kept struct {
	items  []int32
	scores []float32
}

// multiSimilarity is the PairLoss of that kind for one query; reference.PairLoss defines it. It
// copies the scores that count, so that their exponentials are one run.
func (k *kept) multiSimilarity(ds, s []float32, sh []uint8, p *reference.Pairs) (r reference.PairSum) {
	clear(ds)
	least, most := extremes(s, sh, p)
	n := k.keep(s, sh, p, least, most)
	positives, negatives := n[0], n[1]
	if p.Mine && (positives == 0 || negatives == 0) {
		return r
	}
	first := [2]int{0, len(k.items) - negatives}
	scale := [2]float64{-p.PosScale, p.NegScale}
	for sign := range 2 {
		r.Count[sign] = int32(n[sign])
		items, e := k.items[first[sign]:][:n[sign]], k.scores[first[sign]:][:n[sign]]
		top := 0.0 // the 1 in the logarithm is e^0
		for _, x := range e {
			top = max(top, scale[sign]*(float64(x)-p.Base))
		}
		sum := math.Exp(-top) + vec.ExpScaled(e, e, p.Base+top/scale[sign], scale[sign])
		r.Loss[sign] = (top + math.Log(sum)) / math.Abs(scale[sign])
		if ds == nil {
			continue
		}
		slope := math.Copysign(1/sum, scale[sign])
		for i, item := range items {
			ds[item] = float32(slope * float64(e[i]))
		}
	}
	return r
}

// extremes returns the least score of a positive and the greatest of a negative.
func extremes(s []float32, sh []uint8, p *reference.Pairs) (least, most float64) {
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	sh = sh[:len(s)]
	for i, x := range s {
		switch l := sh[i]; {
		case l == 0:
			high = max(high, x)
		case l != device.AbsentLevel && float64(x) < p.Ceiling:
			low = min(low, x)
		}
	}
	return float64(low), float64(high)
}

// keep copies the positives that count from the beginning and the negatives from the end, in
// order, and returns the number of each.
func (k *kept) keep(s []float32, sh []uint8, p *reference.Pairs, least, most float64) (n [2]int) {
	items, scores := k.items[:len(s)], k.scores[:len(s)]
	sh = sh[:len(s)]
	from := len(s)
	for i := len(s) - 1; i >= 0; i-- { // the negatives, so that they stand in order
		if sh[i] != 0 {
			continue
		}
		if x := s[i]; !p.Mine || float64(x)+p.PosMargin > least {
			from--
			items[from], scores[from] = int32(i), x
		}
	}
	for i, l := range sh {
		if l == 0 || l == device.AbsentLevel {
			continue
		}
		if x := float64(s[i]); x < p.Ceiling && (!p.Mine || x-p.PosMargin < most) {
			items[n[0]], scores[n[0]] = int32(i), s[i]
			n[0]++
		}
	}
	n[1] = len(s) - from
	return n
}
