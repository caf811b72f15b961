package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

var codeBlock = regexp.MustCompile("(?s)```(go|cuda|json|diff)\n(.*?)```")

// The diffs of CONTRIBUTING.md apply to the current code. scripts/check_contributing also builds
// and tests the additions.
func TestContributingDiffsApply(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join(goldens.Root(), "CONTRIBUTING.md")))(t)
	diffs := 0
	for _, block := range codeBlock.FindAllStringSubmatch(string(text), -1) {
		if block[1] == "diff" {
			applied(t, goldens.Root(), block[2])
			diffs++
		}
	}
	if diffs == 0 {
		t.Error("CONTRIBUTING.md has no diff")
	}
}

// applied returns the file that a diff block names, with its lines added, and their number.
func applied(t *testing.T, root, diff string) (path, content string, added int) {
	t.Helper()
	head, rest, _ := strings.Cut(diff, "\n")
	path = strings.TrimPrefix(head, "+++ ")
	data := must.Get(os.ReadFile(filepath.Join(root, path)))(t)
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
