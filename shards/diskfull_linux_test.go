package shards

import (
	"testing"

	"hgld/internal/testing/smalldisk"
)

// TestDiskFullAnywhereLeavesTheStateGood builds on disks of 32, 96, 160 … KiB until
// one is large enough. Nothing may open as a data set on one that was too small, and
// with more room the next build must come to the right bytes.
func TestDiskFullAnywhereLeavesTheStateGood(t *testing.T) {
	src := newSource(t, 40)
	fresh := t.TempDir()
	mustBuild(t, src, fresh, small())
	want := contents(t, fresh)
	smalldisk.Run(t, 32, 64,
		func(dir string) error {
			_, err := Build(t.Context(), src, dir, small())
			if err == nil {
				return nil
			}
			if _, opened := Open(dir); opened == nil {
				t.Error("the folder opens")
			}
			return err
		},
		func(dir string) { mustBuild(t, src, dir, small()) },
		func(dir string) { sameContents(t, contents(t, dir), want) })
}

// TestDiskFullKeepsTheFinishedSet builds a second data set in the place of one, with
// other shards, on disks that are full at every point of it.
func TestDiskFullKeepsTheFinishedSet(t *testing.T) {
	src := newSource(t, 40)
	other := small()
	other.ShortSide = 18
	fresh := t.TempDir()
	mustBuild(t, src, fresh, other)
	want := contents(t, fresh)
	smalldisk.Run(t, 64, 64,
		func(dir string) error {
			if _, err := Build(t.Context(), src, dir, small()); err != nil {
				return err
			}
			_, err := Build(t.Context(), src, dir, other)
			if v := mustVerify(t, dir); len(v.Damage) > 0 {
				t.Errorf("damage %v", v.Damage)
			}
			return err
		},
		func(dir string) { mustBuild(t, src, dir, other) },
		func(dir string) { sameContents(t, contents(t, dir), want) })
}
