//go:build unix

package remember

import "syscall"

// errReadOnly is the error of a file system without writing.
var errReadOnly error = syscall.EROFS
