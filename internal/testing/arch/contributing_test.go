//go:build contributing

package arch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

// TestContributingPageWorks applies the additions of CONTRIBUTING.md to a copy of the code and
// runs the page's commands there. The page's table must count the files and lines of each.
func TestContributingPageWorks(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(goldens.Root(), "CONTRIBUTING.md")))(t)
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
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			counts := applySection(t, root, body)
			row := regexp.MustCompile(`(?m)^\| ` + strings.ToLower(name) + ` \| (\d+)[^|]*\| (\d+) \|$`).FindStringSubmatch(string(text))
			if row == nil || row[1]+" "+row[2] != counts {
				t.Errorf("the row of the table is %q, want %s", row, counts)
			}
		})
	}
	for _, section := range sections { // all examples are compiled at once
		name, body, _ := strings.Cut(section, "\n")
		t.Run("commands-of-"+strings.ReplaceAll(name, " ", "-"), func(t *testing.T) { runCommands(t, root, body) })
	}
	t.Run("rules", func(t *testing.T) { runCommands(t, root, "    go test ./internal/testing/arch\n") })
}

// copied returns a copy of the files of the repository.
func copied(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	list, err := exec.Command("git", "-C", goldens.Root(), "ls-files", "--cached", "--others", "--exclude-standard",
		"-z").Output()
	must.Do(t, err)
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
		must.Do(t, err)
	}
	return root
}

// applySection applies the blocks of one addition, and returns the numbers of new files without tests and of new lines
// in existing files.
func applySection(t *testing.T, root, body string) string {
	var files, lines int
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
			if block[1] == "json" {
				_, content, _ = strings.Cut(content, "\n")
			}
			if !strings.HasSuffix(path, "_test.go") {
				files++
			}
		}
		must.Do(t, os.WriteFile(filepath.Join(root, path), []byte(content), 0o644))
	}
	return fmt.Sprint(files, " ", lines)
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
