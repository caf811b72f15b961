//go:build unix

package external

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Separate gives the process a group of its own, so that a Ctrl-C does not reach it. It ends when the training has
// asked for its state, or tells it to.
func Separate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// kill kills the process and its children.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// isPipe reports whether an error says that the other side is gone.
func isPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// waiting reads what a pipe holds now, at most len(b) bytes, and returns how many it read.
func waiting(pipe *os.File, b []byte) (n int) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	_ = conn.Read(func(fd uintptr) bool {
		n, err = syscall.Read(int(fd), b) // the poller keeps the pipe from blocking
		return true
	})
	return max(n, 0)
}
