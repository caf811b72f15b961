package report

import "testing"

func TestLettersThatTheFontLacksAreFound(t *testing.T) {
	if got := Lacking("Straße, Ωμέγα, Привет, 長城", "長い", ""); got != "長城い" {
		t.Errorf("the font lacks %q, want 長城い", got)
	}
}
