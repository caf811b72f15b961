package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// commandWord matches a format up to a verb that stands for a word of a printed command: the value of
// a flag or a setting.
var commandWord = regexp.MustCompile(`(--[a-z-]+ |-o [a-z_.]+=|-C )%s`)

// verbs matches the verbs of a format.
var verbs = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z]`)

// printers are the functions whose texts people paste into a shell, with the number of the format
// among their arguments.
var printers = map[string]int{"withHint": 1, "say": 0, "print": 0, "Sprintf": 0}

func TestPrintedCommandsQuoteTheirWords(t *testing.T) {
	for _, f := range parseAll(t) {
		if f.test || f.pkg != "cmd/hgld" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at, is := printers[calledName(call)]
			if !is || at >= len(call.Args) {
				return true
			}
			format, args := constant(call.Args[at]), call.Args[at+1:]
			for _, found := range commandWord.FindAllStringIndex(format, -1) {
				k := len(verbs.FindAllString(format[:found[1]], -1)) - 1
				if k >= len(args) {
					continue
				}
				inner, _ := args[k].(*ast.CallExpr)
				if inner == nil || !slices.Contains([]string{"word", "words"}, calledName(inner)) {
					t.Errorf("%s: %q prints a word that word does not quote", f.set.Position(call.Pos()),
						format[found[0]:found[1]])
				}
			}
			return true
		})
	}
}

// constant returns the text of a literal, or of several that are joined.
func constant(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		return constant(e.X) + constant(e.Y)
	}
	return ""
}
