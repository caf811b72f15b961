package metric

import (
	"fmt"
	"math"
	"strings"
)

// HRecall is hierarchical recall (Ramzi et al., "Optimization of Rank Losses", Eq. 30): the share of
// all relevance that is among the first k items,
//
//	H-R@k = Σ_{j≤k} rel_j / Σ_j rel_j
//
// With one level it is the share of the positives among the first k. It is undefined if all
// relevances are zero.
type HRecall struct {
	K         int       // places
	Relevance Relevance // nil: Pop{Alpha: 1}, as for H-AP
	Label     string    // appended to the name after a colon
}

// Name returns "H-R@k", or "H-R@k:label".
func (m HRecall) Name() string { return labelled(fmt.Sprintf("H-R@%d", m.K), m.Label) }

// OfList computes the relevances.
func (m HRecall) OfList(l *List) Sum {
	return &hrecall{relevances: relevancesOf(m.Relevance, l), k: m.K}
}

// relevances are those of a query's items by level.
type relevances struct {
	rel   []float64
	total float64 // Σ_k rel_k
}

// orPop returns the relevance of a metric that names none.
func orPop(r Relevance) Relevance {
	if r == nil {
		return Pop{Alpha: 1}
	}
	return r
}

func relevancesOf(r Relevance, l *List) relevances {
	t := relevances{rel: make([]float64, l.Levels+1)}
	orPop(r).Fill(t.rel, l.Count)
	if level := onlyLevel(t.rel, l.Count); level > 0 {
		t.rel[level] = 1
	}
	for level, n := range l.Count[1:] {
		t.total += t.rel[level+1] * float64(n)
	}
	return t
}

// onlyLevel returns the level of all items with a weight, if there is just one, or 0. As only ratios of weights matter,
// its weight may be 1. This makes the sums exact, and the value of a ranking of one class, whereas 49·(1/49) is not 1.
func onlyLevel(weights []float64, count []int) (only int) {
	for level, n := range count {
		switch {
		case n == 0 || weights[level] == 0:
		case only > 0:
			return 0
		default:
			only = level
		}
	}
	return only
}

type hrecall struct {
	relevances
	k int
}

// AddPart adds the relevance within the first k. A group of equal scores that reaches beyond them
// counts in proportion.
func (h *hrecall) AddPart(sum float64, p *Part) float64 {
	for i, place := range p.places {
		if int(place) >= h.k {
			break
		}
		sum += h.rel[p.shared[i]]
	}
	for _, g := range p.groups {
		within := min(int(g.size), h.k-int(g.first))
		if within <= 0 {
			break
		}
		if g.size == 1 {
			sum += h.rel[g.level]
			continue
		}
		all := 0.0
		for a, c := range p.of(g) {
			all += float64(c) * h.rel[a+1]
		}
		sum += all * float64(within) / float64(g.size)
	}
	return sum
}

// Value divides by Σ rel.
func (h *hrecall) Value(sum float64) (float64, bool) {
	if h.total == 0 {
		return 0, false
	}
	return sum / h.total, true
}

// HPrecision is hierarchical precision (Eq. 31),
//
//	H-P@k = Σ_{j≤k} min(rel_j, rel_k) / (k·rel_k)
//
// so that H-AP = Σ_k (H-R@k − H-R@(k−1))·H-P@k. Where the k-th item has no relevance, the paper's
// fraction is 0/0; its limit for a falling rel_k is taken, the share of the first k items that have
// relevance. With one level it is P@k. It is undefined if all relevances are zero.
type HPrecision struct {
	K         int       // places
	Relevance Relevance // nil: Pop{Alpha: 1}, as for H-AP
	Label     string    // appended to the name after a colon
}

// Name returns "H-P@k", or "H-P@k:label".
func (m HPrecision) Name() string { return labelled(fmt.Sprintf("H-P@%d", m.K), m.Label) }

// OfList computes the relevances.
func (m HPrecision) OfList(l *List) Sum {
	return &hprecision{relevances: relevancesOf(m.Relevance, l), k: m.K}
}

type hprecision struct {
	relevances
	k int
}

// AddPart gives the value if the k-th place is in the part, or the list ends with it. In a group of
// equal scores it is the mean over the orders, as in hap.AddPart.
func (h *hprecision) AddPart(sum float64, p *Part) float64 {
	if h.k <= p.first || h.k > p.end && p.end < p.N {
		return sum
	}
	before := make([]float64, p.Levels) // items ahead of the k-th, by level
	for a, n := range p.before[1:] {
		before[a] = float64(n)
	}
	for i, place := range p.places {
		if int(place) >= h.k-1 {
			if int(place) == h.k-1 {
				return sum + h.at(before, h.rel[p.shared[i]])
			}
			break
		}
		before[p.shared[i]-1]++
	}
	for _, g := range p.groups {
		inside := make([]float64, p.Levels)
		if g.size == 1 {
			inside[g.level-1] = 1
		} else {
			for a, c := range p.of(g) {
				inside[a] = float64(c)
			}
		}
		if int(g.first) > h.k-1 {
			break
		}
		if int(g.first)+int(g.size) < h.k {
			for a, c := range inside {
				before[a] += c
			}
			continue
		}
		return sum + h.inGroup(before, inside, int(g.size), h.k-1-int(g.first))
	}
	return sum + h.at(before, 0)
}

// at returns the value if the k-th item has the relevance r, and before counts those ahead of it.
func (h *hprecision) at(before []float64, r float64) float64 {
	if r == 0 {
		return h.relevant(before) / float64(h.k)
	}
	return (r + overlap(r, h.rel, before)) / (float64(h.k) * r)
}

// inGroup is the mean of at over the orders of a group of size items, ahead of which are before and
// ahead of whose item at the k-th place are ahead of its own.
func (h *hprecision) inGroup(before, inside []float64, size, ahead int) float64 {
	k, share := float64(h.k), 0.0
	if size > 1 {
		share = float64(ahead) / float64(size-1)
	}
	sum, others := 0.0, float64(size)
	for a, c := range inside {
		r := h.rel[a+1]
		if c == 0 || r == 0 {
			continue
		}
		others -= c
		sum += c * (r + overlap(r, h.rel, before) + share*(overlap(r, h.rel, inside)-r)) / (k * r)
	}
	sum += others * (h.relevant(before) + share*h.relevant(inside)) / k
	return sum / float64(size)
}

// relevant counts the items with relevance.
func (h *hprecision) relevant(items []float64) (n float64) {
	for a, c := range items {
		if h.rel[a+1] > 0 {
			n += c
		}
	}
	return n
}

// Value is the sum, to which only one part has added.
func (h *hprecision) Value(sum float64) (float64, bool) { return sum, h.total > 0 }

// labelled appends a label to the name of a metric.
func labelled(name, label string) string {
	if label == "" {
		return name
	}
	return name + ":" + label
}

// newHAt reads "@k" or "@k:relevance".
func newHAt(build func(k int, r Relevance, label string) Metric) func(string) (Metric, error) {
	return func(rest string) (Metric, error) {
		at, label, found := strings.Cut(rest, ":")
		k, err := after("@", at)
		if err != nil {
			return nil, err
		}
		var r Relevance
		if found {
			if r, err = relevanceNamed(label); err != nil {
				return nil, err
			}
		}
		return build(k, r, label), nil
	}
}

// relevancesByItem returns the relevance of every item, and their sum.
func relevancesByItem(r Relevance, shared []int, levels int) (rel []float64, total float64) {
	count, of := make([]int, levels+1), make([]float64, levels+1)
	for _, l := range shared {
		count[l]++
	}
	orPop(r).Fill(of, count)
	for _, l := range shared {
		rel, total = append(rel, of[l]), total+of[l]
	}
	return rel, total
}

// DefineAll returns the relevance of the first k items over that of all.
func (m HRecall) DefineAll(shared []int, levels int) float64 {
	rel, total := relevancesByItem(m.Relevance, shared, levels)
	sum := 0.0
	for _, r := range rel[:min(m.K, len(rel))] {
		sum += r
	}
	return sum / total
}

func (m HRecall) reach(l *List) int { return min(m.K, l.N) }

// DefineAll returns the formula of HPrecision; for an item without relevance, the share of the items ahead
// that have some.
func (m HPrecision) DefineAll(shared []int, levels int) float64 {
	rel, total := relevancesByItem(m.Relevance, shared, levels)
	own, sum := 0.0, 0.0
	if m.K <= len(rel) {
		own = rel[m.K-1]
	}
	for _, r := range rel[:min(m.K, len(rel))] {
		switch {
		case own > 0:
			sum += min(r, own) / own
		case r > 0:
			sum++
		}
	}
	if total == 0 {
		return math.NaN()
	}
	return sum / float64(m.K)
}

func (m HPrecision) reach(l *List) int { return min(m.K, l.N) }
