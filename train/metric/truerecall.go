package metric

import "fmt"

// TrueRecall is TR@k: the positives among the first k, divided by min(R, k)
// (Ramzi et al., "Optimization of Rank Losses for Image Retrieval", Eq. 14).
// Undefined for R = 0.
type TrueRecall struct{ K int }

// Name returns "TR@k".
func (m TrueRecall) Name() string { return fmt.Sprintf("TR@%d", m.K) }

// AtLevel counts.
func (m TrueRecall) AtLevel(v *View) (float64, bool) {
	return v.within(m.K) / float64(max(min(v.R, m.K), 1)), v.R > 0
}
