//go:build unix

package usertime

import (
	"syscall"
	"time"
)

// now returns the user time of this process so far.
func now() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano())
}
