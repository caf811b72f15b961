//go:build unix

package tensorfile

import (
	"os"
	"syscall"
)

// mapFile returns the file's bytes mapped into memory, or nil where that is not
// possible: the file is then read.
func mapFile(f *os.File, size int64) []byte {
	if size <= 0 || int64(int(size)) != size {
		return nil
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return mem
}

// unmapFile undoes mapFile; it cannot fail for memory that mapFile returned.
func unmapFile(mem []byte) { _ = syscall.Munmap(mem) }
