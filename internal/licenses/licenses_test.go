package licenses

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

var update = flag.Bool("update", false, "write LICENSES")

// texts are the files of a folder that a binary has to be accompanied by.
var texts = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|patents|ftl\.txt)`)

// notOurs lists files of linked modules that concern nothing in a binary.
var notOurs = []string{"LICENSE-LOGO"}

// collected returns the text of each file in the folders of the linked packages and above them, up to
// the root of the module, by the name of the module.
func collected(t *testing.T) map[string]map[string]string {
	t.Helper()
	found := map[string]map[string]string{"Go, the standard library": {}}
	read := func(module, root, dir string) {
		entries := must.Get(os.ReadDir(dir))(t)
		for _, e := range entries {
			if e.IsDir() || !texts.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") ||
				slices.Contains(notOurs, e.Name()) {
				continue
			}
			text := must.Get(os.ReadFile(filepath.Join(dir, e.Name())))(t)
			name := must.Get(filepath.Rel(root, filepath.Join(dir, e.Name())))(t)
			found[module][filepath.ToSlash(name)] = strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
		}
	}
	goroot := must.Get(exec.Command("go", "env", "GOROOT").Output())(t)
	read("Go, the standard library", strings.TrimSpace(string(goroot)), strings.TrimSpace(string(goroot)))
	for _, target := range []string{"linux/amd64", "darwin/arm64", "windows/amd64"} {
		system, processor, _ := strings.Cut(target, "/")
		list := exec.Command("go", "list", "-deps", "-f",
			"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", "hgld/cmd/hgld")
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
		out, err := list.Output()
		if err != nil {
			t.Fatalf("%v: %v", list, err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			if line == "" {
				continue
			}
			fields := strings.Split(line, "\t")
			module, root, dir := fields[0], fields[1], fields[2]
			if found[module] == nil {
				found[module] = map[string]string{}
				if strings.HasPrefix(module, "github.com/golang/freetype ") { // used under the FreeType License
					read(module, root, filepath.Join(root, "licenses"))
				}
			}
			for ; len(dir) >= len(root); dir = filepath.Dir(dir) {
				read(module, root, dir)
			}
		}
	}
	return found
}

// document lists the modules under each text, so that a text that many share stands there once.
func document(t *testing.T, found map[string]map[string]string) string {
	t.Helper()
	users := map[string][]string{}
	for module, files := range found {
		if len(files) == 0 {
			t.Errorf("%s has no licence", module)
		}
		for name, text := range files {
			users[text] = append(users[text], fmt.Sprintf("%s: %s", module, name))
		}
	}
	type part struct{ heading, text string }
	var parts []part
	for text, names := range users {
		slices.Sort(names)
		parts = append(parts, part{strings.Join(names, "\n"), text})
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.heading, b.heading) })
	var b strings.Builder
	for _, name := range []string{"LICENSE", "NOTICE"} {
		text := must.Get(os.ReadFile(filepath.Join(goldens.Root(), name)))(t)
		fmt.Fprintf(&b, "hgld: %s\n\n%s\n\n", name, strings.TrimSpace(string(text)))
	}
	b.WriteString("Licences and notices of the modules that are linked into hgld follow.\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), p.heading, p.text)
	}
	return b.String()
}

func TestEveryLinkedModuleHasItsLicense(t *testing.T) {
	want := document(t, collected(t))
	if *update {
		must.Do(t, os.WriteFile("LICENSES", []byte(want), 0o644))
		return
	}
	if All() != want {
		t.Error("LICENSES is not what the linked modules say: go generate ./internal/licenses")
	}
}
