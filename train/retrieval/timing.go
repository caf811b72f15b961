package retrieval

import "fmt"

// Timing holds the seconds of an evaluation's parts, if the host computes it. For each block of
// queries it reads panels of the gallery, multiplies each, ranks, and computes metrics. Ranking
// and Metrics are means over the threads.
type Timing struct {
	Reading  float64 // stored vectors: read, widened and scaled
	Products float64 // the scores
	Ranking  float64 // places of the positives
	Metrics  float64 // metrics from these places, with bounds for ties
}

// String lists the parts.
func (p *Timing) String() string {
	return fmt.Sprintf("reading %.2f s, products %.2f s, ranking %.2f s, metrics %.2f s",
		p.Reading, p.Products, p.Ranking, p.Metrics)
}

// addTimes adds the times of the threads to the parts of the evaluation.
func (m *ranker) addTimes() {
	for _, r := range m.readers {
		if p := m.e.Timing; p != nil {
			p.Ranking += r.timing.Ranking / float64(len(m.readers))
			p.Metrics += r.timing.Metrics / float64(len(m.readers))
		}
		r.timing = Timing{}
	}
}
