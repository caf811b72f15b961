//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"hgld/internal/testing/must"
)

// A pipe without a writer would block, a device never ends, and /proc/kmsg waits for messages.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t, os.WriteFile(in("file"), []byte("text"), 0o600))
	links := map[string]string{"to-file": in("file"), "to-pipe": in("pipe"), "to-device": os.DevNull}
	if runtime.GOOS == "linux" {
		links["to-kernel"] = "/proc/version"
	}
	must.Do(t, syscall.Mkfifo(in("pipe"), 0o600))
	for name, to := range links {
		must.Do(t, os.Symlink(to, in(name)))
	}
	for name, want := range map[string]string{"pipe": "named pipe", "to-pipe": "named pipe", "to-device": "a device",
		"to-kernel": "kernel"} {
		if links[name] == "" && name != "pipe" {
			continue
		}
		var other *Error
		if _, err := ReadFile(in(name)); !errors.As(err, &other) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for _, name := range []string{"file", "to-file"} {
		if data, err := ReadFile(in(name)); err != nil || string(data) != "text" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	var at *fs.PathError
	if _, err := ReadFile(in("none")); !errors.As(err, &at) || at.Op != "open" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want that none cannot be opened", err)
	}
	if _, err := ReadFile(dir); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("%v, want that a folder cannot be read", err)
	}
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	if _, err := OpenIn(root, "pipe"); !errors.As(err, new(*Error)) {
		t.Errorf("within a folder: %v", err)
	}
}

// A sparse file of a terabyte takes no room and would fill the memory.
func TestLargeFilesAreNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	must.Do(t, os.WriteFile(path, []byte("text"), 0o600))
	if data, err := ReadAtMost(path, 4); err != nil || string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
	must.Do(t, os.Truncate(path, 1<<40))
	if _, err := ReadAtMost(path, 4); err == nil || !strings.Contains(err.Error(), "1099511627776 bytes, want at most 4") {
		t.Errorf("%v", err)
	}
}
