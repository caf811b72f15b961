package metric

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/registry"
)

// HAP is hierarchical average precision (Ramzi et al., "Hierarchical Average
// Precision Training", ECCV 2022, Eq. 3):
//
//	H-AP = Σ_k [Σ_{i≤k} min(rel_i, rel_k)] / k / Σ_k rel_k   over the k with rel_k > 0
//
// Items are distinguished by level, not by relevance. The released evaluator counts items twice
// if two levels have equal relevance. H-AP is undefined if all relevances are zero.
type HAP struct {
	Relevance Relevance // nil: Pop{Alpha: 1}, as in the papers
	Label     string    // appended to the name after a colon
}

// Name returns "H-AP", or "H-AP:label".
func (m HAP) Name() string { return labelled("H-AP", m.Label) }

// OfList computes the relevances.
func (m HAP) OfList(l *List) Sum {
	h := &hap{relevances: relevancesOf(m.Relevance, l)}
	if l.Levels > few {
		return h
	}
	for level, r := range h.rel {
		for a, other := range h.rel[1:] {
			h.shares[level][a] = min(r, other)
		}
	}
	return h
}

type hap struct {
	relevances
	shares [few + 1][few]float64 // min(rel, rel') for each two levels, if there are few
}

// few is the greatest number of levels that are added up without a loop.
const few = 4

// AddPart walks the positives. In a group of t equal scores, place s holds an item of level l
// with probability c_l/t, and the s−1 places before it are a fair sample of the rest of the
// group.
func (h *hap) AddPart(sum float64, p *Part) float64 {
	switch {
	case h.total == 0:
		return 0
	case p.single && p.Levels <= few:
		return h.addFew(sum, p)
	}
	before := make([]float64, p.Levels) // items ranked before the group, by level
	for a, n := range p.before[1:] {
		before[a] = float64(n)
	}
	one := func(place int32, level int) {
		if r := h.rel[level]; r > 0 {
			sum += (r + overlap(r, h.rel, before)) / float64(place+1)
		}
		before[level-1]++
	}
	for i, place := range p.places {
		one(place, int(p.shared[i]))
	}
	for _, g := range p.groups {
		if g.size == 1 {
			one(g.first, int(g.level))
			continue
		}
		inside := make([]float64, p.Levels)
		for a, c := range p.of(g) {
			inside[a] = float64(c)
		}
		for a, c := range inside {
			if r := h.rel[a+1]; c > 0 && r > 0 {
				sum += c * along(g, r+overlap(r, h.rel, before), overlap(r, h.rel, inside)-r)
			}
		}
		for a, c := range inside {
			before[a] += c
		}
	}
	return sum
}

// addFew adds Σ_k [Σ_{i≤k} min(rel_i, rel_k)] / k if every positive is a group of one and there
// are few levels. It adds in the same order as AddPart, with 0 for absent levels.
func (h *hap) addFew(sum float64, p *Part) float64 {
	var before [few]float64
	for a, n := range p.before[1:] {
		before[a] = float64(n)
	}
	b0, b1, b2, b3 := before[0], before[1], before[2], before[3]
	shared := p.shared[:len(p.places)]
	for i, place := range p.places {
		level := shared[i]
		if r := h.rel[level]; r > 0 {
			s := &h.shares[level]
			ahead := s[0]*b0 + s[1]*b1 + s[2]*b2 + s[3]*b3
			sum += (r + ahead) / float64(place+1)
		}
		one := &ones[level]
		b0, b1, b2, b3 = b0+one[0], b1+one[1], b2+one[2], b3+one[3]
	}
	return sum
}

// ones[l] is what an item of level l adds to the number of items of levels 1 to few. Reading a
// constant does not wait for the previous addition, as counting in memory would.
var ones = [few + 1][few]float64{{}, {1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}

// Value divides by Σ_k rel_k.
func (h *hap) Value(sum float64) (float64, bool) {
	if h.total == 0 {
		return 0, false
	}
	return sum / h.total, true
}

// overlap returns Σ min(r, rel) over items given by their number at each level.
func overlap(r float64, rel, items []float64) float64 {
	sum := 0.0
	for a, n := range items {
		sum += min(r, rel[a+1]) * n
	}
	return sum
}

// along returns the mean over the places i of a group of (fixed + the share of inside before
// i)/i.
func along(g group, fixed, inside float64) float64 {
	sum, first, size := 0.0, int(g.first), int(g.size)
	for s := range size {
		sum += (fixed + inside*float64(s)/float64(size-1)) / float64(first+s+1)
	}
	return sum / float64(size)
}

// newHAP reads "" or ":relevance".
func newHAP(rest string) (Metric, error) {
	if rest == "" {
		return HAP{}, nil
	}
	label := strings.TrimPrefix(rest, ":")
	r, err := relevanceNamed(label)
	if err != nil {
		return nil, err
	}
	return HAP{Relevance: r, Label: label}, nil
}

// relevanceNamed reads "name" or "name^alpha", where name is in Relevances, or "map:w:w…" with a
// weight for each level, finest first.
func relevanceNamed(label string) (Relevance, error) {
	if list, found := strings.CutPrefix(label, "map:"); found {
		return weightedMap(list)
	}
	name, exponent, found := strings.Cut(label, "^")
	alpha := 1.0
	if found {
		var err error
		if alpha, err = strconv.ParseFloat(exponent, 64); err != nil || alpha <= 0 {
			return nil, fmt.Errorf("exponent %.80q, want a positive number", exponent)
		}
	}
	build, err := Relevances.Get("relevance", name)
	if err != nil {
		return nil, err
	}
	return build(alpha), nil
}

// Weights returns the number of levels for which a metric has weights of its own, 0 for none.
func Weights(m Metric) int {
	if graded, ok := m.(interface{ relevance() Relevance }); ok {
		weighted, _ := graded.relevance().(Map)
		return len(weighted.Weights)
	}
	return 0
}

func (m HAP) relevance() Relevance        { return m.Relevance }
func (m HRecall) relevance() Relevance    { return m.Relevance }
func (m HPrecision) relevance() Relevance { return m.Relevance }

// weightedMap reads the weights of Map, finest level first, which need not sum to 1.
func weightedMap(list string) (Relevance, error) {
	var weights []float64
	sum := 0.0
	for text := range strings.SplitSeq(list, ":") {
		w, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(w >= 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("weight %.80q, want a number from 0 up", text)
		}
		weights, sum = append(weights, w), sum+w
	}
	if sum == 0 {
		return nil, fmt.Errorf("weights %.80q are all 0", list)
	}
	slices.Reverse(weights) // Map begins with the coarsest level
	return Map{Weights: weights}, nil
}

// Relevances lists the relevances that the name of a metric can select.
var Relevances = registry.Table[func(alpha float64) Relevance]{
	{Name: "pop", About: "(l/L)^α / n_l", Value: func(a float64) Relevance { return Pop{Alpha: a} }},
	{Name: "pop-self", About: "pop with the query counted in n_L",
		Value: func(a float64) Relevance { return Pop{Alpha: a, CountSelf: true} }},
	{Name: "power", About: "(l/L)^α", Value: func(a float64) Relevance { return Power{Alpha: a} }},
	{Name: "map", About: "Σ_{p≤l} (p/L)^(α−1) / L / #(level ≥ p): H-AP is a weighted sum of the levels' APs; " +
		"map:w:w… with weights, finest first",
		Value: func(a float64) Relevance { return Map{Alpha: a} }},
}

// DefineAll returns Σ_k Σ_{j≤k} min(rel_k, rel_j)/k over Σ_k rel_k.
func (m HAP) DefineAll(shared []int, levels int) float64 {
	rel, total := relevancesByItem(m.Relevance, shared, levels)
	sum := 0.0
	for k, r := range rel {
		for _, other := range rel[:k+1] {
			sum += min(r, other) / float64(k+1)
		}
	}
	return sum / total
}
