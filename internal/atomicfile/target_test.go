package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func TestWritingToAFolderIsAnError(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(dir); err == nil ||
		!strings.HasSuffix(err.Error(), filepath.Base(dir)+": is a folder; want the name of a file") {
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
		f := must.Get(Create(path))(t)
		must.Do(t, f.File.Close())
		check(path, write(f))
		must.Do(t, f.Close())
	}

	f := must.Get(Create(path))(t)
	defer f.Close()
	must.Do(t, os.Mkdir(path, 0o755))
	check(path, f.Commit()) // the rename
}
