//go:build !unix

package external

import (
	"errors"
	"os/exec"
	"syscall"
)

// Separate does nothing where there are no process groups.
func Separate(*exec.Cmd) {}

// kill kills the process.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// isPipe reports whether an error says that the other side is gone.
func isPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
