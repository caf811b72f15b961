//go:build contributing

package archtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hgld/internal/goldens"
)

var codeBlock = regexp.MustCompile("(?s)```(go|diff)\n(.*?)```")

// TestContributingPageWorks applies the additions of CONTRIBUTING.md to the code, by the go
// command's overlay, and runs the page's commands on the result. For each addition it logs the
// number of files and lines.
func TestContributingPageWorks(t *testing.T) {
	root := goldens.Root()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, worked, found := strings.Cut(string(text), "\n## ")
	if !found {
		t.Fatal("CONTRIBUTING.md has no section")
	}
	sections := strings.Split(worked, "\n## ")
	if len(sections) != 5 {
		t.Errorf("CONTRIBUTING.md works through %d additions, expected 5", len(sections))
	}
	for _, section := range sections {
		name, body, _ := strings.Cut(section, "\n")
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) { runSection(t, root, body) })
	}
}

// runSection applies the blocks of one addition and runs its commands.
func runSection(t *testing.T, root, body string) {
	dir := t.TempDir()
	replace := map[string]string{}
	var files, tests, lines int
	for _, block := range codeBlock.FindAllStringSubmatch(body, -1) {
		path, content, added := "", block[2], 0
		if block[1] == "go" {
			first, _, _ := strings.Cut(content, "\n")
			path = strings.TrimPrefix(first, "// ")
			if _, err := os.Stat(filepath.Join(root, path)); err == nil || filepath.Ext(path) != ".go" {
				continue // a passage of code that is there
			}
			if strings.HasSuffix(path, "_test.go") {
				tests++
			} else {
				files++
			}
		} else {
			path, content, added = applied(t, root, content)
			lines += added
		}
		target := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(target, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, path)] = target
	}
	overlay := filepath.Join(dir, "overlay.json")
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for line := range strings.Lines(body) {
		command, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "    go ")
		if !is {
			continue
		}
		commands++
		verb, rest, _ := strings.Cut(command, " ")
		shell := exec.Command("sh", "-c", fmt.Sprintf("go %s -overlay '%s' %s", verb, overlay, rest))
		shell.Dir = root
		out, err := shell.CombinedOutput()
		if err != nil || strings.Contains(string(out), "no tests to run") {
			t.Errorf("go %s: %v\n%s", command, err, out)
		}
	}
	if commands == 0 {
		t.Error("the section runs nothing")
	}
	t.Logf("%d new files, %d lines in old ones, %d test files", files, lines, tests)
}

// applied returns the file that a diff block names with its lines added, and their number.
func applied(t *testing.T, root, diff string) (path, content string, added int) {
	t.Helper()
	head, rest, _ := strings.Cut(diff, "\n")
	path = strings.TrimPrefix(head, "+++ ")
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	var before, after strings.Builder
	for line := range strings.Lines(rest) {
		switch line[0] {
		case '+':
			after.WriteString(line[1:])
			added++
		case ' ':
			before.WriteString(line[1:])
			after.WriteString(line[1:])
		default:
			t.Fatalf("the diff of %s has the line %q", path, line)
		}
	}
	if strings.Count(string(data), before.String()) != 1 {
		t.Fatalf("%s does not hold these lines once:\n%s", path, before.String())
	}
	return path, strings.Replace(string(data), before.String(), after.String(), 1), added
}
