package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSameFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("a", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link("a", "hard"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{{"a", filepath.Join(dir, "a"), true}, {"a", "hard", true}, {"a", "b", false},
		{"new", filepath.Join(".", "x", "..", "new"), true}, {"new", "newer", false}, {os.DevNull, os.DevNull, false}} {
		if Same(c.a, c.b) != c.same {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.same)
		}
	}
}
