package cpu

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// largePages asks for pages of 2 MiB in mem, where it covers them wholly: the rows of a tile
// lie in so many pages of 4 KiB that their addresses do not fit the first-level buffer of
// translations. A refusal changes the speed only.
func largePages(mem []byte) {
	const size = 2 << 20
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (size - 1))
	if n := (len(mem) - skip) &^ (size - 1); n > 0 {
		_ = unix.Madvise(mem[skip:skip+n], unix.MADV_HUGEPAGE)
	}
}
