package arch

import (
	"go/ast"
	"strings"
	"testing"
)

// A panic in a goroutine without crash.Guard ends the program with Go's exit code 2, which means a
// mistake on the command line.
func TestEveryGoroutineIsGuarded(t *testing.T) {
	found := 0
	for _, f := range parseAll(t) {
		if f.test || inTestingTree(f.pkg) || strings.HasPrefix(f.pkg, "scripts/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			var body ast.Expr
			switch n := n.(type) {
			case *ast.GoStmt:
				body = n.Call.Fun
			case *ast.CallExpr: // of a sync.WaitGroup or an errgroup.Group
				if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
					body = n.Args[0]
				}
			}
			if body == nil {
				return true
			}
			if found++; !guarded(body) {
				t.Errorf("%s: want a function that begins with defer crash.Guard()", f.set.Position(n.Pos()))
			}
			return true
		})
	}
	if found < 20 {
		t.Errorf("found %d goroutines, expected more than 20", found)
	}
}

// guarded reports whether a function literal begins with defer crash.Guard().
func guarded(body ast.Expr) bool {
	f, ok := body.(*ast.FuncLit)
	if !ok || len(f.Body.List) == 0 {
		return false
	}
	first, ok := f.Body.List[0].(*ast.DeferStmt)
	if !ok {
		return false
	}
	sel, ok := first.Call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "crash" && sel.Sel.Name == "Guard"
}
