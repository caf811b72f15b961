package shards

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/internal/testing/noflock"
)

// TestSlicesNeedNoLocks lets two processes build the same slice where flock fails in all known ways, and where it
// succeeds without locking (0), as two machines see it on some file systems. Both must succeed.
func TestSlicesNeedNoLocks(t *testing.T) {
	if dir, code, child := strings.Cut(os.Getenv("HGLD_SLICE_CHILD"), "|"); child {
		n := must.Get(strconv.Atoi(code))(t)
		must.Do(t, noflock.Deny(syscall.Errno(n)))
		if strings.HasSuffix(dir, "finish") {
			finishHere(t, filepath.Dir(dir))
			return
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
			start := func(dir string) *exec.Cmd {
				child := exec.Command(os.Args[0], "-test.run=^TestSlicesNeedNoLocks$")
				child.Env = append(os.Environ(), "HGLD_SLICE_CHILD="+dir+"|"+strconv.Itoa(int(err)))
				child.Stderr = os.Stderr
				must.Do(t, child.Start())
				return child
			}
			all := []*exec.Cmd{start(dir), start(dir)}
			for i, child := range all {
				if err := child.Wait(); err != nil {
					t.Errorf("process %d: %v", i, err)
				}
			}
			s, err := BuildSlice(t.Context(), newSource(t, 60), dir, 1, 2, small())
			if err != nil || s.Kept != s.Shards {
				t.Errorf("of the slice, %+v is there: %v", s, err)
			}
			if err := start(filepath.Join(dir, "finish")).Wait(); err != nil {
				t.Error(err)
			}
			sameContents(t, contents(t, dir), want)
		})
	}
}

// finishHere builds the second of two slices and finishes the data set. A build then finds everything done.
func finishHere(t *testing.T, dir string) {
	t.Helper()
	if _, err := BuildSlice(t.Context(), newSource(t, 60), dir, 2, 2, small()); err != nil {
		t.Fatal(err)
	}
	if _, err := Finish(t.Context(), dir, small()); err != nil {
		t.Fatal(err)
	}
	mustBuild(t, newSource(t, 60), dir, small())
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

// Hundreds of tasks that start at once look at the lock of the whole folder together. On a slow server, one of them may
// look for longer than another would wait.
func TestSlicesStartWhileOthersLookAtTheFolder(t *testing.T) {
	dir := t.TempDir()
	f := must.Get(os.Create(filepath.Join(dir, LockName)))(t)
	defer f.Close()
	must.Do(t, syscall.Flock(int(f.Fd()), syscall.LOCK_SH))
	var all sync.WaitGroup
	for n := range 40 {
		all.Go(func() {
			if _, err := BuildSlice(t.Context(), newSource(t, 40), dir, n+1, 40, small()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
