package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

// names lists the files in dir, including temporary ones.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWriteReplacesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	for _, text := range []string{"first, and long", "second"} {
		must.Do(t, WriteFile(path, []byte(text)))
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Fatalf("read %q, %v; want %q", got, err, text)
		}
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("the folder holds %v, want the one file", got)
	}
}

func TestFailedWriteKeepsTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	must.Do(t, WriteFile(path, []byte("old")))
	broken := errors.New("source broke")
	err := Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half of the new"); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatalf("error = %v, want the writer's own", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the file holds %q after a failed write", got)
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("a temporary file was left: %v", got)
	}
}

func TestNothingIsVisibleBeforeCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	f := must.Get(Create(path))(t)
	must.Get(f.WriteString("x"))(t)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is visible before Commit: %v", err)
	}
	must.Do(t, f.Commit())
	if err := f.Close(); err != nil {
		t.Errorf("Close behind Commit: %v", err)
	}
	if err := f.Commit(); err == nil {
		t.Error("a second Commit succeeded")
	}
	if got, _ := os.ReadFile(path); string(got) != "x" {
		t.Errorf("the file holds %q", got)
	}
}

func TestAFolderThatIsNotThereIsAnError(t *testing.T) {
	if err := WriteFile(filepath.Join(t.TempDir(), "no", "a.txt"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v, want one that says the folder does not exist", err)
	}
}
