package shards

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hgld/internal/filelock"
	"hgld/internal/testing/must"
)

// missingSlices lists the slices that are not done.
func missingSlices(p *Preview, of int) (list []int, err error) {
	states, err := p.Slices(of)
	for _, s := range states {
		if !s.Done {
			list = append(list, s.Slice)
		}
	}
	return list, err
}

// Who works, how fast and for how long still is read from the locks and the shards.
func TestSlicesAtWorkAreShown(t *testing.T) {
	dir := t.TempDir()
	buildSlices(t, dir, 2, 1)
	buildSlices(t, dir, 2, 2)
	remove(t, dir, partName(2, 2))
	lock := must.Get(filelock.Acquire(filepath.Join(dir, LockName+"-2-of-2")))(t)
	defer lock.Close()
	now := time.Now()
	age := func(name string, hours time.Duration) {
		must.Do(t, os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), now, now.Add(-hours*time.Hour)))
	}
	age(LockName+"-2-of-2", 4)
	p := must.Get(Plan(t.Context(), richSource(t), dir, rich()))(t)
	own := p.b.slice(2, 2)
	if len(own) < 3 {
		t.Fatalf("%d shards in the slice, want three or more", len(own))
	}
	for k, i := range own { // the last is missing, the first was there before, and the others took two hours
		switch at := p.b.made[i].at; k {
		case 0:
			age(at, 9)
		case len(own) - 1:
			remove(t, dir, at)
		default:
			age(at, 2)
		}
	}
	p = must.Get(Plan(t.Context(), richSource(t), dir, rich()))(t)
	list := must.Get(p.Slices(2))(t)
	n := len(own)
	rate := float64(n-2) / 2
	one := SliceState{Slice: 1, Shards: len(p.Shards) - n, Built: len(p.Shards) - n, Done: true}
	two := SliceState{Slice: 2, Shards: n, Built: n - 1, By: filelock.Self().String(), Rate: rate, Hours: 1 / rate}
	if len(list) != 2 || list[0] != one || list[1] != two {
		t.Errorf("%+v, want %+v and %+v", list, one, two)
	}
	left := time.Duration(float64(time.Hour) / rate).Round(time.Second)
	text := fmt.Sprintf("2 slices: 1 done, 1 at work, 0 waiting\n"+
		"slice 2: %s has built %d of %d shards, %.1f an hour, %v left\n", two.By, n-1, n, rate, left)
	if got := SlicesText(list); got != text {
		t.Errorf("%s, want %s", got, text)
	}
}
