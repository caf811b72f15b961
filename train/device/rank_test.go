package device

import (
	"strings"
	"testing"
)

// What a kernel is given by value has a size that is known when it is compiled.
func TestConstantsOfRankOperationsAreBounded(t *testing.T) {
	numbers := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = 1
		}
		return v
	}
	for name, c := range map[string]struct {
		most int
		of   func(n int) error
	}{
		"values of k": {MaxAt, func(n int) error {
			return (&Score{Kind: ScoreRecall, At: numbers(n), Temp: numbers(n)}).Check()
		}},
		"weights of levels": {MaxLevels, func(n int) error { return (&RelKind{Mode: RelMap, Weights: numbers(n)}).Check(n) }},
		"levels":            {MaxLevels, func(n int) error { return (&RelKind{Mode: RelPop, Divisor: 1}).Check(n) }},
		"margins": {MaxLevels, func(n int) error {
			return (&Pairs{Kind: Levels, PosScale: 1, Margins: numbers(n)}).Check()
		}},
	} {
		if err := c.of(c.most); err != nil {
			t.Errorf("%d %s: %v", c.most, name, err)
		}
		if err := c.of(c.most + 1); err == nil || !strings.Contains(err.Error(), "want at most") {
			t.Errorf("%d %s: error %v", c.most+1, name, err)
		}
	}
}
