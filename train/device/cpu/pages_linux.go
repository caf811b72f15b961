package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePages asks for pages of 2 MiB in mem, where they fit. The rows of a tile span so many
// pages of 4 KiB that their addresses do not fit the first-level translation buffer. A refusal
// affects only the speed.
func largePages(mem []byte) {
	const size = 2 << 20
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (size - 1))
	if n := (len(mem) - skip) &^ (size - 1); n > 0 {
		_ = unix.Madvise(mem[skip:skip+n], unix.MADV_HUGEPAGE)
	}
}
