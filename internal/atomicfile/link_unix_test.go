//go:build unix

package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// Links are tested only where every user may create them; on Windows that needs a privilege.

func TestSymbolicLinkLeadsToTheFileThatIsReplaced(t *testing.T) {
	for _, to := range []string{"kept/a.txt", "kept/not there.txt", "second"} {
		t.Run(to, func(t *testing.T) {
			t.Chdir(t.TempDir())
			must.Do(t, os.Mkdir("kept", 0o755))
			must.Do(t, os.WriteFile("kept/a.txt", []byte("old"), 0o644))
			for link, to := range map[string]string{"link": to, "second": "kept/../kept/a.txt"} {
				must.Do(t, os.Symlink(filepath.FromSlash(to), link))
			}
			must.Do(t, WriteFile("link", []byte("new")))
			if info, err := os.Lstat("link"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("the link became %v, %v", info.Mode(), err)
			}
			if got, err := os.ReadFile("link"); err != nil || string(got) != "new" {
				t.Errorf("the link leads to %q, %v", got, err)
			}
			for _, name := range append(names(t, "."), names(t, "kept")...) {
				if strings.Contains(name, "tmp-") {
					t.Errorf("%s was left", name)
				}
			}
		})
	}
}

func TestLinksInACircleAreAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	must.Do(t, os.Symlink("a", path))
	if err := WriteFile(path, nil); err == nil {
		t.Error("a link to itself was written")
	}
}
