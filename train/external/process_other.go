//go:build !unix

package external

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Separate does nothing where there are no process groups.
func Separate(*exec.Cmd) {}

// kill kills the process.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// isPipe reports whether an error says that the other side is gone.
func isPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// waiting reads nothing where a pipe cannot be read without waiting.
func waiting(*os.File, []byte) int { return 0 }
