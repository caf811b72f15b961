package metric

import "fmt"

// Precision is P@k: the positives among the first k, divided by k also where
// fewer than k items are ranked. Undefined for R = 0.
type Precision struct{ K int }

// Name returns "P@k".
func (m Precision) Name() string { return fmt.Sprintf("P@%d", m.K) }

// AddLevel counts.
func (m Precision) AddLevel(sum float64, v *View) float64 { return sum + v.within(m.K) }

// AtLevel divides by k.
func (m Precision) AtLevel(sum float64, v *View) (float64, bool) {
	return sum / float64(m.K), v.R > 0
}
