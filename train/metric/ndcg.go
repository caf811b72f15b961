package metric

import "fmt"

// NDCG is Σ_i (2^l_i − 1)/log2(1+i) divided by the same sum over the ideal order,
// levels falling. With K > 0 both sums end at K, and the ideal is that of the
// first K of the whole list. Undefined where no item shares a level.
type NDCG struct{ K int }

// Name returns "NDCG" or "NDCG@k".
func (m NDCG) Name() string {
	if m.K == 0 {
		return "NDCG"
	}
	return fmt.Sprintf("NDCG@%d", m.K)
}

// OfList gives every place of a group of equal scores its mean gain.
func (m NDCG) OfList(l *List) (float64, bool) {
	end := l.N
	if m.K > 0 {
		end = min(end, m.K)
	}
	d := discountsOf(end)
	places, ideal := d.places, d.ideal
	got := 0.0
	for _, g := range l.groups {
		first := int(g.first)
		if first >= end {
			break
		}
		if g.size == 1 {
			got += gain(int(g.level)) * places[first]
			continue
		}
		sum, at := 0.0, 0.0
		for level, c := range l.of(g) {
			sum += float64(c) * gain(level+1)
		}
		for _, d := range places[first:min(first+int(g.size), end)] {
			at += d
		}
		got += sum / float64(g.size) * at
	}
	best, done := 0.0, 0
	for level := l.Levels; level > 0 && done < end; level-- {
		upto := min(done+l.Count[level], end)
		if upto > done {
			sum := ideal[upto-1]
			if done > 0 {
				sum -= ideal[done-1]
			}
			best += gain(level) * sum
		}
		done = upto
	}
	if best == 0 {
		return 0, false
	}
	return got / best, true
}

// gain is 2^level − 1.
func gain(level int) float64 { return float64(uint64(1)<<level - 1) }

func newNDCG(rest string) (Metric, error) {
	if rest == "" {
		return NDCG{}, nil
	}
	k, err := after("@", rest)
	return NDCG{K: k}, err
}
