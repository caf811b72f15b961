//go:build unix && !solaris && !aix

package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hgld/internal/testing/must"
)

// The pipe replaces /dev/null, which a bug here would remove from the whole system.
func TestDeviceIsWrittenInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, unix.Mkfifo(path, 0o600))
	reader, err := os.OpenFile(path, os.O_RDWR, 0) // so that neither end waits for the other
	must.Do(t, err)
	defer reader.Close()
	must.Do(t, WriteFile(path, []byte("text")))
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Fatalf("the pipe became %v, %v", info.Mode(), err)
	}
	text := make([]byte, 4)
	if _, err := reader.Read(text); err != nil || string(text) != "text" {
		t.Errorf("the reader got %q, %v", text, err)
	}
	f, err := Create(path)
	must.Do(t, err)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("Close without Commit: %v", err)
	}
}

// Opening a pipe that nobody reads would wait for ever, in spite of signals.
func TestPipeWithoutReaderIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, unix.Mkfifo(path, 0o600))
	if err := WriteFile(path, []byte("text")); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("%v", err)
	}
}

// A file name may have 255 bytes; that of the temporary file must not have more.
func TestLongNamesAreWritten(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{strings.Repeat("a", 255), strings.Repeat("a", 254) + "b", strings.Repeat("é", 127),
		strings.Repeat("a", 199) + "éé"} {
		if err := WriteFile(filepath.Join(dir, name), []byte(name)); err != nil {
			t.Errorf("%d bytes: %v", len(name), err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != name {
			t.Errorf("%d bytes: %v", len(name), err)
		}
		left := filepath.Join(dir, temporaryName(name)+temporarySuffix+"7")
		must.Do(t, os.WriteFile(left, nil, 0o600))
		RemoveLeftoversOf(filepath.Join(dir, name))
		if _, err := os.Stat(left); err == nil {
			t.Errorf("%d bytes: a leftover stays", len(name))
		}
	}
}

func TestFileModeIsKeptOrFollowsTheUmask(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "fresh")
	must.Do(t, os.WriteFile(old, nil, 0o640))
	defer unix.Umask(unix.Umask(0o077))
	for path, want := range map[string]fs.FileMode{old: 0o640, fresh: 0o600} {
		must.Do(t, WriteFile(path, nil))
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, want %v (%v)", filepath.Base(path), info.Mode(), want, err)
		}
	}
}

func TestPrivateFileIsNeverReadableByOthers(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	path := filepath.Join(t.TempDir(), "private")
	f := must.Get(create(path, 0o600))(t)
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode() != 0o600 {
		t.Errorf("before it has its name it has the mode %v (%v)", info.Mode(), err)
	}
	must.Do(t, WriteFileMode(path, []byte("x"), 0o600))
	must.Do(t, os.Chmod(path, 0o640))
	must.Do(t, WriteFileMode(path, []byte("y"), 0o600))
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("an old file has the mode %v, want the one that its owner gave it (%v)", info.Mode(), err)
	}
}
