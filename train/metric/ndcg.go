package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// NDCG is Σ_i (2^l_i − 1)/log2(1+i) divided by the same sum over the ideal order, in which levels
// fall. With K > 0 both sums end at K; the ideal order is still that of the whole list. It is
// undefined if no item shares a level.
type NDCG struct {
	K      int  // places; 0: all
	Linear bool // the gain is l_i in place of 2^l_i − 1, as in trec_eval and scikit-learn
}

const linear = ":linear"

// Name returns "NDCG" or "NDCG@k", with ":linear" behind it for linear gains.
func (m NDCG) Name() string {
	name := "NDCG"
	if m.K > 0 {
		name = fmt.Sprintf("NDCG@%d", m.K)
	}
	if m.Linear {
		name += linear
	}
	return name
}

// gain is that of an item that shares some levels with the query.
func (m NDCG) gain(shared int) float64 {
	if m.Linear {
		return float64(shared)
	}
	return math.Ldexp(1, shared) - 1
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
		n.gains[level] = m.gain(level)
	}
	if level := onlyLevel(n.gains, l.Count); level > 0 {
		n.gains[level] = 1
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
	gains  []float64 // by the number of shared levels
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
		gains := 0.0
		for level, c := range p.of(g) {
			gains += float64(c) * n.gains[level+1]
		}
		for _, d := range n.places[first:min(first+int(g.size), n.end)] { // in the order of the ideal sum
			sum += gains / float64(g.size) * d
		}
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
	at, found := strings.CutSuffix(rest, linear)
	if at == "" {
		return NDCG{Linear: found}, nil
	}
	k, err := after("@", at)
	return NDCG{k, found}, err
}

// DefineAll returns Σ_{i≤k} gain_i/log₂(i+1) over the same sum of the ideal order.
func (m NDCG) DefineAll(shared []int, _ int) float64 {
	k := cmp.Or(m.K, len(shared))
	ideal := slices.Clone(shared)
	slices.SortFunc(ideal, func(a, b int) int { return b - a })
	gain := func(l int) float64 { return math.Pow(2, float64(l)) - 1 }
	if m.Linear {
		gain = func(l int) float64 { return float64(l) }
	}
	got, best := 0.0, 0.0
	for i := range min(k, len(shared)) {
		got += gain(shared[i]) / math.Log2(float64(i+2))
		best += gain(ideal[i]) / math.Log2(float64(i+2))
	}
	return got / best
}

func (m NDCG) reach(l *List) int {
	if m.K > 0 {
		return min(m.K, l.N)
	}
	return l.N
}
