package loss_test

import (
	"flag"
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
	// lists on one line
	joined := strings.ReplaceAll(strings.ReplaceAll(string(text), ":\n    - ", ": "), "\n    - ", ", ")
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
	e := loss.All[i]
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
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s |", e.Name, e.About, e.Source, list(paper), list(other))
}

var update = flag.Bool("update", false, "write the table of docs/losses.md")

// The table of docs/losses.md is generated from loss.All.
func TestDocumentHasTheTableOfLosses(t *testing.T) {
	const file, head = "../../docs/losses.md",
		"| loss | what it is | source | settings | released |\n|---|---|---|---|---|\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), head)
	old, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatalf("%s has no table that begins with\n%s", file, head)
	}
	var rows []string
	for i := range loss.All {
		rows = append(rows, row(t, i))
	}
	want := strings.Join(rows, "\n")
	if *update {
		if err := os.WriteFile(file, []byte(before+head+want+"\n\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != want {
		t.Errorf("the table of %s is not that of loss.All: go test ./train/loss -run DocumentHas -update", file)
	}
}
