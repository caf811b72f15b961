package shards

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/noflock"
)

// TestSlicesNeedNoLocks lets two processes build the same slice where flock fails in all known ways, and where it
// succeeds without locking (0), as two machines see it on some file systems. Both must succeed.
func TestSlicesNeedNoLocks(t *testing.T) {
	if dir, code, child := strings.Cut(os.Getenv("HGLD_SLICE_CHILD"), "|"); child {
		n, err := strconv.Atoi(code)
		if err != nil {
			t.Fatal(err)
		}
		if err := noflock.Deny(syscall.Errno(n)); err != nil {
			t.Fatal(err)
		}
		if _, err := BuildSlice(t.Context(), slowly(newSource(t, 60)), dir, 1, 2, small()); err != nil {
			t.Fatal(err)
		}
		return
	}
	whole := t.TempDir()
	mustBuild(t, newSource(t, 60), whole, small())
	want := contents(t, whole)
	for name, err := range map[string]syscall.Errno{"ENOSYS": syscall.ENOSYS, "ENOLCK": syscall.ENOLCK,
		"EOPNOTSUPP": syscall.EOPNOTSUPP, "granted to all": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var all []*exec.Cmd
			for range 2 {
				child := exec.Command(os.Args[0], "-test.run=^TestSlicesNeedNoLocks$")
				child.Env = append(os.Environ(), "HGLD_SLICE_CHILD="+dir+"|"+strconv.Itoa(int(err)))
				child.Stderr, child.Stdout = os.Stderr, os.Stderr
				if err := child.Start(); err != nil {
					t.Fatal(err)
				}
				all = append(all, child)
			}
			for i, child := range all {
				if err := child.Wait(); err != nil {
					t.Errorf("process %d: %v", i, err)
				}
			}
			s, err := BuildSlice(t.Context(), newSource(t, 60), dir, 1, 2, small())
			if err != nil || s.Kept != s.Shards {
				t.Errorf("of the slice, %+v is there: %v", s, err)
			}
			mustBuild(t, newSource(t, 60), dir, small())
			sameContents(t, contents(t, dir), want)
		})
	}
}

// slowly returns a source that takes a while to open an image, so that two builds of it overlap.
func slowly(s *memorySource) *memorySource {
	for i := range s.items {
		open := s.items[i].Open
		s.items[i].Open = func() (io.ReadCloser, error) {
			time.Sleep(20 * time.Millisecond)
			return open()
		}
	}
	return s
}
