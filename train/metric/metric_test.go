package metric

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestParseGivesBackTheName(t *testing.T) {
	for _, name := range []string{"R@1", "P@10", "TR@4", "AP", "AP#2", "mAP@R", "mAP@100", "H-AP", "H-AP:pop-self",
		"H-AP:power^5", "H-AP:map:0.7:0.3", "H-R@10", "H-P@5:power", "H-R@3:map:1:0:2", "ASI", "NDCG", "NDCG@100"} {
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
		"H-AP:map:": "weight",
	} {
		if _, err := Parse(name); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("Parse(%q): %v, want a word of %q", name, err, hint)
		}
	}
}

func TestEveryKindOfTheTableIsMeasured(t *testing.T) {
	named := map[string]bool{}
	for _, m := range everything {
		symbol := m.Name()
		if cut := strings.IndexAny(symbol, "@#:"); cut >= 0 {
			symbol = symbol[:cut]
		}
		named[symbol] = true
	}
	for _, e := range All {
		if !named[e.Value.Symbol] {
			t.Errorf("%s (%s) has no test by its definition", e.Value.Symbol, e.Name)
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

// A row of the size of Stanford Online Products: 5 fine and 5,000 coarse positives.
func BenchmarkMeasure(b *testing.B) {
	shared := make([]byte, 60_502)
	random := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		shared[random.IntN(len(shared))] = 1
	}
	for range 5 {
		shared[random.IntN(len(shared))] = 2
	}
	set, err := ParseSet([]string{"R@1", "R@10", "R@100", "AP", "mAP@R", "H-AP", "ASI", "NDCG"})
	if err != nil {
		b.Fatal(err)
	}
	list := NewList(2, ScoreThenRow)
	values := make([]float64, len(set.Keys(2)))
	for b.Loop() {
		list.Reset(shared)
		set.Measure(values, list)
	}
}
