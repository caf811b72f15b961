package loss

import "testing"

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
