package regular

import (
	"os"
	"slices"
	"syscall"
)

// kernelFiles are the types of the file systems proc, debugfs and tracefs (statfs(2)).
var kernelFiles = []int64{0x9fa0, 0x64626720, 0x74726163}

// ofKernel reports whether a file is one of the kernel's. Their mode says that they are regular.
func ofKernel(f *os.File) bool {
	var s syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &s) == nil && slices.Contains(kernelFiles, int64(s.Type))
}
