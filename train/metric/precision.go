package metric

import "fmt"

// Precision is P@k: the positives among the first k, divided by k even if fewer than k items are
// ranked. It is undefined for R = 0.
type Precision struct{ K int }

// Name returns "P@k".
func (m Precision) Name() string { return fmt.Sprintf("P@%d", m.K) }

// AddLevel counts the positives.
func (m Precision) AddLevel(sum float64, v *View) float64 { return sum + v.within(m.K) }

// AtLevel divides by k.
func (m Precision) AtLevel(sum float64, v *View) (float64, bool) {
	return sum / float64(m.K), v.R > 0
}

// Define returns the share of positives among the first k.
func (m Precision) Define(r []int) float64 { return hits(r, m.K) / float64(m.K) }

func (m Precision) reach(l *List) int { return min(m.K, l.N) }
