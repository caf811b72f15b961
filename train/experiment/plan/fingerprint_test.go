package plan

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/testing/must"
	"hgld/train/experiment/runs"
)

// Fingerprints of recorded studies are of settings under the keys that they had then.
func TestFingerprintsHaveTheKeysOfTheFirstStudies(t *testing.T) {
	text, err := yaml.Marshal(runs.DefaultSettings())
	must.Do(t, err)
	got := formerKeys(string(text))
	for _, want := range []string{"\nema:\n    decay: 0\n    rise: false\n", "\n    watch: validation\n",
		"\n    report_best: false\n",
		"\n    erase:\n        probability: 0\n        scale:\n            - 0.02\n            - 0.33\n" +
			"        ratio:\n            - 0.3\n            - 3.3\n", "\nmissing: []\nuneven: false\nalso: \"\"\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "eval_on") || strings.Contains(got, "keep_best_test") {
		t.Errorf("keys of today:\n%s", got)
	}
}
