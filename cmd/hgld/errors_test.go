package main

import (
	"bytes"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// stubborn is a writer that fails with err.
type stubborn struct{ err error }

func (s stubborn) Write([]byte) (int, error) { return 0, s.err }

func TestWriteErrorOnStdoutFailsTheCommand(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}, exitDiskFull},
		{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EIO}, exitFailed},
		{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, exitOK}, // hgld … | head
	} {
		for _, args := range []string{"version", "version --json", "doctor", "--help", "config schema", "train losses",
			"completion bash", "config"} {
			var stderr bytes.Buffer
			if code := hgld(append([]string{"hgld"}, strings.Fields(args)...), stubborn{c.err}, &stderr); code != c.code {
				t.Errorf("hgld %s, %v: exit code %d, want %d", args, c.err, code, c.code)
			}
			if n := strings.Count(stderr.String(), c.err.Error()); c.code != exitOK && n != 1 {
				t.Errorf("hgld %s: the error stands %d times in %q", args, n, &stderr)
			}
		}
	}
}
