//go:build unix && !solaris && !aix

package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// The pipe replaces /dev/null, which a bug here would remove from the whole system.
func TestDeviceIsWrittenInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(path, os.O_RDWR, 0) // so that neither end waits for the other
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := WriteFile(path, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Fatalf("the pipe became %v, %v", info.Mode(), err)
	}
	text := make([]byte, 4)
	if _, err := reader.Read(text); err != nil || string(text) != "text" {
		t.Errorf("the reader got %q, %v", text, err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("Close without Commit: %v", err)
	}
}

func TestFileModeIsKeptOrFollowsTheUmask(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "fresh")
	if err := os.WriteFile(old, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	defer unix.Umask(unix.Umask(0o077))
	for path, want := range map[string]fs.FileMode{old: 0o640, fresh: 0o600} {
		if err := WriteFile(path, nil); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, want %v (%v)", filepath.Base(path), info.Mode(), want, err)
		}
	}
}

func TestPrivateFileIsNeverReadableByOthers(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	path := filepath.Join(t.TempDir(), "private")
	f, err := create(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
		t.Errorf("before it has its name it has the mode %v (%v)", info.Mode(), err)
	}
	if err := WriteFileMode(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := WriteFileMode(path, []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("an old file has the mode %v, want the one that its owner gave it (%v)", info.Mode(), err)
	}
}
