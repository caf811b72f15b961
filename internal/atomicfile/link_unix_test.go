//go:build unix

package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Links are tested only where every user may create them; on Windows that needs a privilege.

func TestSymbolicLinkLeadsToTheFileThatIsReplaced(t *testing.T) {
	for _, to := range []string{"kept/a.txt", "kept/not there.txt", "second"} {
		t.Run(to, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.Mkdir("kept", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("kept/a.txt", []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			for link, to := range map[string]string{"link": to, "second": "kept/../kept/a.txt"} {
				if err := os.Symlink(filepath.FromSlash(to), link); err != nil {
					t.Fatal(err)
				}
			}
			if err := WriteFile("link", []byte("new")); err != nil {
				t.Fatal(err)
			}
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
	if err := os.Symlink("a", path); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, nil); err == nil {
		t.Error("a link to itself was written")
	}
}
