package shards

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

// TestKilledBuildsEndInTheSameBytes kills a building process repeatedly at random moments. What a
// kill leaves must not open as a data set unless it is complete, and the final bytes must be those
// of an undisturbed build. HGLD_KILLS=500 is the long form.
func TestKilledBuildsEndInTheSameBytes(t *testing.T) {
	if dir := os.Getenv("HGLD_BUILD_CHILD"); dir != "" {
		mustBuild(t, newSource(t, 150), dir, small())
		return
	}
	fresh := t.TempDir()
	start := time.Now()
	mustBuild(t, newSource(t, 150), fresh, small())
	whole := time.Since(start)
	want := contents(t, fresh)
	rng := rand.New(rand.NewPCG(7, 8))
	dir := t.TempDir()
	for range times(t, "HGLD_KILLS", 2) {
		finished := killed(t, time.Duration(rng.Int64N(int64(2*whole))), "HGLD_BUILD_CHILD="+dir)
		set, err := Open(t.Context(), dir)
		switch {
		case err == nil:
			if err := set.Close(); err != nil {
				t.Error(err)
			}
			sameContents(t, withoutLock(contents(t, dir)), want)
			dir = t.TempDir()
		case finished || !errors.Is(err, fs.ErrNotExist):
			t.Errorf("finished: %v, then %v", finished, err)
		}
	}
	mustBuild(t, newSource(t, 150), dir, small())
	sameContents(t, contents(t, dir), want)
}

// TestKilledBuildsLeaveNothingInTheScratchFolder kills builds whose shards lie in another folder until they are
// complete. No kill leaves a file there, and none half a shard in the data set.
func TestKilledBuildsLeaveNothingInTheScratchFolder(t *testing.T) {
	build := func(dir string) {
		o := small()
		o.Scratch = filepath.Join(dir, "scratch")
		mustBuild(t, newSource(t, 60), filepath.Join(dir, "set"), o)
	}
	if dir := os.Getenv("HGLD_BUILD_CHILD"); dir != "" {
		build(dir)
		return
	}
	fresh, dir := t.TempDir(), t.TempDir()
	scratch := filepath.Join(dir, "scratch")
	must.Do(t, os.Mkdir(scratch, 0o755))
	start := time.Now()
	mustBuild(t, newSource(t, 60), fresh, small())
	whole := time.Since(start)
	rng := rand.New(rand.NewPCG(13, 14))
	for range times(t, "HGLD_KILLS", 2) {
		killed(t, time.Duration(rng.Int64N(int64(2*whole))), "HGLD_BUILD_CHILD="+dir)
	}
	build(dir)
	sameContents(t, contents(t, filepath.Join(dir, "set")), contents(t, fresh))
	if left := contents(t, scratch); len(left) > 0 {
		t.Errorf("the scratch folder holds %d files", len(left))
	}
}

// killed runs the calling test in a process of its own, with a variable in its environment, and
// kills it after a while unless it has finished.
func killed(t *testing.T, after time.Duration, variable string) (finished bool) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), variable)
	must.Do(t, child.Start())
	time.Sleep(after)
	if err := child.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	return child.Wait() == nil
}

// withoutLock leaves out the lock file, because a build may be killed after it wrote the manifest
// and before it removed its lock.
func withoutLock(all map[string]string) map[string]string {
	delete(all, LockName)
	return all
}
