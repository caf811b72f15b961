//go:build unix

package regular

import "syscall"

// nonBlocking keeps open from waiting, should the path lead to a named pipe after all.
const nonBlocking = syscall.O_NONBLOCK
