package metric

import "math"

// Relevance says how much an item of each level is worth. Only ratios matter.
type Relevance interface {
	// Fill writes the relevance of level l to rel[l], l = 0…L, for a query whose
	// list holds count[l] items of that level. rel[0] is 0; a level without items
	// may have any value.
	Fill(rel []float64, count []int)
}

// Pop is (l/L)^Alpha / n_l (Ramzi et al., Eq. 20): the levels together weigh as
// (l/L)^Alpha however many items each has. CountSelf adds the query to n_L, as
// the released test tables do where the query is in the gallery.
type Pop struct {
	Alpha     float64 // the power
	CountSelf bool    // n_L counts the query
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

// Map is Σ_{p≤l} w_p / #(level ≥ p): with it H-AP of one query is Σ_p w_p·AP_p
// where positives are ranked by level. Weights run from the coarsest level on;
// without them w_p is (p/L)^(Alpha−1)/L, uniform for Alpha 1.
type Map struct {
	Weights []float64 // coarsest level first; nil: by Alpha
	Alpha   float64   // read without Weights
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

// Table gives every level its value, Table[0] being that of level 0 and unused.
type Table []float64

// Fill copies.
func (t Table) Fill(rel []float64, _ []int) {
	copy(rel, t)
	rel[0] = 0
}
