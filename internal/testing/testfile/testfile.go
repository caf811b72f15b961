// Package testfile writes the files that a test reads. It saves the tests of several packages
// from creating folders and checking errors themselves.
package testfile

import (
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

// Write writes a file below dir, with the folders that its name needs. name has slashes.
func Write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
}
