package atomicfile

import (
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

func TestSameFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must.Do(t, os.WriteFile("a", nil, 0o644))
	must.Do(t, os.Link("a", "hard"))
	must.Do(t, os.Mkdir("folder", 0o755))
	for link, to := range map[string]string{"soft": "a", "pending": "new", "shortcut": "folder"} {
		if err := os.Symlink(to, link); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{{"a", filepath.Join(dir, "a"), true}, {"a", "hard", true}, {"a", "b", false},
		{"new", filepath.Join(".", "x", "..", "new"), true}, {"new", "newer", false}, {"a", "soft", true},
		{"new", "pending", true}, {"new", "New", true}, {"folder", "shortcut", true}, {"folder/x/n", "shortcut/x/n", true},
		{os.DevNull, os.DevNull, false}, {"a/below", "a/./below", true}, {"a/below", "a/other", false}} {
		if Same(c.a, c.b) != c.same {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.same)
		}
	}
}
