package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Same reports whether two paths lead to the same file or folder, which may not exist yet, so that
// writing to one would overwrite the other. It returns false for devices, because a device can take
// several outputs. If a path cannot be looked up, the names decide. Names of new files that differ in
// letter case alone count as the same, as they do on many file systems.
func Same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	switch {
	case errX == nil && errY == nil:
		return (x.Mode().IsRegular() || x.IsDir()) && os.SameFile(x, y)
	case errX == nil && errors.Is(errY, fs.ErrNotExist), errY == nil && errors.Is(errX, fs.ErrNotExist):
		return false
	case filepath.Clean(a) == filepath.Clean(b):
		return true
	}
	return strings.EqualFold(absolute(a), absolute(b))
}

// absolute returns the absolute path of a file that does not exist. It follows links at path and to
// the nearest folder above that exists. It returns path itself if that fails.
func absolute(path string) string {
	if to, err := resolveLinks(path); err == nil {
		path = to
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for dir, rest := filepath.Dir(whole), filepath.Base(whole); ; dir, rest = filepath.Dir(dir),
		filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return whole
		}
	}
}
