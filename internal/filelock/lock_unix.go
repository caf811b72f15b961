//go:build unix && !solaris && !aix

package filelock

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// flock is flock(2). Tests replace it.
var flock = unix.Flock

// tryLock takes an advisory lock on the open file, and reports whether it was free.
func tryLock(f *os.File) (bool, error) { return try(f, unix.LOCK_EX) }

// tryShare takes a lock that others can share, and reports whether nobody had the file for himself.
func tryShare(f *os.File) (bool, error) { return try(f, unix.LOCK_SH) }

func try(f *os.File, how int) (bool, error) {
	err := flock(int(f.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// unlock releases the lock at once. Closing the file is not enough, because a process that is being
// started shares the open file until it executes its program.
func unlock(f *os.File) error { return flock(int(f.Fd()), unix.LOCK_UN) }

// unsupported reports whether an error says that the file system has no locks: Lustre without -o flock, NFS without a
// lock daemon, and some file systems of FUSE, in this order.
func unsupported(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.EOPNOTSUPP)
}

// alive reports whether a process of this machine runs.
func alive(pid int) bool { return !errors.Is(unix.Kill(pid, 0), syscall.ESRCH) }
