//go:build amd64

package shards

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/powercut"
)

// powerCutItems is small, because the build is completed in each of the folders that a power cut
// may leave.
const powerCutItems = 25

// TestPowerCutsLeaveACompleteDataSetOrNone cuts the power at each call of a build. The folder must
// hold the old data set, the new one, or none that opens, and the same build must end in the bytes
// of an undisturbed one.
func TestPowerCutsLeaveACompleteDataSetOrNone(t *testing.T) {
	other := small()
	other.Made.Unknown = []string{"other"}
	smaller := small()
	smaller.ShortSide = 7
	fewer := small()
	fewer.ImagesPerShard = 100
	for name, c := range map[string]struct{ old, now *Options }{
		"first build":               {nil, new(small())},
		"other words in BUILD.json": {new(small()), &other},
		"every shard is another":    {new(small()), &smaller},
		"fewer shards":              {new(small()), &fewer},
	} {
		t.Run(name, func(t *testing.T) {
			build := func(dir string, o *Options) error {
				_, err := Build(t.Context(), newSource(t, powerCutItems), dir, *o)
				return err
			}
			if dir := os.Getenv("HGLD_POWERCUT_CHILD"); dir != "" {
				must.Do(t, errors.Join(build(dir, c.now), powercut.Acknowledge(dir, "built")))
				return
			}
			dir, fresh := t.TempDir(), t.TempDir()
			var old map[string]string
			if c.old != nil {
				must.Do(t, build(dir, c.old))
				old = contents(t, dir)
			}
			must.Do(t, build(fresh, c.now))
			want := contents(t, fresh)
			trace := powercut.Record(t, powercut.Child(t, "HGLD_POWERCUT_CHILD="+dir), dir)
			trace.Check(t, func(dir string, cut *powercut.Crash) error {
				if err := wholeOrNone(t, dir, len(cut.Lines()) > 0, old, want); err != nil {
					return err
				}
				if err := build(dir, c.now); err != nil {
					return fmt.Errorf("the build after it: %w", err)
				}
				if got := contents(t, dir); !maps.Equal(got, want) {
					sameContents(t, got, want)
					return errors.New("the build after it has other files")
				}
				return nil
			})
		})
	}
}

// TestOrderOfABuildSurvivesAPowerCut checks three places where a sync was missing. The file that
// says which build owns the shards was not on disk before them. The old manifest could reappear
// when new shards had their final names. Old shards could reappear beside the new manifest.
func TestOrderOfABuildSurvivesAPowerCut(t *testing.T) {
	o := small()
	if dir := os.Getenv("HGLD_POWERCUT_CHILD"); dir != "" {
		mustBuild(t, newSource(t, powerCutItems), dir, o)
		o.ShortSide = 7
		mustBuild(t, newSource(t, powerCutItems), dir, o)
		o.ImagesPerShard = 100
		mustBuild(t, newSource(t, powerCutItems), dir, o)
		return
	}
	dir := t.TempDir()
	calls := powercut.Record(t, powercut.Child(t, "HGLD_POWERCUT_CHILD="+dir), dir).Calls()
	at := func(from int, prefix string) int {
		i := slices.IndexFunc(calls[from:], func(c string) bool { return strings.HasPrefix(c, prefix) })
		if i < 0 {
			t.Fatalf("no %q behind call %d of\n%s", prefix, from, strings.Join(calls, "\n"))
		}
		return from + i
	}
	for _, c := range []struct{ before, sync, behind string }{
		{"open " + LockName, "sync .", "rename data/"},
		{"remove " + ManifestFile, "sync .", "rename " + nextFolder},
		{"remove data/", "sync data", "rename ." + ManifestFile},
	} {
		i := at(0, c.before)
		if at(i, c.sync) > at(i, c.behind) {
			t.Errorf("no %s between %q and %q:\n%s", c.sync, c.before, c.behind, strings.Join(calls[i:at(i, c.behind)+1], "\n"))
		}
	}
}

// wholeOrNone returns an error unless dir is one of two data sets, or does not open as one. If a
// build was acknowledged, it must be the new one.
func wholeOrNone(t *testing.T, dir string, acknowledged bool, old, now map[string]string) error {
	set, err := Open(t.Context(), dir)
	if err != nil {
		if acknowledged || !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("it does not open: %w", err)
		}
		return nil
	}
	if err := set.Close(); err != nil {
		return err
	}
	if v := mustVerify(t, dir); len(v.Damage) > 0 {
		return fmt.Errorf("it opens and is damaged: %v", v.Damage)
	}
	got := contents(t, dir)
	holds := func(want map[string]string) bool {
		for name, data := range want {
			if got[name] != data {
				return false
			}
		}
		return want != nil
	}
	if !holds(now) && (acknowledged || !holds(old)) {
		return errors.New("it opens and is neither the old data set nor the new one")
	}
	return nil
}
