package loss

import (
	"math"
	"testing"
)

func TestSettingsThatDifferBetweenPresetsAreMarked(t *testing.T) {
	a, b := Presets[0].Name, Presets[1].Name
	want := "setting                         " + a + "        " + b + "\n" +
		"tau                             0.01         0.01\n" +
		"rho                             1            100 *\n"
	if len(a) != len("paper") {
		t.Fatalf("the first preset is %s; the heading of this test is spaced for one of 5 letters", a)
	}
	got := SettingsText([]PresetSetting{{"tau", map[string]any{a: "0.01", b: "0.01"}},
		{"rho", map[string]any{a: "1", b: "100"}}})
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestMarginsOfCSLAreTheReleasedOnes(t *testing.T) {
	for levels, want := range map[int][]float64{2: {.25, .45}, 3: {.25, .35, .45}, 5: {.25, .35, .45, .55, .65}} {
		for i, m := range (CSL{}).margins(levels) {
			if math.Abs(m-want[i]) > 1e-15 {
				t.Errorf("%d levels: margin %v, want %v", levels, m, want[i])
			}
		}
	}
}
