//go:build unix

package external

import (
	"errors"
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
