package loss_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"hgld/internal/testing/must"
	"hgld/train/loss"
)

// lines are the settings of a loss as YAML has them, one a line with its value; of
// those of its parts, which are indented, the first word alone.
func lines(t *testing.T, k loss.Kind) (list []string) {
	t.Helper()
	text, err := yaml.Marshal(k)
	must.Do(t, err)
	// lists on one line
	joined := strings.ReplaceAll(strings.ReplaceAll(string(text), ":\n    - ", ": "), "\n    - ", ", ")
	for line := range strings.Lines(joined) {
		if !strings.HasPrefix(line, " ") {
			list = append(list, strings.TrimSuffix(strings.TrimSpace(line), ":"))
		}
	}
	return list
}

// line is a line of the table in docs/losses-reference.md.
func line(t *testing.T, i int) string {
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

var update = flag.Bool("update", false, "write the table of docs/losses-reference.md")

// The table of docs/losses-reference.md is generated from loss.All.
func TestDocumentHasTheTableOfLosses(t *testing.T) {
	const file, head = "../../docs/losses-reference.md",
		"| loss | what it is | source | settings | released |\n|---|---|---|---|---|\n"
	text, err := os.ReadFile(file)
	must.Do(t, err)
	before, rest, found := strings.Cut(string(text), head)
	old, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatalf("%s has no table that begins with\n%s", file, head)
	}
	var rows []string
	for i := range loss.All {
		rows = append(rows, line(t, i))
	}
	want := strings.Join(rows, "\n")
	if *update {
		must.Do(t, os.WriteFile(file, []byte(before+head+want+"\n\n"+after), 0o644))
	} else if old != want {
		t.Errorf("the table of %s is not that of loss.All: go test ./train/loss -run DocumentHas -update", file)
	}
}

// formula is the entry of a loss in the formulas of docs/losses-reference.md: the comment of its type,
// or the sum that a composition is.
func formula(t *testing.T, comments map[string]string, e loss.Kind, name string) string {
	t.Helper()
	if c, ok := e.(loss.Composition); ok {
		var terms []string
		for _, term := range c.Terms {
			terms = append(terms, fmt.Sprintf("%v·%s", term.Weight, strings.ReplaceAll(term.Name, "_", "-")))
		}
		return fmt.Sprintf("### `%s`\n\n    L = %s", name, strings.Join(terms, " + "))
	}
	kind := reflect.TypeOf(e).Name()
	text := comments[kind]
	if !strings.Contains(text, "\n    ") {
		t.Errorf("the comment of %s, the type of %s, has no formula", kind, name)
	}
	return fmt.Sprintf("### `%s`\n\n%s", name, text)
}

// comments returns the comments of the types of the package, as Markdown.
func comments(t *testing.T) map[string]string {
	t.Helper()
	set := token.NewFileSet()
	files, err := filepath.Glob("*.go")
	must.Do(t, err)
	var trees []*ast.File
	for _, file := range files {
		tree, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		must.Do(t, err)
		if tree.Name.Name == "loss" {
			trees = append(trees, tree)
		}
	}
	pkg, err := doc.NewFromFiles(set, trees, "hgld/train/loss")
	must.Do(t, err)
	all := map[string]string{}
	printer := pkg.Printer()
	printer.DocLinkURL = func(*comment.DocLink) string { return "" }
	for _, typ := range pkg.Types {
		text := string(printer.Markdown(pkg.Parser().Parse(typ.Doc)))
		all[typ.Name] = strings.TrimSpace(strings.ReplaceAll(text, "\t", "    "))
	}
	return all
}

// The formulas of docs/losses-reference.md are the comments of the types in loss.All.
func TestDocumentHasTheFormulas(t *testing.T) {
	const file = "../../docs/losses-reference.md"
	const head, end = "<!-- formulas: generated from the source -->\n\n", "\n\n<!-- end of the formulas -->"
	text, err := os.ReadFile(file)
	must.Do(t, err)
	before, rest, found := strings.Cut(string(text), head)
	old, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no formulas between %q and %q", file, head, end)
	}
	var list []string
	of := comments(t)
	for _, e := range loss.All {
		list = append(list, formula(t, of, e.Value, e.Name))
	}
	for _, name := range []string{"HMinus", "Relevance"} { // which the formulas name
		list = append(list, fmt.Sprintf("### %s\n\n%s", name, of[name]))
	}
	want := strings.Join(list, "\n\n")
	if *update {
		must.Do(t, os.WriteFile(file, []byte(before+head+want+end+after), 0o644))
	} else if old != want {
		t.Errorf("the formulas of %s are not those of the source: go test ./train/loss -run DocumentHas -update", file)
	}
}
