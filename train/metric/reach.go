package metric

// Reach returns the last place of a query's list that a metric reads, over all levels. A ranking
// cut off there gives the same value.
func Reach(m Metric, l *List) int {
	switch m := m.(type) {
	case Recall:
		return min(m.K, l.N)
	case Precision:
		return min(m.K, l.N)
	case TrueRecall:
		return min(m.K, l.N)
	case HRecall:
		return min(m.K, l.N)
	case HPrecision:
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
