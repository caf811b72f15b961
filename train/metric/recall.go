package metric

import "fmt"

// Recall is R@k: 1 if one of the first k items is positive, else 0. It is undefined for R = 0.
// This is the recall of the retrieval literature; [TrueRecall] is the other.
type Recall struct{ K int }

// Name returns "R@k".
func (m Recall) Name() string { return fmt.Sprintf("R@%d", m.K) }

// AddLevel adds 1 − C(t−p, j)/C(t, j), where the first positives are p of t items with equal
// scores, j of which lie within k. Later groups contribute nothing.
func (m Recall) AddLevel(sum float64, v *View) float64 {
	if v.before > 0 || v.groups() == 0 {
		return sum
	}
	first := v.group(0)
	left := first.size - max(m.K-first.first, 0) // items of the group beyond k
	if left < first.hits {
		return sum + 1
	}
	miss := 1.0
	for x := range first.hits {
		miss *= float64(left-x) / float64(first.size-x)
	}
	return sum + (1 - miss)
}

// AtLevel returns the sum.
func (m Recall) AtLevel(sum float64, v *View) (float64, bool) { return sum, v.R > 0 }

// Define returns 1 if a positive is among the first k, else 0.
func (m Recall) Define(r []int) float64 { return min(hits(r, m.K), 1) }

func (m Recall) reach(l *List) int { return min(m.K, l.N) }
