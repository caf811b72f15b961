// Package ramdisk keeps the files of tests in memory: t.TempDir then makes folders in a file system
// that the kernel keeps there. Only tests import it.
package ramdisk

import (
	"os"
	"syscall"
)

const (
	folder = "/dev/shm"
	tmpfs  = 0x01021994 // TMPFS_MAGIC of Linux's magic.h
	room   = 4 << 30
)

// Use makes t.TempDir return folders in memory, if the system has 4 GiB for them and $TMPDIR does not
// name another place. Tests check what a program asks of a file system. A disk does it no better than
// memory, and took up to half of their processor time. TestMain calls Use.
func Use() {
	var fs syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(folder, &fs) != nil || fs.Type != tmpfs {
		return
	}
	if fs.Bavail*uint64(fs.Bsize) >= room && syscall.Access(folder, 2) == nil { // 2: writable
		os.Setenv("TMPDIR", folder)
	}
}
