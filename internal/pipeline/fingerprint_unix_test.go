//go:build unix

package pipeline

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

func TestNamedPipeIsNotReadForItsFingerprint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "labels.csv")
	must.Do(t, syscall.Mkfifo(path, 0o644))
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
