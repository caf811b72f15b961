package retrieval

import (
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/train/device/cpu"
)

// The parts follow one another, so that together they take no longer than the evaluation.
func TestPartsAddUpToLessThanTheEvaluation(t *testing.T) {
	b := cpu.New(2)
	m, list := cloud(300)
	stored, err := Store(m, true)
	must.Do(t, err)
	side := Side{Stored: stored, Labels: list}
	e := &Evaluation{Query: side, Gallery: side, Levels: []string{"a", "b"}, Metrics: allMetrics(t), Threads: 2,
		Timing: new(Timing)}
	start := time.Now()
	if _, err := Evaluate(t.Context(), b, e); err != nil {
		t.Fatal(err)
	}
	took, p := time.Since(start).Seconds(), e.Timing
	if p.Reading <= 0 || p.Products <= 0 || p.Ranking <= 0 || p.Metrics <= 0 {
		t.Errorf("a part took no time: %+v", *p)
	}
	if sum := p.Reading + p.Products + p.Ranking + p.Metrics; sum > took {
		t.Errorf("the parts take %v s, the evaluation %v s: %+v", sum, took, *p)
	}
	if text := p.String(); !strings.Contains(text, "products ") {
		t.Errorf("the parts are written as %q", text)
	}
}
