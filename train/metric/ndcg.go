package metric

import (
	"fmt"
	"math"
)

// NDCG is Σ_i (2^l_i − 1)/log2(1+i) divided by the same sum over the ideal order, in which levels
// fall. With K > 0 both sums end at K; the ideal order is still that of the whole list. It is
// undefined if no item shares a level.
type NDCG struct{ K int }

// Name returns "NDCG" or "NDCG@k".
func (m NDCG) Name() string {
	if m.K == 0 {
		return "NDCG"
	}
	return fmt.Sprintf("NDCG@%d", m.K)
}

// OfList computes the sum over the ideal order.
func (m NDCG) OfList(l *List) Sum {
	end := l.N
	if m.K > 0 {
		end = min(end, m.K)
	}
	d := discountsOf(end)
	n := ndcg{end: end, places: d.places, gains: make([]float64, l.Levels+1)}
	for level := range n.gains {
		n.gains[level] = math.Ldexp(1, level) - 1
	}
	done, ideal := 0, d.ideal
	for level := l.Levels; level > 0 && done < end; level-- {
		upto := min(done+l.Count[level], end)
		if upto > done {
			sum := ideal[upto-1]
			if done > 0 {
				sum -= ideal[done-1]
			}
			n.best += n.gains[level] * sum
		}
		done = upto
	}
	return &n
}

type ndcg struct {
	end    int       // number of places that count
	places []float64 // their discounts
	gains  []float64 // 2^l − 1
	best   float64
}

// AddPart gives every place of a group of equal scores the mean gain of the group.
func (n *ndcg) AddPart(sum float64, p *Part) float64 {
	if p.first >= n.end {
		return sum
	}
	for i, place := range p.places {
		if int(place) >= n.end {
			break
		}
		sum += n.gains[p.shared[i]] * n.places[place]
	}
	for _, g := range p.groups {
		first := int(g.first)
		if first >= n.end {
			break
		}
		if g.size == 1 {
			sum += n.gains[g.level] * n.places[first]
			continue
		}
		gains, at := 0.0, 0.0
		for level, c := range p.of(g) {
			gains += float64(c) * n.gains[level+1]
		}
		for _, d := range n.places[first:min(first+int(g.size), n.end)] {
			at += d
		}
		sum += gains / float64(g.size) * at
	}
	return sum
}

// Value divides by the sum over the ideal order.
func (n *ndcg) Value(sum float64) (float64, bool) {
	if n.best == 0 {
		return 0, false
	}
	return sum / n.best, true
}

func newNDCG(rest string) (Metric, error) {
	if rest == "" {
		return NDCG{}, nil
	}
	k, err := after("@", rest)
	return NDCG{K: k}, err
}
