//go:build unix

package pipeline

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestNamedPipeIsNotReadForItsFingerprint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "labels.csv")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := new(Pipeline).fingerprint(path)
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the fingerprint waits for somebody to write into the pipe")
	}
}
