package archtest

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// commandLines is the number of lines that cmd/hgld may have, tests aside. The goal is
// 9,000: flags, sentences and introductions. It only ever falls.
const commandLines = 14_035

// arithmetic are the packages, with those below them, by which the command would compute
// what belongs to a stage.
var arithmetic = []string{"math", "gonum.org/v1", "hgld/internal/vec", "hgld/internal/pca"}

// computing are the files of the command that import one of them all the same. The list
// only ever gets shorter; a file that has stopped computing has to leave it.
var computing = map[string]string{
	"demo_report.go":       "the demo reads what it measured",
	"demo_world.go":        "the demo draws its world",
	"encoder_vectors.go":   "refuses vectors with a NaN",
	"eval_overall.go":      "a metric that was not measured is NaN",
	"runs.go":              "a metric that was not measured is NaN",
	"shards.go":            "rounds a share up, to advise --allow-missing",
	"train_recipe_rows.go": "a metric that was not measured is NaN",
}

func TestCommandStaysThin(t *testing.T) {
	lines := 0
	for _, f := range parseAll(t) {
		if f.pkg == "cmd/hgld" && !f.test {
			lines += f.set.File(f.ast.Pos()).LineCount()
		}
	}
	if lines > commandLines {
		t.Errorf("cmd/hgld has %d lines, more than its budget of %d: what is neither a flag nor a sentence belongs "+
			"into the package of its stage, or below internal", lines, commandLines)
	}
}

func TestCommandDoesNoArithmeticOfAStage(t *testing.T) {
	found := map[string]bool{}
	for _, f := range parseAll(t) {
		if f.pkg != "cmd/hgld" || f.test {
			continue
		}
		name := path.Base(f.path)
		for _, spec := range f.ast.Imports {
			if !computes(spec) {
				continue
			}
			found[name] = true
			if computing[name] == "" {
				t.Errorf("%s imports %s: the arithmetic of a stage belongs into its package", f.path, spec.Path.Value)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(computing)) {
		if !found[name] {
			t.Errorf("cmd/hgld/%s computes nothing, or is gone: take it off the list", name)
		}
	}
}

// computes reports whether an import is one of arithmetic, or below one.
func computes(spec *ast.ImportSpec) bool {
	name := strings.Trim(spec.Path.Value, `"`)
	return slices.ContainsFunc(arithmetic, func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") })
}
