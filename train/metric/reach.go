package metric

// Reach returns the last place of a query's list that a metric reads, over all levels. A ranking
// cut off there gives the same value.
func Reach(m Metric, l *List) int {
	if short, ok := m.(interface{ reach(l *List) int }); ok {
		return short.reach(l)
	}
	return l.N
}
