package metric

import (
	"testing"

	"hgld/internal/testing/must"
)

// The worked example of "Optimization of Rank Losses", figures 13 and 14: two rankings of five items
// for the query "Lada #2". Three levels (model, make, vehicle) have the relevances 1, 2/3 and 1/3. The
// first ranking begins with another Lada, the second with another car. Values are the paper's 0.78,
// 0.67 and 0.45 in full, and by hand.
func TestTheExampleOfThePaper(t *testing.T) {
	for _, c := range []struct {
		levels []byte
		want   map[string]float64
	}{
		{[]byte{2, 3, 0, 1, 3}, map[string]float64{"H-AP:power": 47. / 60, "AP_level0": 9. / 20, "AP_level1": 13. / 15,
			"AP_level2": 71. / 80, "H-AP:map": 529. / 720,
			// H-rank⁺ 2/3, 5/3, –, 1, 3 at the places 1 to 5; Σ rel = 3
			"H-P@1:power": 1, "H-P@2:power": 5. / 6, "H-P@3:power": 2. / 3, "H-P@4:power": 3. / 4, "H-P@5:power": 3. / 5,
			"H-R@1:power": 2. / 9, "H-R@2:power": 5. / 9, "H-R@3:power": 5. / 9, "H-R@4:power": 6. / 9, "H-R@5:power": 1}},
		{[]byte{1, 3, 0, 2, 3}, map[string]float64{"H-AP:power": 121. / 180, "AP_level0": 9. / 20, "AP_level1": 8. / 15,
			"AP_level2": 71. / 80, "H-AP:map": 449. / 720,
			// H-rank⁺ 1/3, 4/3, –, 5/3, 3
			"H-P@1:power": 1, "H-P@2:power": 2. / 3, "H-P@3:power": 2. / 3, "H-P@4:power": 5. / 8, "H-P@5:power": 3. / 5,
			"H-R@1:power": 1. / 9, "H-R@2:power": 4. / 9, "H-R@3:power": 4. / 9, "H-R@4:power": 6. / 9, "H-R@5:power": 1}},
	} {
		names := []string{"AP", "H-AP:power", "H-AP:map"}
		for _, k := range []string{"1", "2", "3", "4", "5"} {
			names = append(names, "H-P@"+k+":power", "H-R@"+k+":power")
		}
		got := valuesOf(t, names, c.levels, 3)
		for key, want := range c.want {
			if !equal(got[key], want) {
				t.Errorf("%v: %s is %v, want %v", c.levels, key, got[key], want)
			}
		}
		area := 0.0 // Eq. 32
		for k := range 5 {
			at := string(rune('1' + k))
			more := got["H-R@"+at+":power"]
			if k > 0 {
				more -= got["H-R@"+string(rune('0'+k))+":power"]
			}
			area += more * got["H-P@"+at+":power"]
		}
		if !equal(area, got["H-AP:power"]) {
			t.Errorf("%v: the area under H-P over H-R is %v, H-AP %v", c.levels, area, got["H-AP:power"])
		}
	}
}

// With the weights w of ΣwAP, H-AP is the sum of the levels' AP times w / Σw (Property 1).
func TestSumOfAPsHasWeights(t *testing.T) {
	levels := []byte{2, 3, 0, 1, 3}
	got := valuesOf(t, []string{"AP", "H-AP:map:0.5:0.3:0.2", "H-AP:map:5:3:2", "H-AP:map:1:0:0"}, levels, 3)
	want := 0.5*got["AP_level0"] + 0.3*got["AP_level1"] + 0.2*got["AP_level2"]
	if !equal(got["H-AP:map:0.5:0.3:0.2"], want) || !equal(got["H-AP:map:5:3:2"], want) ||
		!equal(got["H-AP:map:1:0:0"], got["AP_level0"]) {
		t.Errorf("%v, want %v", got, want)
	}
}

// valuesOf measures a ranking.
func valuesOf(t *testing.T, names []string, shared []byte, levels int) map[string]float64 {
	t.Helper()
	set, err := ParseSet(names)
	must.Do(t, err)
	list := NewList(levels, ScoreThenRow)
	list.Reset(shared)
	keys := set.Keys(levels)
	values := make([]float64, len(keys))
	set.Measure(values, list)
	got := map[string]float64{}
	for i, key := range keys {
		got[key] = values[i]
	}
	return got
}
