package metric

import "fmt"

// TrueRecall is TR@k: the positives among the first k, divided by min(R, k) (Ramzi et al.,
// "Optimization of Rank Losses for Image Retrieval", Eq. 14). It is undefined for R = 0.
type TrueRecall struct{ K int }

// Name returns "TR@k".
func (m TrueRecall) Name() string { return fmt.Sprintf("TR@%d", m.K) }

// AddLevel counts the positives.
func (m TrueRecall) AddLevel(sum float64, v *View) float64 { return sum + v.within(m.K) }

// AtLevel divides by min(R, k), the greatest possible number.
func (m TrueRecall) AtLevel(sum float64, v *View) (float64, bool) {
	return sum / float64(max(min(v.R, m.K), 1)), v.R > 0
}

// Define returns the positives among the first k over min(R, k).
func (m TrueRecall) Define(r []int) float64 { return hits(r, m.K) / min(hits(r, len(r)), float64(m.K)) }

func (m TrueRecall) reach(l *List) int { return min(m.K, l.N) }
