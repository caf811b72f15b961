//go:build !linux

package regular

import "os"

// ofKernel returns false: only Linux shows files of the kernel as regular ones.
func ofKernel(*os.File) bool { return false }
