//go:build unix && !solaris && !aix

package atomicfile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hgld/internal/filelock"
)

// renamesOpen is true: a file can be renamed while it is open, so its lock is held until it has its
// name.
const renamesOpen = true

// RemoveLeftovers removes the temporary files in dir whose processes were killed. A running process
// holds a lock on its own. Files that cannot be removed stay, and do no harm.
func RemoveLeftovers(dir string) { remove(dir, "") }

// removeLeftovers is RemoveLeftovers for the temporary files of one path.
func removeLeftovers(path string) {
	dir, base := filepath.Split(path)
	remove(dir, base)
}

// remove removes the unlocked temporary files of base in dir. If base is "", it removes those of
// all files.
func remove(dir, base string) {
	if dir == "" {
		dir = "."
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		of, number, found := cutLast(e.Name(), temporarySuffix)
		if !found || !e.Type().IsRegular() || !strings.HasPrefix(of, ".") || base != "" && of != temporaryName(base) {
			continue
		}
		if _, err := strconv.ParseUint(number, 10, 32); err == nil {
			removeUnlocked(filepath.Join(dir, e.Name()))
		}
	}
}

// cutLast is strings.Cut at the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// removeUnlocked removes a temporary file unless a process holds its lock.
func removeUnlocked(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if filelock.Take(f) != nil {
		return
	}
	if os.Remove(path) == nil {
		_ = filelock.Release(f)
	}
}
