package cpu

import (
	"encoding/binary"
	"math"

	"hgld/internal/vec"
	"hgld/train/device"
	"hgld/train/device/reference"
)

// kept is the memory of one worker for a query: numbers and scores of the positives that count, and a
// row for the exponentials where no gradient takes them.
type kept struct {
	items       []int32
	scores, row []float32
}

// multiSimilarity is the PairLoss of that kind for one query; reference.PairLoss defines it. The
// exponentials of the negatives are one run over the row, in which all others are −∞. weight
// multiplies the gradient.
func (k *kept) multiSimilarity(ds, s []float32, sh []uint8, p *reference.Pairs, weight float64) (r reference.PairSum) {
	e := ds
	if ds == nil {
		e = k.row[:len(s)]
	}
	n, least, most := k.positives(s, sh, p)
	if p.Mine {
		n = k.mine(n, p.PosMargin, most)
	}
	negatives := pickNegatives(e, s, sh, p, least)
	if p.Mine && (n == 0 || negatives == 0) {
		clear(ds)
		return r
	}
	r.Count = [2]int32{int32(n), int32(negatives)}
	scale, hardest, slope := [2]float64{-p.PosScale, p.NegScale}, [2]float64{least, most}, [2]float64{}
	for sign, x := range [2][]float32{k.scores[:n], e} {
		top := 0.0 // the 1 in the logarithm is e^0
		if r.Count[sign] > 0 {
			top = max(top, scale[sign]*(hardest[sign]-p.Base))
		}
		sum := math.Exp(-top) + vec.ExpScaled(x, x, p.Base+top/scale[sign], scale[sign])
		r.Loss[sign] = (top + math.Log(sum)) / math.Abs(scale[sign])
		slope[sign] = math.Copysign(weight/sum, scale[sign])
	}
	if ds == nil {
		return r
	}
	vec.ScaleWide(ds, slope[1], ds)
	for i, item := range k.items[:n] {
		ds[item] = float32(slope[0] * float64(k.scores[i]))
	}
	return r
}

// lane is the number of items whose levels are looked at together.
const lane = 8

// areNegatives reports whether the first items of a row are all negatives.
func areNegatives(sh []uint8) bool {
	return len(sh) >= lane && binary.NativeEndian.Uint64(sh) == 0
}

// positives keeps the positives below the ceiling, and returns their number, the least score of them and the
// greatest of a negative.
func (k *kept) positives(s []float32, sh []uint8, p *reference.Pairs) (n int, least, most float64) {
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	items, scores := k.items[:len(s)], k.scores[:len(s)]
	sh = sh[:len(s)]
	for at := 0; at < len(s); at += lane {
		if areNegatives(sh[at:]) {
			for _, x := range (*[lane]float32)(s[at:]) {
				if !(x <= high) { // or one is NaN
					high = max(high, x)
				}
			}
			continue
		}
		for i := at; i < min(at+lane, len(s)); i++ {
			switch x, l := s[i], sh[i]; {
			case l == 0:
				high = max(high, x)
			case l != device.AbsentLevel && float64(x) < p.Ceiling:
				low = min(low, x)
				items[n], scores[n] = int32(i), x
				n++
			}
		}
	}
	return n, float64(low), float64(high)
}

// mine keeps those of n positives that are not above the greatest negative by the margin.
func (k *kept) mine(n int, margin, most float64) (left int) {
	for i, x := range k.scores[:n] {
		if float64(x)-margin < most {
			k.items[left], k.scores[left] = k.items[i], x
			left++
		}
	}
	return left
}

// pickNegatives copies the negatives that count to e, where all other items are −∞. It returns their number.
func pickNegatives(e, s []float32, sh []uint8, p *reference.Pairs, least float64) (n int) {
	none, margin := math.Float32bits(float32(math.Inf(-1))), p.PosMargin
	e, sh = e[:len(s)], sh[:len(s)]
	for at := 0; at < len(s); at += lane {
		if !areNegatives(sh[at:]) {
			for i := at; i < min(at+lane, len(s)); i++ {
				e[i] = math.Float32frombits(none)
				if sh[i] == 0 && (!p.Mine || float64(s[i])+margin > least) {
					e[i] = s[i]
					n++
				}
			}
			continue
		}
		to, from := (*[lane]float32)(e[at:]), (*[lane]float32)(s[at:])
		if !p.Mine {
			*to = *from
			n += lane
			continue
		}
		for i, x := range from { // without a branch, which would be guessed wrongly
			picked, own, one := none, math.Float32bits(x), 0
			if float64(x)+margin > least {
				picked, one = own, 1
			}
			to[i] = math.Float32frombits(picked)
			n += one
		}
	}
	return n
}
