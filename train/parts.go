package train

import "fmt"

// Parts are the seconds that the parts of an evaluation take where the host computes. They follow one another:
// for each block of queries the products with panels of the gallery, each read before, and then the rankings
// with the metrics of each, of which these are the means over the threads.
type Parts struct {
	Reading  float64 // of vectors that stay in their file: widened and scaled
	Products float64 // the scores
	Ranking  float64 // places of the positives
	Metrics  float64 // from these, with the ends that ties leave
}

// String lists the parts.
func (p *Parts) String() string {
	return fmt.Sprintf("reading %.2f s, products %.2f s, ranking %.2f s, metrics %.2f s",
		p.Reading, p.Products, p.Ranking, p.Metrics)
}

// tell adds the time of the threads to the parts of the evaluation.
func (m *meter) tell() {
	for _, r := range m.readers {
		if p := m.e.Parts; p != nil {
			p.Ranking += r.parts.Ranking / float64(len(m.readers))
			p.Metrics += r.parts.Metrics / float64(len(m.readers))
		}
		r.parts = Parts{}
	}
}
