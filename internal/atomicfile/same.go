package atomicfile

import (
	"os"
	"path/filepath"
)

// Same reports whether two paths lead to the same file, which may not exist yet, so that writing to
// one would overwrite the other. It returns false for devices, because a device can take several
// outputs.
func Same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	if errX == nil && errY == nil {
		return x.Mode().IsRegular() && os.SameFile(x, y)
	}
	absA, errA := filepath.Abs(a)
	absB, errB := filepath.Abs(b)
	return errA == nil && errB == nil && absA == absB
}
