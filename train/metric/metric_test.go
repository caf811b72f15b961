package metric

import (
	"math"
	"strings"
	"testing"
)

func TestParseGivesBackTheName(t *testing.T) {
	for _, name := range []string{"R@1", "P@10", "TR@4", "AP", "AP#2", "mAP@R", "mAP@100", "H-AP", "H-AP:pop-self",
		"H-AP:power^5", "H-AP:map:0.7:0.3", "H-R@10", "H-P@5:power", "H-R@3:map:1:0:2", "ASI", "NDCG", "NDCG@100",
		"NDCG:linear", "NDCG@5:linear"} {
		m, err := Parse(name)
		if err != nil || m.Name() != name {
			t.Errorf("Parse(%q) = %v, %v", name, m, err)
		}
	}
}

func TestParseRefusesWhatItCannotRead(t *testing.T) {
	for name, hint := range map[string]string{
		"R@": "number", "R@0": "number", "R": "number", "mAP": "@R", "mAP@x": "@R", "ASI@3": "ASI takes no",
		"H-AP:powr": `did you mean "power"`, "H-AP:power^-1": "positive", "NDGC": `did you mean "NDCG"`, "AP@3": "#",
		"H-R": "number", "H-P@2:powr": `did you mean "power"`, "H-AP:map:1:-1": "weight", "H-AP:map:0:0": "all 0",
		"H-AP:map:": "weight", "NDCG:lin": "number", "NDCG:linear@5": "number",
	} {
		if _, err := Parse(name); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("Parse(%q): %v, want a word of %q", name, err, hint)
		}
	}
}

func TestEveryKindHasExamples(t *testing.T) {
	for _, e := range All {
		for _, name := range e.Value.Examples {
			if !strings.HasPrefix(name, e.Value.Symbol) || Definition(name) != e.About {
				t.Errorf("%s is no example of %s", name, e.Name)
			}
		}
		if len(e.Value.Examples) == 0 {
			t.Errorf("%s has no examples to compare with its definition", e.Name)
		}
	}
}

func TestMeanLeavesUndefinedOut(t *testing.T) {
	if mean, skipped := Mean([]float64{1, math.NaN(), 0}); mean != 0.5 || skipped != 1 {
		t.Errorf("Mean = %v, %d skipped", mean, skipped)
	}
	if mean, skipped := Mean([]float64{math.NaN()}); !math.IsNaN(mean) || skipped != 1 {
		t.Errorf("Mean of nothing = %v, %d skipped", mean, skipped)
	}
}

func TestListStopsAtTheEndMark(t *testing.T) {
	for _, ties := range []Ties{ScoreThenRow, AverageTies} {
		l := NewList(2, ties)
		l.Reset([]byte{0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, beyond, beyond})
		if l.N != 12 || l.Count[0] != 10 || l.Count[1] != 1 || l.Count[2] != 1 {
			t.Errorf("ties %d: N %d, counts %v", ties, l.N, l.Count)
		}
	}
}

func TestListRefusesMoreLevelsThanThereAre(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an item of level 3 of 2 was taken")
		}
	}()
	NewList(2, ScoreThenRow).Reset([]byte{3})
}
