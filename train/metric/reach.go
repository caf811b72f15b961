package metric

// Reach returns up to which place a metric looks at the list of a query, at any level. A
// ranking that is cut off there gives the same value.
func Reach(m Metric, l *List) int {
	switch m := m.(type) {
	case Recall:
		return min(m.K, l.N)
	case Precision:
		return min(m.K, l.N)
	case TrueRecall:
		return min(m.K, l.N)
	case MAPAt:
		return min(m.K, l.N)
	case NDCG:
		if m.K > 0 {
			return min(m.K, l.N)
		}
	case MAPAtR, RPrecision, ASI:
		return l.Positives(1)
	}
	return l.N
}
