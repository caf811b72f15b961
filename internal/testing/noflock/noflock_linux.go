// Package noflock lets flock(2) fail in a process of a test, as it does on file systems without locks.
package noflock

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Deny makes every call of flock in this process, and in those that it starts, return an error from now on: ENOSYS, as
// a Lustre client without -o flock does, ENOLCK, as an NFS client without a lock daemon, EOPNOTSUPP, as some file
// systems of FUSE. With 0, flock succeeds without locking anything: so two machines see NFS with local_lock=all, and
// Lustre with -o localflock. It cannot be undone.
func Deny(err syscall.Errno) error {
	const loadNumber, ifEqual, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_RET | unix.BPF_K
	code := []unix.SockFilter{
		{Code: loadNumber, K: 0}, // of the system call: the first field of struct seccomp_data
		{Code: ifEqual, K: unix.SYS_FLOCK, Jt: 0, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_ERRNO | uint32(err)&unix.SECCOMP_RET_DATA},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if failed != 0 {
		return failed
	}
	return nil
}
