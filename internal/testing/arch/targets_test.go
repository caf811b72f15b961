//go:build targets

package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// listed is what go list says of a package that hgld needs on a target.
type listed struct {
	Dir, ImportPath string
	Standard        bool
	GoFiles, SFiles []string
	ImportMap       map[string]string
	Module          *struct{ GoVersion string }
}

func (p listed) ours() bool {
	return p.ImportPath == "hgld" || strings.HasPrefix(p.ImportPath, "hgld/")
}

// hgld compiles on the targets that have no machine here: all its files have the right types there, with
// the declarations of what they import. That takes a tenth of a build, whose machine code nobody would run.
func TestOtherTargetsHaveTheRightTypes(t *testing.T) {
	for _, target := range []string{"linux/arm64", "darwin/arm64", "windows/amd64"} {
		t.Run(target, func(t *testing.T) {
			system, machine, _ := strings.Cut(target, "/")
			list := exec.Command("go", "list", "-deps", "-json", "./cmd/hgld")
			list.Dir = goldens.Root()
			list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
			list.Stderr = os.Stderr
			out := must.Get(list.Output())(t)
			known, ours := map[string]*types.Package{"unsafe": types.Unsafe}, 0
			for in := json.NewDecoder(bytes.NewReader(out)); ; {
				var p listed
				if err := in.Decode(&p); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if p.ours() {
					ours++
				}
				if p.ImportPath != "unsafe" {
					known[p.ImportPath] = checked(t, p, known, types.SizesFor("gc", machine))
				}
			}
			if ours < 60 {
				t.Errorf("%d packages of hgld", ours)
			}
		})
	}
}

// checked returns the types of a package, whose imports are known. Errors count in packages of hgld, and
// the bodies of functions are read there alone.
func checked(t *testing.T, p listed, known map[string]*types.Package, sizes types.Sizes) *types.Package {
	fset, files := token.NewFileSet(), []*ast.File(nil)
	report := func(err error) {
		if p.ours() {
			t.Error(err)
		}
	}
	for _, name := range p.GoFiles {
		f := must.Get(parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution))(t)
		for _, d := range f.Decls {
			if fn, is := d.(*ast.FuncDecl); is && fn.Body == nil && len(p.SFiles) == 0 {
				report(errors.New(fset.Position(fn.Pos()).String() + ": " + fn.Name.Name + " has no body"))
			}
		}
		files = append(files, f)
	}
	c := types.Config{Sizes: sizes, IgnoreFuncBodies: !p.ours(), Error: report, Importer: imports{p.ImportMap, known}}
	if p.Module != nil && p.Module.GoVersion != "" {
		c.GoVersion = "go" + p.Module.GoVersion
	}
	made, _ := c.Check(p.ImportPath, fset, files, nil) // report has the errors
	return made
}

// imports finds packages among the known ones.
type imports struct {
	renamed map[string]string
	known   map[string]*types.Package
}

func (i imports) Import(path string) (*types.Package, error) {
	if name, is := i.renamed[path]; is {
		path = name
	}
	if p := i.known[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("go list does not have " + path)
}
