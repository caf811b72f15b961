package arch

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

var (
	mdLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mdQuote = regexp.MustCompile("`([^`\n]+)`")
	mdName  = regexp.MustCompile(`^([a-z]+)\.([A-Z]\w*)$`)
	mdPath  = regexp.MustCompile(`^[\w./-]+/[\w.-]+$`)
)

// documents returns the text of every Markdown file in the root, in docs and in its folders.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files := must.Get(filepath.Glob(filepath.Join(goldens.Root(), pattern)))(t)
		for _, file := range files {
			data := must.Get(os.ReadFile(file))(t)
			rel := must.Get(filepath.Rel(goldens.Root(), file))(t)
			all[filepath.ToSlash(rel)] = string(data)
		}
	}
	if len(all) < 15 {
		t.Fatalf("found %d documents, expected more", len(all))
	}
	return all
}

func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	for name, text := range documents(t) {
		for _, m := range mdLink.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(goldens.Root(), path.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, target)
			}
		}
	}
}

// A suite without a row would run nowhere.
func TestEverySuiteIsInTheTableAndOnThePage(t *testing.T) {
	table := must.Get(os.ReadFile("../../../scripts/suites"))(t)
	rows := map[string]bool{}
	for line := range strings.Lines(string(table)) {
		if columns := strings.Split(line, "|"); line[0] != '#' {
			name, when := strings.TrimSpace(columns[0]), strings.TrimSpace(columns[1])
			if len(columns) != 4 || rows[name] || !slices.Contains([]string{"change", "nightly", "long"}, when) ||
				when != "change" && strings.TrimSpace(columns[3]) == "" {
				t.Errorf("scripts/suites: %q; want one row for each suite, and a reason if it is not change", line)
			}
			rows[name] = when != "long"
		}
	}
	scripts, err := filepath.Glob("../../../scripts/check_*")
	if err != nil || len(scripts) == 0 {
		t.Fatal(err)
	}
	for _, path := range scripts {
		name := filepath.Base(path)
		if !rows[strings.TrimPrefix(name, "check_")] {
			t.Errorf("%s has no row in scripts/suites", name)
		}
		if !strings.Contains(documents(t)["CONTRIBUTING.md"], "`"+name+"`") {
			t.Errorf("CONTRIBUTING.md does not name %s", name)
		}
		delete(rows, strings.TrimPrefix(name, "check_"))
	}
	for name, suite := range rows {
		if suite {
			t.Errorf("scripts/suites has %s, but there is no scripts/check_%s", name, name)
		}
	}
}

// TestArchitectureNamesWhatExists looks up every file, package and Go name in ARCHITECTURE.md, and
// requires that it mentions every package above internal.
func TestArchitectureNamesWhatExists(t *testing.T) {
	text := documents(t)["ARCHITECTURE.md"]
	declared, packages := map[string]bool{}, map[string]bool{}
	for _, f := range parseAll(t) {
		if f.test {
			continue
		}
		packages[f.pkg] = true
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declared[f.ast.Name.Name+"."+d.Name.Name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						declared[f.ast.Name.Name+"."+s.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range s.Names {
							declared[f.ast.Name.Name+"."+n.Name] = true
						}
					}
				}
			}
		}
	}
	checked := 0
	for _, m := range mdQuote.FindAllStringSubmatch(text, -1) {
		switch word := m[1]; {
		case mdName.MatchString(word) && word != "os.Args" && word != "os.Exit":
			checked++
			if !declared[word] {
				t.Errorf("ARCHITECTURE.md names %s, which is not declared", word)
			}
		case mdPath.MatchString(word):
			checked++
			if _, err := os.Stat(filepath.Join(goldens.Root(), filepath.FromSlash(word))); err != nil {
				t.Errorf("ARCHITECTURE.md names %s, which does not exist", word)
			}
		}
	}
	if checked < 60 {
		t.Errorf("found %d names in ARCHITECTURE.md, expected more", checked)
	}
	for pkg := range packages {
		if !strings.HasPrefix(pkg, "internal/") && !strings.HasPrefix(pkg, "scripts") && !strings.Contains(text, "`"+pkg+"`") {
			t.Errorf("ARCHITECTURE.md does not mention package %s", pkg)
		}
	}
}
