package metric

import "math"

// Relevance is the weight of an item of each level. Only ratios matter.
type Relevance interface {
	// Fill writes the relevance of level l to rel[l], l = 0…L, for a query whose list holds
	// count[l] items of that level. rel[0] is 0. A level without items may have any value.
	Fill(rel []float64, count []int)
}

// Pop is (l/L)^Alpha / n_l (Ramzi et al., Eq. 20). The total weight of a level is (l/L)^Alpha,
// however many items it has. CountSelf adds the query to n_L, as the released test tables do if
// the query is in the gallery.
type Pop struct {
	Alpha     float64 // the power
	CountSelf bool    // count the query in n_L
}

// Fill divides by the counts.
func (p Pop) Fill(rel []float64, count []int) {
	Power{p.Alpha}.Fill(rel, count)
	last := len(rel) - 1
	for l := 1; l <= last; l++ {
		n := count[l]
		if p.CountSelf && l == last {
			n++
		}
		rel[l] /= float64(max(n, 1))
	}
}

// Power is (l/L)^Alpha.
type Power struct{ Alpha float64 }

// Fill writes the powers.
func (p Power) Fill(rel []float64, _ []int) {
	last := len(rel) - 1
	rel[0] = 0
	for l := 1; l <= last; l++ {
		rel[l] = math.Pow(float64(l)/float64(last), p.Alpha)
	}
}

// Map is Σ_{p≤l} w_p / #(level ≥ p). With it, the H-AP of a query whose positives are ranked by
// level is Σ_p w_p·AP_p. Weights run from the coarsest level. Without them w_p is
// (p/L)^(Alpha−1)/L, which is uniform for Alpha 1.
type Map struct {
	Weights []float64 // coarsest level first; nil: computed from Alpha
	Alpha   float64   // used without Weights
}

// Fill adds up from the coarsest level.
func (m Map) Fill(rel []float64, count []int) {
	last := len(rel) - 1
	atLeast := 0
	for _, n := range count {
		atLeast += n
	}
	rel[0] = 0
	for p := 1; p <= last; p++ {
		atLeast -= count[p-1]
		w := 0.0
		if m.Weights != nil {
			w = m.Weights[p-1]
		} else {
			w = math.Pow(float64(p)/float64(last), m.Alpha-1) / float64(last)
		}
		rel[p] = rel[p-1] + w/float64(max(atLeast, 1))
	}
}
