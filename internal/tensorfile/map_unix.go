//go:build unix

package tensorfile

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
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

// givePagesBack lets the system take back the pages that lie within mem[from:upto], of a mapped
// file. Reading them again brings them back. It is advice: an error changes nothing.
func givePagesBack(mem []byte, from, upto int64) {
	page := int64(os.Getpagesize())
	from, upto = (from+page-1)/page*page, upto/page*page
	if from < upto {
		_ = unix.Madvise(mem[from:upto], unix.MADV_DONTNEED)
	}
}
