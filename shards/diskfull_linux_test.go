package shards

import (
	"testing"

	"hgld/internal/smalldisk"
)

// TestDiskFullAnywhereLeavesTheStateGood builds on disks of 32, 48, 64 … KiB until
// one is large enough. Nothing may open as a data set on one that was too small, and
// with more room the next build must come to the right bytes.
func TestDiskFullAnywhereLeavesTheStateGood(t *testing.T) {
	src := newSource(t, 40)
	fresh := t.TempDir()
	mustBuild(t, src, fresh, small())
	want := contents(t, fresh)
	smalldisk.Run(t, 32, 16,
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
