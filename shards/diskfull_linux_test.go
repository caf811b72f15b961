package shards

import (
	"testing"

	"hgld/internal/objectstore"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/fakes3"
	"hgld/internal/testing/smalldisk"
)

// diskStep is the difference in KiB between one disk and the next.
func diskStep() int {
	if effort.Exhaustive() {
		return 16
	}
	return 64
}

// TestDiskFullLeavesAValidState builds on disks from 32 KiB on until one is large enough. On a
// smaller one nothing may open as a data set, and with more room the next build must give the right
// bytes.
func TestDiskFullLeavesAValidState(t *testing.T) {
	src := newSource(t, 40)
	fresh := t.TempDir()
	mustBuild(t, src, fresh, small())
	want := contents(t, fresh)
	smalldisk.Run(t, 32, diskStep(),
		func(dir string) error {
			_, err := Build(t.Context(), src, dir, small())
			if err == nil {
				return nil
			}
			if _, opened := Open(t.Context(), dir); opened == nil {
				t.Error("the folder opens")
			}
			return err
		},
		func(dir string) { mustBuild(t, src, dir, small()) },
		func(dir string) { sameContents(t, contents(t, dir), want) })
}

// TestDiskFullKeepsTheFinishedSet rebuilds a data set with other shards, on disks that are full at
// every point of the build.
func TestDiskFullKeepsTheFinishedSet(t *testing.T) {
	src := newSource(t, 40)
	other := small()
	other.ShortSide = 18
	fresh := t.TempDir()
	mustBuild(t, src, fresh, other)
	want := contents(t, fresh)
	smalldisk.Run(t, 64, diskStep(),
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

// A disk of the cache that is full says nothing about the data set.
func TestFullCacheDiskIsNoDamage(t *testing.T) {
	local := t.TempDir()
	mustBuild(t, newSource(t, 40), local, small())
	server := fakes3.Start(t)
	for name, data := range contents(t, local) {
		server.Put("sets/one/"+name, []byte(data), false)
	}
	verify := func(dir string) error {
		t.Setenv(objectstore.CacheVariable, dir)
		v, err := Verify(t.Context(), place, VerifyOptions{})
		if err == nil && len(v.Damage) > 0 {
			t.Errorf("damage %v", v.Damage)
		}
		return err
	}
	smalldisk.Run(t, 4, diskStep(), verify, func(dir string) {
		if err := verify(dir); err != nil {
			t.Error(err)
		}
	}, func(string) {})
}

// TestFullScratchDiskLeavesAValidState has the scratch folder on disks that are full at every point of the build.
func TestFullScratchDiskLeavesAValidState(t *testing.T) {
	src := newSource(t, 40)
	fresh := t.TempDir()
	mustBuild(t, src, fresh, small())
	var set string
	build := func(scratch string) error {
		o := small()
		o.Scratch = scratch
		_, err := Build(t.Context(), src, set, o)
		return err
	}
	smalldisk.Run(t, 4, 4,
		func(scratch string) error {
			set = t.TempDir()
			return build(scratch)
		},
		func(scratch string) {
			if err := build(scratch); err != nil {
				t.Error(err)
			}
		},
		func(string) { sameContents(t, contents(t, set), contents(t, fresh)) })
}
