package filelock

import (
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

// A file of the user with the name of the lock keeps its content.
func TestOtherFilesAreNoLocks(t *testing.T) {
	for text, free := range map[string]bool{"": true, "123\n": true, "\x00\x00": true, "mine\n": false,
		"12345678901234567890123456789012345": false} {
		path := filepath.Join(t.TempDir(), "lock")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		lock, err := Acquire(path)
		if (err == nil) != free {
			t.Errorf("%q: %v", text, err)
		}
		if err == nil {
			lock.Close()
			continue
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%q became %q, %v", text, after, err)
		}
	}
}
