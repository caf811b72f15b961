package arch

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// arithmetic lists the packages that would let the command compute what belongs to a stage,
// including the packages below them. Package math is checked by its names.
var arithmetic = []string{"math/rand", "math/bits", "math/big", "math/cmplx",
	"gonum.org/v1", "hgld/internal/vec", "hgld/internal/pca"}

// harmless lists the names of package math that compute nothing: special numbers and limits of
// types.
var harmless = []string{"NaN", "IsNaN", "Inf", "IsInf", "MaxInt", "MaxInt32", "MaxInt64"}

// computing lists the files of the command that compute nevertheless. The list only ever gets
// shorter: a file that no longer computes must be removed from it.
var computing = map[string]string{}

func TestCommandDoesNoArithmeticOfAStage(t *testing.T) {
	found := map[string]bool{}
	for _, f := range parseAll(t) {
		if f.pkg != "cmd/hgld" || f.test {
			continue
		}
		name := path.Base(f.path)
		for _, what := range computes(f) {
			found[name] = true
			if computing[name] == "" {
				t.Errorf("%s uses %s: the arithmetic of a stage belongs into its package", f.path, what)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(computing)) {
		if !found[name] {
			t.Errorf("cmd/hgld/%s computes nothing, or is gone: take it off the list", name)
		}
	}
}

// computes lists the imports and the functions of package math with which a file computes.
func computes(f file) []string {
	var list []string
	for _, spec := range f.ast.Imports {
		name := strings.Trim(spec.Path.Value, `"`)
		below := func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") }
		if slices.ContainsFunc(arithmetic, below) {
			list = append(list, name)
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "math" && !slices.Contains(harmless, sel.Sel.Name) {
				list = append(list, "math."+sel.Sel.Name)
			}
		}
		return true
	})
	return list
}
