// Package arch tests the architecture: which packages import which, what every package says about
// itself, and the length of functions and files.
package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// may lists, for each package, the packages of this module that it may import, as ARCHITECTURE.md does.
// All packages but labels may also import internal packages. Tests and the packages of a testing folder
// may import anything. An entry "train/…" means every package below train.
var may = map[string][]string{
	"labels":            {},
	"scrape":            {"labels"},
	"scrape/page":       {"scrape", "labels"},
	"scrape/api":        {"scrape", "scrape/polite", "labels"},
	"scrape/polite":     {},
	"scrape/site":       {"scrape", "scrape/page", "scrape/api", "scrape/polite"},
	"cluster":           {"labels"},
	"cluster/report":    {"cluster", "labels"},
	"cluster/space":     {"cluster", "labels"},
	"cluster/sweep":     {"cluster", "labels"},
	"curate":            {"labels"},
	"curate/format":     {"curate", "labels"},
	"curate/serve":      {"curate", "labels"},
	"shards":            {"labels"},
	"shards/dataset":    {"labels", "shards"},
	"shards/provenance": {"labels", "shards", "shards/dataset"},
	"shards/examples":   {"labels", "shards"},
	"train":             {"labels", "train/…"},
	"train/config": {"train/backbone", "train/device", "train/input", "train/loss", "train/metric", "train/optim",
		"train/sample", "labels"},
	"train/checkpoint": {"train/config", "train/device", "train/input", "train/loss", "train/retrieval"},
	"train/collective": {"train/device", "train/grad"},
	"train/network": {"train/config", "train/collective", "train/backbone", "train/nn", "train/grad", "train/tensor",
		"train/device", "train/device/bf16", "train/input", "train/retrieval", "labels"},
	"train/step": {"train/config", "train/checkpoint", "train/collective", "train/network", "train/external", "train/loss",
		"train/metric", "train/optim", "train/nn", "train/grad", "train/device", "train/input", "train/retrieval",
		"train/sample", "labels"},
	"train/warmstart": {"train/config", "train/checkpoint", "train/network", "train/backbone", "train/nn", "train/input",
		"train/pretrained"},
	"train/evaluation": {"train/config", "train/checkpoint", "train/network", "train/warmstart", "train/landmarks",
		"train/metric", "train/retrieval", "train/tensor", "train/device", "train/input", "labels"},
	"train/tensor":             {"train/device"},
	"train/device":             {},
	"train/device/reference":   {"train/device"},
	"train/device/cpu":         {"train/device", "train/device/reference"},
	"train/device/cuda":        {"train/device", "train/device/cuda/vendor"},
	"train/device/cuda/vendor": {"train/device"},
	"train/device/observe":     {"train/device"},
	"train/device/bf16":        {"train/device", "train/device/observe"},
	"train/grad":               {"train/device"},
	"train/nn":                 {"train/grad", "train/tensor", "train/device"},
	"train/backbone":           {"train/nn", "train/grad", "train/tensor", "train/device"},
	"train/text":               {"train/nn", "train/grad", "train/tensor", "train/device"},
	"train/loss": {"train/grad", "train/device", "train/device/reference", "train/nn",
		"train/loss/definition", "labels"},
	"train/loss/definition": {"train/device", "train/device/reference", "labels"},
	"train/metric":          {"labels"},
	"train/rank":            {"train/metric", "train/device"},
	"train/external":        {"train/loss"},
	"train/stats":           {"train/sample"},
	"train/cost": {"train", "train/config", "train/checkpoint", "train/network", "train/device", "train/device/observe",
		"train/input"},
	"train/input":      {"train/device", "train/sample", "labels"},
	"train/retrieval":  {"train/device", "train/metric", "train/rank", "train/sample", "train/stats", "labels"},
	"train/embeddings": {"train/device", "train/qrels", "train/retrieval", "labels"},
	"train/losscheck": {"train/config", "train/step", "train/input", "train/retrieval", "train/metric",
		"train/embeddings", "train/loss",
		"train/loss/definition", "train/device", "train/grad", "train/nn", "labels"},
	"train/figure": {"train/device", "train/device/reference", "train/metric", "train/sample", "labels"},
	"train/experiment/outputs": {"train/input", "train/retrieval", "train/metric", "train/index",
		"train/embeddings", "train/qrels", "labels"},
	"train/index": {"train/config", "train/network", "train/evaluation", "train/input", "train/retrieval", "train/device",
		"train/embeddings", "train/export", "labels"},
	"train/export":     {"train/config", "train/evaluation", "train/input", "train/backbone", "train/nn"},
	"train/pretrained": {"train/backbone"},
	"train/qrels":      {"train/device", "train/metric"},
	"train/propagate":  {"train/retrieval", "train/qrels", "train/device", "labels"},
	"train/landmarks":  {"train/input", "train/metric", "train/qrels", "train/retrieval", "train/device", "labels"},
	"train/selection":  {"train", "train/evaluation", "train/input", "train/embeddings", "train/retrieval", "labels"},
	"train/mirror":     {"train/checkpoint", "train/experiment/runs"},
	"train/experiment/runs": {"train", "train/config", "train/checkpoint", "train/warmstart", "train/input",
		"train/retrieval", "train/selection"},
	"train/experiment/plan": {"train", "train/config", "train/retrieval", "train/experiment/runs"},
	"train/experiment/report": {"train/retrieval", "train/metric", "train/stats", "train/experiment/runs",
		"train/experiment/plan"},
	"train/sample": {"labels"},
	"train/optim":  {"train/device", "train/grad"},
	"train/python/call": {"train/config", "train/retrieval", "train/metric", "train/loss", "train/loss/definition",
		"train/embeddings", "train/index", "train/sample", "train/device", "train/grad", "train/nn", "labels"},
	"cmd/hgld": {"…"},
}

// internalMay lists the packages of this module that a package below internal may import.
var internalMay = map[string][]string{
	"internal/atomicfile": {"internal/filelock", "internal/regular"},
	"internal/blas":       {"internal/dlopen"},
	"internal/classes":    {"internal/csvfile", "internal/spelling", "internal/usage"},
	"internal/download": {"internal/atomicfile", "internal/filelock", "internal/objectstore/address", "internal/regular",
		"internal/retry"},
	"internal/filehash": {"internal/regular"},
	"internal/filelock": {"internal/crash", "internal/regular"},
	"internal/metrics":  {"internal/atomicfile", "internal/crash"},
	"internal/objectstore": {"internal/objectstore/address", "internal/atomicfile", "internal/budget", "internal/crash",
		"internal/metrics", "internal/regular", "internal/retry", "internal/usage"},
	"internal/seal":    {"internal/filehash"},
	"internal/csvfile": {"internal/budget"},
	"internal/settings": {"internal/budget", "internal/objectstore/address", "internal/registry", "internal/regular",
		"internal/usage"},
	"internal/ranks": {"internal/ranks/launch", "internal/ranks/meet", "internal/ranks/mpi", "internal/ranks/nccl",
		"internal/crash", "internal/regular", "internal/usage"},
	"internal/ranks/mpi":  {"internal/dlopen"},
	"internal/ranks/nccl": {"internal/dlopen"},
	"internal/ranks/meet": {"internal/crash", "internal/terminal", "internal/usage"},
	"internal/pipeline": {"internal/settings", "internal/atomicfile", "internal/filehash", "internal/registry",
		"internal/objectstore/address", "internal/regular", "internal/remember", "internal/seal", "internal/usage"},
	"internal/regular":     {"internal/budget", "internal/objectstore/address"},
	"internal/matfile":     {"internal/budget"},
	"internal/remember":    {"internal/atomicfile", "internal/filelock", "internal/regular"},
	"internal/parquetfile": {"internal/budget", "internal/regular"},
	"internal/report":      {"internal/parts", "internal/terminal"},
	"internal/tensorboard": {"internal/atomicfile"},
	"internal/tensorfile":  {"internal/budget", "internal/half", "internal/regular"},
	"internal/texttable":   {"internal/registry", "internal/terminal"},
	"internal/torchfile":   {"internal/budget", "internal/tensorfile", "internal/regular"},
	"internal/img":         {"internal/dlopen", "internal/img/child"},
	"internal/img/child":   {"internal/crash"},
}

// backends may be imported by the command, the C interface and tests only; all others take a
// device.Backend.
var backends = []string{"train/device/cpu", "train/device/cuda"}

// onlyCommand lists packages for cmd/hgld only: other packages return errors, and leave logging,
// flags and the end of the process to the command.
var onlyCommand = []string{"log", "log/slog", "flag", "github.com/urfave/cli/v2"}

const (
	longestFunction = 100
	longestFile     = 600
)

// exempt lists files whose length is that of a table.
var exempt = []string{}

type file struct {
	path string // from the root, with slashes
	pkg  string // folder
	test bool
	ast  *ast.File
	set  *token.FileSet
}

// tree is parsed once for all tests, which only read it.
var tree = sync.OnceValues(parseTree)

// parseAll returns every Go file of the module.
func parseAll(t *testing.T) []file {
	t.Helper()
	files := must.Get(tree())(t)
	return files
}

func parseTree() ([]file, error) {
	root := goldens.Root()
	var files []file
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "dist") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		tree, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		files = append(files, file{rel, filepath.ToSlash(filepath.Dir(rel)), strings.HasSuffix(name, "_test.go"), tree, set})
		return nil
	})
	if err == nil && len(files) < 20 {
		err = fmt.Errorf("only %d Go files found below %s", len(files), root)
	}
	return files, err
}

func allowed(list []string, path string) bool {
	return slices.ContainsFunc(list, func(a string) bool {
		prefix, all := strings.CutSuffix(a, "…")
		return a == path || all && strings.HasPrefix(path, prefix)
	})
}

// imitates lists the package and the file of the command that may import packages of a testing tree: the demo
// shows the stages without a network and photographs, and hgld dev, which help hides, serves developers.
var imitates = []string{"cmd/hgld/internal/demo", "cmd/hgld/dev.go"}

// inTestingTree reports whether only tests, other packages of a testing tree and those of [imitates] may import a
// package.
func inTestingTree(pkg string) bool { return strings.Contains(pkg+"/", "/testing/") }

// isCommand reports whether a package belongs to the command, or is the C interface, which takes its place
// in another program.
func isCommand(pkg string) bool {
	return pkg == "cmd/hgld" || strings.HasPrefix(pkg, "cmd/hgld/") || pkg == "train/python/lib"
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	for _, f := range parseAll(t) {
		for _, spec := range f.ast.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			ours, isOurs := strings.CutPrefix(path, "hgld/")
			switch {
			case !f.test && !inTestingTree(f.pkg) && inTestingTree(ours) && !slices.Contains(imitates, f.pkg) &&
				!slices.Contains(imitates, f.path):
				t.Errorf("%s imports %s, which only tests, the demo and hgld dev may", f.path, ours)
			case f.test || inTestingTree(f.pkg) || isCommand(f.pkg) || strings.HasPrefix(f.pkg, "scripts/"):
			case !isOurs:
				if f.pkg == "labels" && strings.Contains(strings.Split(path, "/")[0], ".") {
					t.Errorf("%s imports %s: labels uses the standard library only", f.path, path)
				}
				if slices.Contains(onlyCommand, path) {
					t.Errorf("%s imports %s, which only cmd/hgld may", f.path, path)
				}
			case strings.HasPrefix(f.pkg, "internal/"):
				if !slices.Contains(internalMay[f.pkg], ours) {
					t.Errorf("%s imports %s: an internal package knows nothing of the others", f.path, ours)
				}
			case strings.HasPrefix(ours, "internal/"):
				if f.pkg == "labels" {
					t.Errorf("%s imports %s: labels uses the standard library only", f.path, ours)
				}
			case slices.Contains(backends, ours):
				t.Errorf("%s imports %s: hold a device.Backend", f.path, ours)
			default:
				list, known := may[f.pkg]
				if !known {
					t.Errorf("%s: package %s is not in the table of architecture rules", f.path, f.pkg)
				} else if !allowed(list, ours) {
					t.Errorf("%s imports %s, which %s may not", f.path, ours, f.pkg)
				}
			}
		}
	}
}

func TestOnlyTheCInterfaceUsesCgo(t *testing.T) {
	for _, f := range parseAll(t) {
		for _, spec := range f.ast.Imports {
			if spec.Path.Value == `"C"` && f.pkg != "train/python/lib" && f.path != "train/device/cuda/gorgonia.go" {
				t.Errorf("%s imports C: hgld is built without a C compiler", f.path)
			}
		}
	}
}

func TestOnlyTheCommandEndsTheProcess(t *testing.T) {
	for _, f := range parseAll(t) {
		if f.test || inTestingTree(f.pkg) || isCommand(f.pkg) || strings.HasPrefix(f.pkg, "scripts/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" && (sel.Sel.Name == "Exit" || sel.Sel.Name == "Args") {
				t.Errorf("%s: os.%s outside cmd/hgld", f.set.Position(sel.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
}

// opensFiles lists the packages and files that may call os.Open and os.ReadFile: they name the file
// themselves, or it is one that the user may pipe in.
var opensFiles = []string{"internal/regular", "internal/atomicfile", "internal/hostmemory", "train/device/cuda",
	"internal/img/child", "labels/open.go", "cmd/hgld/scrape_import.go"}

func TestForeignPathsAreOpenedByPackageRegular(t *testing.T) {
	for _, f := range parseAll(t) {
		if f.test || inTestingTree(f.pkg) || slices.Contains(opensFiles, f.pkg) || slices.Contains(opensFiles, f.path) ||
			strings.HasPrefix(f.pkg, "scripts/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"os.Open", "os.ReadFile", "zip.OpenReader"},
				x.Name+"."+sel.Sel.Name) {
				t.Errorf("%s: %s.%s waits for ever at a named pipe; regular.%[3]s does not", f.set.Position(sel.Pos()), x.Name,
					sel.Sel.Name)
			}
			return true
		})
	}
}

// A second kind of object store is a row of internal/objectstore. No other package takes its addresses apart.
func TestOnlyTheObjectStoreHasASchemeOfIt(t *testing.T) {
	for _, f := range parseAll(t) {
		if f.test || inTestingTree(f.pkg) || strings.HasPrefix(f.pkg, "internal/objectstore") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && (strings.Contains(lit.Value, "s3:") || lit.Value == `"s3"`) {
				t.Errorf("%s: %.60s; take the scheme from internal/objectstore/address", f.set.Position(lit.Pos()), lit.Value)
			}
			return true
		})
	}
}

// makesFolders lists the packages that may call os.Mkdir and os.MkdirAll. A power cut can remove a
// folder that they make, with the synced files in it.
var makesFolders = []string{"internal/atomicfile"}

func TestFoldersAreMadeDurably(t *testing.T) {
	for _, f := range parseAll(t) {
		if f.test || inTestingTree(f.pkg) || slices.Contains(makesFolders, f.pkg) || strings.HasPrefix(f.pkg, "scripts/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" && (sel.Sel.Name == "Mkdir" || sel.Sel.Name == "MkdirAll") {
				t.Errorf("%s: os.%s; atomicfile.%[2]s also syncs the folder above", f.set.Position(sel.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	said := map[string]string{}
	for _, f := range parseAll(t) {
		if f.test && f.pkg != "internal/testing/arch" {
			continue
		}
		if _, seen := said[f.pkg]; !seen {
			said[f.pkg] = ""
		}
		if f.ast.Doc != nil {
			said[f.pkg] = f.ast.Doc.Text()
		}
	}
	for pkg, doc := range said {
		if len(doc) < 60 {
			t.Errorf("package %s has no package comment of substance: %q", pkg, doc)
		}
	}
	for i, stage := range []string{"scrape", "cluster", "curate", "shards", "train"} {
		want := "Package " + stage + " is stage " + string(rune('1'+i)) + " of hgld"
		if !strings.HasPrefix(strings.Join(strings.Fields(said[stage]), " "), want) {
			t.Errorf("package %s begins %.40q, want %q", stage, said[stage], want)
		}
	}
}

func TestFunctionsAndFilesStayShort(t *testing.T) {
	for _, f := range parseAll(t) {
		if slices.Contains(exempt, f.path) {
			continue
		}
		if n := f.set.File(f.ast.Pos()).LineCount(); n > longestFile {
			t.Errorf("%s has %d lines, more than %d", f.path, n, longestFile)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || f.test {
				continue
			}
			n := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1
			if n > longestFunction {
				t.Errorf("%s: %s has %d lines, more than %d", f.set.Position(fn.Pos()), fn.Name.Name, n, longestFunction)
			}
		}
	}
}

func TestExportedThingsAreDocumented(t *testing.T) {
	for _, f := range parseAll(t) {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !interfaceMethod(d) {
					t.Errorf("%s: %s has no doc comment", f.set.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					spec, ok := s.(*ast.TypeSpec)
					if ok && spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
						t.Errorf("%s: type %s has no doc comment", f.set.Position(spec.Pos()), spec.Name.Name)
					}
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}

// interfaceMethod reports whether a method is documented by its interface.
func interfaceMethod(d *ast.FuncDecl) bool {
	return d.Recv != nil && slices.Contains([]string{"Error", "String", "Unwrap", "Len", "Less", "Swap", "Close", "Read",
		"Write", "MarshalJSON", "UnmarshalJSON", "MarshalYAML", "UnmarshalYAML", "Is",
		"Define", "DefineAll"}, d.Name.Name)
}

// quotes lists the functions whose messages quote what users and files contain. %q alone would
// quote a megabyte of it.
var quotes = []string{"Errorf", "Sprintf", "usagef", "errorf", "withHint", "bad", "broken", "fail", "report", "warn"}

// quoteFreely lists packages that no data of users reach.
var quoteFreely = []string{"train/device"}

func TestMessagesQuoteBoundedText(t *testing.T) {
	for _, f := range parseAll(t) {
		if f.test || inTestingTree(f.pkg) || slices.Contains(quoteFreely, f.pkg) || strings.HasPrefix(f.pkg, "scripts/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains(quotes, calledName(call)) {
				return true
			}
			ast.Inspect(call, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && strings.Contains(text.Value, "%q") {
					t.Errorf("%s: %%q quotes without end; %%.80q quotes 80 characters", f.set.Position(text.Pos()))
				}
				return true
			})
			return true
		})
	}
}

// calledName returns the name of the called function or method.
func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
