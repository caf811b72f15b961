package shards

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"hgld/internal/filelock"
)

// Slice is the outcome of BuildSlice.
type Slice struct {
	Shards   int       // of the slice
	Images   int       // in them, failures included
	Kept     int       // shards that were already built
	Failures []Failure // images that were left out
}

// BuildSlice builds slice n of of: the shards n, n+of, n+2·of …, counted from 1. A
// shard is a function of its number and the items, so several processes, on several
// machines with one folder, can build a data set together. A Build afterwards finds all
// shards finished and writes the other files. Until then the folder has no manifest and
// is not a data set.
//
// If the folder holds a finished data set, the shards of a slice stay in a temporary
// folder until that Build. BuildSlice returns the *RefusedErrors that can be found
// before any image is opened; Build checks the rest.
//
// BuildSlice returns a *filelock.LockedError if another process works on the slice, or
// a Build on the folder.
func BuildSlice(ctx context.Context, src Source, dir string, n, of int, o Options) (s *Slice, err error) {
	defer nameFolder(&err, fmt.Sprintf("%s: slice %d of %d", dir, n, of))
	if n < 1 || n > of {
		return nil, errors.New("want a number from 1 to the number of slices")
	}
	b, err := newBuilder(ctx, src, dir, o, OfSlice(n, of))
	if err != nil {
		return nil, err
	}
	if err := b.checkPublishEarly(); err != nil {
		return nil, err
	}
	if err := makeFolder(b.dir); err != nil {
		return nil, err
	}
	lock, err := b.dir.lock(ctx, fmt.Sprintf("%s-%d-of-%d", LockName, n, of))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := markFolder(ctx, b.dir); err != nil {
		return nil, err
	}
	if err := b.chooseFolder(); err != nil {
		return nil, err
	}
	mine := b.slice(n, of)
	for _, i := range mine {
		for _, at := range []string{b.plan.shards[i].name, waitingPath(b.plan.shards[i].name)} {
			b.dir.tidy(nil, []string{at, indexName(at)})
		}
	}
	if err := b.dropOtherPart(n, of); err != nil {
		return nil, err
	}
	b.foreign = func(slice, count int) bool { return count == of && slice != n }
	if err := b.run(ctx, mine); err != nil {
		return nil, err
	}
	if err := b.writePart(ctx, src, n, of); err != nil {
		return nil, err
	}
	s = &Slice{Shards: len(mine)}
	for _, i := range mine {
		s.Images += b.plan.shards[i].count
		s.Failures = append(s.Failures, b.made[i].failures...)
		if b.made[i].kept {
			s.Kept++
		}
	}
	return s, nil
}

// OfSlice tells which groups of items belong to slice n of of: see Item.Group.
func OfSlice(n, of int) func(group int) bool {
	return func(group int) bool { return (group-1)%of == n-1 }
}

// slice returns the shards of a slice.
func (b *builder) slice(n, of int) []int {
	var list []int
	mine := OfSlice(n, of)
	for i := range b.plan.shards {
		if mine(b.group(i)) {
			list = append(list, i)
		}
	}
	return list
}

// group returns the group of a shard, which decides its slice: that of its items, or else its number from 1.
func (b *builder) group(i int) int { return cmp.Or(b.plan.shards[i].group, i+1) }

// markFolder writes the file that marks shards without a manifest as hgld's, makes their folder, and checks
// that no Build holds the mark. Slices that start together do not wait for each other. A Build that finds a
// slice at work holds it for a moment.
func markFolder(ctx context.Context, dir folder) error {
	for try := 0; ; try++ {
		err := dir.checkLock(LockName)
		if err == nil {
			return errors.Join(markDurable(dir), dir.makeFolder("data"))
		}
		const tries = 50
		if !errors.As(err, new(*filelock.LockedError)) || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// endSlices removes the locks of finished slices. A lock that is held is a
// *filelock.LockedError.
func endSlices(ctx context.Context, dir folder) error {
	names, err := dir.list("")
	if err != nil {
		return err
	}
	for _, name := range names {
		if !sliceLocks().MatchString(name) {
			continue
		}
		lock, err := dir.lock(ctx, name)
		if err != nil {
			return err
		}
		if err := lock.Remove(); err != nil {
			return err
		}
	}
	return nil
}

// sliceLocks matches the lock files of slices, with the number of the slice and of all.
func sliceLocks() *regexp.Regexp { return regexp.MustCompile(`^\` + LockName + `-(\d+)-of-(\d+)$`) }

// Planned is a shard that Build would write.
type Planned struct {
	Name   string `json:"name"`   // path below the folder
	Images int    `json:"images"` // that it will hold
	Bytes  int64  `json:"bytes"`  // of the images as they are in the source
	There  bool   `json:"there"`  // made of the same items and whole
}

// Preview is what a build would do in a folder.
type Preview struct {
	Shards []Planned // of the data set, in order
	b      *builder
}

// Plan lists the shards that Build would write for src in dir, and which of them exist. It changes nothing.
func Plan(ctx context.Context, src Source, dir string, o Options) (p *Preview, err error) {
	defer nameFolder(&err, dir)
	b, err := newBuilder(ctx, src, dir, o, func(int) bool { return false })
	if err == nil {
		err = b.reuse(ctx, b.slice(1, 1), 0)
	}
	if err != nil {
		return nil, err
	}
	p = &Preview{make([]Planned, len(b.plan.shards)), b}
	for i := range b.plan.shards {
		s := &b.plan.shards[i]
		p.Shards[i] = Planned{Name: s.name, Images: s.count, Bytes: s.bytes, There: b.made[i].kept}
	}
	return p, nil
}
