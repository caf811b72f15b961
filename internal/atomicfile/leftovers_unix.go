//go:build unix && !solaris && !aix

package atomicfile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hgld/internal/filelock"
)

// renamesOpen says that a file can be renamed while it is open: then its lock is held
// until it has its name.
const renamesOpen = true

// RemoveLeftovers removes the temporary files in dir whose processes were killed. A
// process that is at work keeps its own locked. What cannot be removed stays: it is in
// nobody's way.
func RemoveLeftovers(dir string) { remove(dir, "") }

// removeLeftovers is RemoveLeftovers for the temporary files of one path.
func removeLeftovers(path string) {
	dir, base := filepath.Split(path)
	remove(dir, base)
}

// remove removes the unlocked temporary files of base in dir; "" stands for any.
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
		if !found || !e.Type().IsRegular() || !strings.HasPrefix(of, ".") || base != "" && of != "."+base {
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

// removeUnlocked removes a temporary file unless a process has it locked.
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
