package report

import (
	"math"
	"testing"

	"hgld/train/retrieval"
)

func TestVerdictIsThatOfTheInterval(t *testing.T) {
	zero := map[[2]string]retrieval.Number{{"1", ""}: 0, {"2", ""}: 0, {"3", ""}: 0,
		{"4", ""}: retrieval.Number(math.NaN())}
	for want, list := range map[string][3]retrieval.Number{
		"higher": {10, 20, 18}, "undecided": {10, 20, 3}, "lower": {-10, -20, -18},
	} {
		d := Subtract(map[[2]string]retrieval.Number{{"1", ""}: list[0], {"2", ""}: list[1], {"3", ""}: list[2], {"4", ""}: 5,
			{"5", ""}: 7}, zero)
		if d.Verdict != want || d.Pairs != 3 {
			t.Errorf("%v: %+v, want %s of 3 pairs", list, d, want)
		}
	}
	if d := Subtract(zero, nil); d.Pairs != 0 || d.Fields()[5] != "" {
		t.Errorf("nothing in common gives %+v", d)
	}
}

func TestCommonStartDropsTheSeed(t *testing.T) {
	for want, dirs := range map[string][]string{
		"happier":         {"runs/happier-seed1", "runs/happier-seed2"},
		"emoji48-csl":     {"a/emoji48-csl-1", "a/emoji48-csl-2"},
		"grocery.triplet": {"grocery.triplet.seed3", "grocery.triplet.seed11"},
	} {
		if got := commonStart(dirs); got != want {
			t.Errorf("%q of %v, want %q", got, dirs, want)
		}
	}
}
