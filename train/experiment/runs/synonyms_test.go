package runs

import (
	"slices"
	"strings"
	"testing"

	"hgld/internal/settings"
)

// A synonym leads to a setting that there is, and is not itself one.
func TestSynonymsLeadToSettings(t *testing.T) {
	s := DefaultSettings()
	known := settings.Keys(settings.Fields(&s))
	for word, key := range Synonyms {
		if !slices.Contains(known, key) {
			t.Errorf("%s means %s, which is no setting", word, key)
		}
		if slices.Contains(known, word) && !strings.Contains(word, ".") && word != key {
			t.Errorf("%s is a setting itself and means %s", word, key)
		}
	}
	if got := Synonyms.Meant("learning_rate", known); got != "optim.lr" {
		t.Errorf("learning_rate means %q, want optim.lr", got)
	}
}
