package shards

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	if err := os.Mkdir(scratch, 0o755); err != nil {
		t.Fatal(err)
	}
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
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	if err := child.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
	return child.Wait() == nil
}

// TestKilledRebuildsNeverMixOldAndNewShards kills rebuilds that change only BUILD.json. At any
// moment the folder must hold the complete data set of one of the two builds, or none.
func TestKilledRebuildsNeverMixOldAndNewShards(t *testing.T) {
	rebuild := func(dir, round string) {
		o := small()
		o.Made.Unknown = []string{round}
		mustBuild(t, newSource(t, 60), dir, o)
	}
	if dir, round, child := strings.Cut(os.Getenv("HGLD_BUILD_CHILD"), "|"); child {
		rebuild(dir, round)
		return
	}
	dir, fresh := t.TempDir(), t.TempDir()
	rebuild(dir, "first")
	start := time.Now()
	rebuild(dir, "second")
	whole := time.Since(start)
	rng := rand.New(rand.NewPCG(9, 10))
	for i := range times(t, "HGLD_KILLS", 2) {
		killed(t, time.Duration(rng.Int64N(int64(2*whole))), fmt.Sprintf("HGLD_BUILD_CHILD=%s|%d", dir, i))
		if _, err := ReadManifest(t.Context(), dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if v := mustVerify(t, dir); len(v.Damage) > 0 {
			t.Fatalf("kill %d: %v", i, v.Damage)
		}
	}
	rebuild(dir, "last")
	rebuild(fresh, "last")
	sameContents(t, contents(t, dir), contents(t, fresh))
}

// TestKilledRebuildsKeepTheOldShards kills rebuilds that change all shards. At any moment the
// folder must be complete, and it may be without a data set only between the two.
func TestKilledRebuildsKeepTheOldShards(t *testing.T) {
	options := func(round string) Options {
		o := small()
		o.ShortSide = 10 + int(round[len(round)-1])%8
		return o
	}
	if dir, round, child := strings.Cut(os.Getenv("HGLD_BUILD_CHILD"), "|"); child {
		mustBuild(t, newSource(t, 60), dir, options(round))
		return
	}
	dir, fresh := t.TempDir(), t.TempDir()
	mustBuild(t, newSource(t, 60), dir, options("first"))
	start := time.Now()
	mustBuild(t, newSource(t, 60), dir, options("second"))
	whole := time.Since(start)
	rng := rand.New(rand.NewPCG(11, 12))
	for i := range times(t, "HGLD_KILLS", 2) {
		killed(t, time.Duration(rng.Int64N(int64(2*whole))), fmt.Sprintf("HGLD_BUILD_CHILD=%s|%d", dir, i))
		if _, err := ReadManifest(t.Context(), dir); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if v := mustVerify(t, dir); len(v.Damage) > 0 {
			t.Fatalf("kill %d: %v", i, v.Damage)
		}
	}
	mustBuild(t, newSource(t, 60), dir, options("last"))
	mustBuild(t, newSource(t, 60), fresh, options("last"))
	sameContents(t, contents(t, dir), contents(t, fresh))
}

// withoutLock leaves out the lock file, because a build may be killed after it wrote the manifest
// and before it removed its lock.
func withoutLock(all map[string]string) map[string]string {
	delete(all, LockName)
	return all
}
