package metric

import "fmt"

// MAPAtR is mAP@R: 1/R Σ_{i≤R} r_i·P@i (Musgrave et al., "A Metric Learning Reality Check",
// 2020). It is undefined for R = 0.
type MAPAtR struct{}

// Name returns "mAP@R".
func (MAPAtR) Name() string { return "mAP@R" }

// AddLevel sums the precision at the positives among the first R.
func (MAPAtR) AddLevel(sum float64, v *View) float64 { return v.precisions(sum, v.R) }

// AtLevel divides by R.
func (MAPAtR) AtLevel(sum float64, v *View) (float64, bool) {
	return sum / float64(max(v.R, 1)), v.R > 0
}

// MAPAt is mAP@k: 1/min(R,k) Σ_{i≤k} r_i·P@i. With k = 100 it is the metric of Google Landmarks
// v2. It is undefined for R = 0.
type MAPAt struct{ K int }

// Name returns "mAP@k".
func (m MAPAt) Name() string { return fmt.Sprintf("mAP@%d", m.K) }

// AddLevel sums the precision at the positives among the first k.
func (m MAPAt) AddLevel(sum float64, v *View) float64 { return v.precisions(sum, m.K) }

// AtLevel divides by the greatest possible number of positives among the first k.
func (m MAPAt) AtLevel(sum float64, v *View) (float64, bool) {
	return sum / float64(max(min(v.R, m.K), 1)), v.R > 0
}

func newMAP(rest string) (Metric, error) {
	if rest == "@R" {
		return MAPAtR{}, nil
	}
	k, err := after("@", rest)
	if err != nil {
		return nil, fmt.Errorf("%w, or @R", err)
	}
	return MAPAt{K: k}, nil
}

// Define returns 1/R Σ_{k≤R} r_k P(k).
func (MAPAtR) Define(r []int) float64 {
	R := hits(r, len(r))
	return precisionsAt(r, int(R)) / R
}

func (MAPAtR) reach(l *List) int { return l.Positives(1) }

// Define returns 1/min(R, k) Σ_{i≤k} r_i P(i).
func (m MAPAt) Define(r []int) float64 {
	return precisionsAt(r, m.K) / min(hits(r, len(r)), float64(m.K))
}

func (m MAPAt) reach(l *List) int { return min(m.K, l.N) }
