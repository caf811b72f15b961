//go:build unix

package main

import (
	"bytes"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestFullDiskHasItsOwnExitCode(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{syscall.ENOSPC: "the disk is full", syscall.EDQUOT: "quota",
		syscall.EROFS: "read-only"} {
		var stderr bytes.Buffer
		code := reportError(&fs.PathError{Op: "open", Path: "labels.csv", Err: errno}, &stderr)
		if code != exitDiskFull || !strings.Contains(stderr.String(), want) || !strings.Contains(stderr.String(),
			"labels.csv") {
			t.Errorf("%v: exit code %d, %q", errno, code, &stderr)
		}
	}
}
