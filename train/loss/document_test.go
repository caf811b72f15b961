package loss_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/train/loss"
)

// lines are the settings of a loss as YAML has them, one a line with its value; of
// those of its parts, which are indented, the first word alone.
func lines(t *testing.T, k loss.Kind) (list []string) {
	t.Helper()
	text, err := yaml.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	joined := strings.ReplaceAll(strings.ReplaceAll(string(text), ":\n    - ", ": "), "\n    - ", ", ") // lists on one line
	for line := range strings.Lines(joined) {
		if !strings.HasPrefix(line, " ") {
			list = append(list, strings.TrimSuffix(strings.TrimSpace(line), ":"))
		}
	}
	return list
}

// row is a line of the table in docs/losses.md.
func row(t *testing.T, i int) string {
	t.Helper()
	e, source := loss.All[i], loss.Sources[i]
	paper, released := lines(t, e.Value), lines(t, loss.Presets[1].Value[i].Value)
	var other []string
	for j, s := range released {
		if s != paper[j] {
			other = append(other, s)
		}
	}
	if _, ok := e.Value.(loss.Composition); ok {
		other = append(other, "its parts")
	}
	list := func(settings []string) string {
		if len(settings) == 0 {
			return "–"
		}
		return "`" + strings.Join(settings, "` `") + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s; %s | %s | %s |", e.Name, e.About, source.Value, source.About, list(paper), list(other))
}

// The document has the row of every loss, as the tables have it.
func TestDocumentHasTheRowOfEveryLoss(t *testing.T) {
	text, err := os.ReadFile("../../docs/losses.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range loss.All {
		if want := row(t, i); !strings.Contains(string(text), want+"\n") {
			t.Errorf("docs/losses.md lacks the row of %s:\n%s", e.Name, want)
		}
	}
}
