package scrape_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"hgld/internal/testing/must"
	"hgld/scrape"
)

// nobody is a user without permission to read the files of the tests.
const nobody = 65534

// TestPlanReadsAFolderThatCannotBeWritten reads a finished crawl as another user. It uses a thread
// that drops its privileges, because root may read everything.
func TestPlanReadsAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(3))
	dir := t.TempDir()
	cfg := s.config(t, dir)
	mustRun(t, cfg)
	for path, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, cfg.State: 0o555} {
		must.Do(t, os.Chmod(path, mode))
	}
	defer os.Chmod(cfg.State, 0o755)
	type answer struct {
		plan scrape.Plan
		err  error
	}
	answers := make(chan answer)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with its reduced privileges
		if os.Getuid() == 0 {
			if err := unix.Setfsuid(nobody); err != nil {
				answers <- answer{err: err}
				return
			}
		}
		plan, err := scrape.NewPlan(cfg)
		answers <- answer{plan, err}
	}()
	if a := <-answers; a.err != nil || a.plan.Done != 3 || a.plan.Requests != 0 {
		t.Errorf("plan %+v, error %v", a.plan, a.err)
	}
	left := must.Get(os.ReadDir(cfg.State))(t)
	for _, e := range left {
		if e.Name() == "scrape.db-wal" || e.Name() == "scrape.db-shm" {
			t.Errorf("%s is there: the folder could be written", e.Name())
		}
	}
}
