package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
					t.Skip(err) // a Windows user may be forbidden to make links
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
		t.Skip(err)
	}
	if err := WriteFile(path, nil); err == nil {
		t.Error("a link to itself was written")
	}
}

func TestFolderIsNoFileToWrite(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir); err == nil || !strings.HasSuffix(err.Error(), filepath.Base(dir)+": is a folder; want the name of a file") {
		t.Errorf("error = %v", err)
	}
}

func TestErrorsNameTheFileAskedFor(t *testing.T) {
	dir := t.TempDir()
	check := func(path string, err error) {
		t.Helper()
		var at *fs.PathError
		if !errors.As(err, &at) || at.Path != path || strings.Contains(err.Error(), "tmp-") {
			t.Errorf("error = %v, want one of %s", err, path)
		}
	}
	missing := filepath.Join(dir, "no", "a.txt")
	check(missing, WriteFile(missing, nil))

	path := filepath.Join(dir, "a.txt")
	for _, write := range []func(f *File) error{
		func(f *File) error { _, err := f.Write([]byte("x")); return err },
		func(f *File) error { _, err := io.WriteString(f, "x"); return err },
		func(f *File) error { _, err := io.Copy(f, strings.NewReader("x")); return err },
		(*File).Commit,
	} {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.File.Close(); err != nil {
			t.Fatal(err)
		}
		check(path, write(f))
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}

	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	check(path, f.Commit()) // the rename
}
