//go:build unix

package space

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// release tells the system that part of a mapped file will not be read again, so that
// its pages no longer count towards this process. It is a hint, and errors are
// ignored. If the file was read into memory rather than mapped, the released part
// holds zeros afterwards.
func release(mapped []byte) {
	if len(mapped) == 0 {
		return
	}
	page := uintptr(unix.Getpagesize())
	skip := int(-uintptr(unsafe.Pointer(&mapped[0])) & (page - 1))
	if whole := (len(mapped) - skip) &^ int(page-1); skip < len(mapped) && whole > 0 {
		_ = unix.Madvise(mapped[skip:skip+whole], unix.MADV_DONTNEED)
	}
}
