package cpu

import (
	"bytes"
	"math"

	"hgld/train/device"
)

// Relevance writes the relevance table rel [Q,L+1], the counts cnt [Q,L+1] and the weights [Q]
// of the average over queries. The relevance of level 0 is 0. With RelPop, so is that of a
// level without items.
func (b *Backend) Relevance(rel, cnt, weight, sh device.Array, o device.RelKind) {
	if !device.FitsRanking(sh, rel) || cnt.N != 2 || cnt.Dims != rel.Dims || weight.Len() != sh.Rows() ||
		o.Mode == device.RelMap && len(o.Weights) < rel.Cols()-1 {
		panic(shapes("Relevance", rel, cnt, weight, sh))
	}
	split(b, sh.Rows(), 8, relevanceTask{rel, cnt, sh, o})
	queryWeights(f32(weight), cnt, o.AllQ)
}

// queryWeights writes 1/(queries with a positive), or 1/Q for all if allQ.
func queryWeights(weight []float32, cnt device.Array, allQ bool) {
	with := 0
	for q := range weight {
		weight[q] = 0
		for _, n := range row(i32(cnt), cnt, q)[1:] {
			if n > 0 {
				weight[q] = 1
			}
		}
		with += int(weight[q])
	}
	if allQ {
		with = len(weight)
	}
	for q, w := range weight {
		if w == 1 || allQ {
			weight[q] = 1 / float32(with)
		}
	}
}

type relevanceTask struct {
	rel, cnt, sh device.Array
	o            device.RelKind
}

func (t *relevanceTask) span(_, lo, hi int) {
	for q := lo; q < hi; q++ {
		cnt := row(i32(t.cnt), t.cnt, q)
		sh := row(u8(t.sh), t.sh, q)
		for l := range cnt {
			cnt[l] = int32(bytes.Count(sh, []byte{uint8(l)}))
		}
		relevances(row(f32(t.rel), t.rel, q), cnt, t.o)
	}
}

// relevances computes rel [L+1] from the number of items at each level.
func relevances(rel []float32, count []int32, o device.RelKind) {
	top := len(rel) - 1
	n := func(l int) int32 {
		if l == top && o.CountSelf {
			return count[l] + 1
		}
		return count[l]
	}
	rel[0] = 0
	switch o.Mode {
	case device.RelBinary:
		for l := 1; l <= top; l++ {
			rel[l] = 1
		}
	case device.RelPop:
		for l := 1; l <= top; l++ {
			rel[l] = 0
			if n(l) > 0 {
				rel[l] = float32(math.Pow(float64(l)/float64(o.Divisor), float64(o.Alpha)) / float64(n(l)))
			}
		}
	case device.RelMap:
		atLeast := int32(0)
		for l := 1; l <= top; l++ {
			atLeast += n(l)
		}
		sum := 0.0
		for l := 1; l <= top; l++ {
			if atLeast > 0 {
				sum += float64(o.Weights[l-1]) / float64(atLeast)
			}
			atLeast -= n(l)
			rel[l] = float32(sum)
		}
	}
}
