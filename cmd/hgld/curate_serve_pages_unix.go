//go:build unix

package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// letGo tells the system that a part of a mapped file will not be read again, so
// that its pages do not count as this process's. It is a hint: what cannot be let
// go stays. Where the file could not be mapped and was read, what is let go holds
// zeros afterwards.
func letGo(mapped []byte) {
	if len(mapped) == 0 {
		return
	}
	page := uintptr(unix.Getpagesize())
	skip := int(-uintptr(unsafe.Pointer(&mapped[0])) & (page - 1))
	if whole := (len(mapped) - skip) &^ int(page-1); skip < len(mapped) && whole > 0 {
		_ = unix.Madvise(mapped[skip:skip+whole], unix.MADV_DONTNEED)
	}
}
