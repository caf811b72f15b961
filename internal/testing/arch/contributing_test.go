//go:build contributing

package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
)

// TestContributingPageWorks applies the additions of CONTRIBUTING.md to a copy of the code and
// runs the page's commands there. For each addition it logs the number of files and lines.
func TestContributingPageWorks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(goldens.Root(), "CONTRIBUTING.md"))
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
	root := copied(t)
	for _, section := range sections {
		name, body, _ := strings.Cut(section, "\n")
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) { applySection(t, root, body) })
	}
	for _, section := range sections { // all examples are compiled at once
		name, body, _ := strings.Cut(section, "\n")
		t.Run("commands-of-"+strings.ReplaceAll(name, " ", "-"), func(t *testing.T) { runCommands(t, root, body) })
	}
}

// copied returns a copy of the files of the repository.
func copied(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	list, err := exec.Command("git", "-C", goldens.Root(), "ls-files", "--cached", "--others", "--exclude-standard",
		"-z").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Split(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		from, to := filepath.Join(goldens.Root(), name), filepath.Join(root, name)
		info, err := os.Stat(from)
		if err != nil {
			continue // deleted, and not yet committed
		}
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, data, info.Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// applySection applies the blocks of one addition.
func applySection(t *testing.T, root, body string) {
	var files, tests, lines int
	for _, block := range codeBlock.FindAllStringSubmatch(body, -1) {
		path, content := "", block[2]
		if block[1] == "diff" {
			var added int
			path, content, added = applied(t, root, content)
			lines += added
		} else {
			first, _, _ := strings.Cut(content, "\n")
			path = strings.TrimPrefix(first, "// ")
			if _, err := os.Stat(filepath.Join(root, path)); err == nil {
				t.Errorf("%s exists already", path)
			}
			if strings.HasSuffix(path, "_test.go") {
				tests++
			} else {
				files++
			}
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d new files, %d lines in old ones, %d test files", files, lines, tests)
}

// runCommands runs the commands of one addition.
func runCommands(t *testing.T, root, body string) {
	commands := 0
	for line := range strings.Lines(codeBlock.ReplaceAllString(body, "")) {
		command, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "    ")
		if !is {
			continue
		}
		commands++
		shell := exec.Command("sh", "-c", command)
		// Without the folder's path, what did not change comes from the cache.
		shell.Dir, shell.Env = root, append(os.Environ(), "GOFLAGS=-trimpath")
		out, err := shell.CombinedOutput()
		if err != nil || strings.Contains(string(out), "no tests to run") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	if commands == 0 {
		t.Error("the section runs nothing")
	}
}
