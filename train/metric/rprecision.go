package metric

// RPrecision is the share of positives among the first R, trec_eval's Rprec. It is undefined for
// R = 0.
type RPrecision struct{}

// Name returns "Rprec".
func (RPrecision) Name() string { return "Rprec" }

// AddLevel counts the positives.
func (RPrecision) AddLevel(sum float64, v *View) float64 { return sum + v.within(v.R) }

// AtLevel divides by R.
func (RPrecision) AtLevel(sum float64, v *View) (float64, bool) {
	return sum / float64(max(v.R, 1)), v.R > 0
}

func (RPrecision) Define(r []int) float64 {
	R := hits(r, len(r))
	return hits(r, int(R)) / R
}

func (RPrecision) reach(l *List) int { return l.Positives(1) }
