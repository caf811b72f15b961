//go:build unix

package tensorfile

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// mapFile maps a file into memory. It returns nil if that fails; the file is then read.
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

// unmapFile undoes mapFile. It cannot fail for memory that mapFile returned.
func unmapFile(mem []byte) { _ = syscall.Munmap(mem) }

// givePagesBack tells the system that the pages of a mapped file within mem[from:upto] may be
// released. Reading them again loads them again. It is only advice, so errors are ignored.
func givePagesBack(mem []byte, from, upto int64) {
	page := int64(os.Getpagesize())
	from, upto = (from+page-1)/page*page, upto/page*page
	if from < upto {
		_ = unix.Madvise(mem[from:upto], unix.MADV_DONTNEED)
	}
}
