package shards

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestKilledBuildsEndInTheSameBytes kills a building process again and again at
// random moments. What a kill leaves must not open as a data set unless it is
// whole, and in the end the bytes are those of an unhindered build. HGLD_KILLS=500
// is the long form.
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
	for range times(t, "HGLD_KILLS", 5) {
		child := exec.Command(os.Args[0], "-test.run=^TestKilledBuildsEndInTheSameBytes$")
		child.Env = append(os.Environ(), "HGLD_BUILD_CHILD="+dir)
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.Int64N(int64(2 * whole))))
		if err := child.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		finished := child.Wait() == nil
		set, err := Open(dir)
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

// withoutLock leaves out the lock file: a build may be killed between the manifest
// and the removal of its lock.
func withoutLock(all map[string]string) map[string]string {
	delete(all, lockName)
	return all
}
