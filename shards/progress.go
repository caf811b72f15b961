package shards

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"hgld/internal/filelock"
	"hgld/internal/terminal"
)

// SliceState is how far a slice is.
type SliceState struct {
	Slice  int  `json:"slice"`  // from 1
	Shards int  `json:"shards"` // that it has to build
	Built  int  `json:"built"`  // of these
	Done   bool `json:"done"`   // it need not be built again

	// By is the process at work on the slice, "" if there is none, or in an object store, which has no locks.
	By string `json:"by,omitempty"`
	// Rate is the number of shards that it has built in an hour, 0 before its first.
	Rate  float64 `json:"shards_per_hour,omitempty"`
	Hours float64 `json:"hours_left,omitempty"` // that it needs at this rate
}

// Slices returns how far each slice out of a number is. A slice is done with all its shards and its part; once the data
// set is finished, with its shards.
func (p *Preview) Slices(of int) ([]SliceState, error) {
	whole, err := p.b.finished()
	parts, other := readParts(p.b.dir, func(_, count int) bool { return count == of })
	names, listed := p.b.dir.list("")
	if errors.Is(listed, fs.ErrNotExist) {
		listed = nil
	}
	if err := errors.Join(err, other, listed); err != nil {
		return nil, fmt.Errorf("shards: %w", err)
	}
	list := make([]SliceState, of)
	for n := range list {
		list[n] = SliceState{Slice: n + 1, Done: whole}
	}
	id := p.b.plan.id()
	for _, q := range parts[of] {
		list[q.Slice-1].Done = list[q.Slice-1].Done || q.Plan == id
	}
	for i := range p.Shards {
		s := &list[(p.b.group(i)-1)%of]
		s.Shards++
		if p.Shards[i].There {
			s.Built++
		} else {
			s.Done = false
		}
	}
	for _, name := range names {
		m := sliceLocks().FindStringSubmatch(name)
		if m == nil || m[2] != strconv.Itoa(of) {
			continue
		}
		if n, _ := strconv.Atoi(m[1]); n >= 1 && n <= of {
			if err := p.watch(&list[n-1], of, name); err != nil {
				return nil, fmt.Errorf("shards: %w", err)
			}
		}
	}
	return list, nil
}

// watch adds the process that holds the lock of a slice, and what it has built since it took it.
func (p *Preview) watch(s *SliceState, of int, lock string) error {
	var held *filelock.LockedError
	if err := p.b.dir.checkLock(lock); !errors.As(err, &held) {
		return err
	}
	s.By = held.By.String()
	begun, err := stampOf(p.b.dir, lock)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has ended meanwhile
	}
	built, last := 0, begun
	for _, i := range p.b.slice(s.Slice, of) {
		if err != nil || !p.Shards[i].There {
			continue
		}
		var at int64
		if at, err = stampOf(p.b.dir, p.b.made[i].at); at > begun {
			built, last = built+1, max(last, at)
		}
	}
	if hours := time.Duration(last - begun).Hours(); hours > 0 {
		s.Rate = float64(built) / hours
		s.Hours = float64(s.Shards-s.Built) / s.Rate
	}
	return err
}

// SlicesText counts the slices, and lists those at work, the one that ends last first.
func SlicesText(list []SliceState) string {
	var work []SliceState
	done := 0
	for _, s := range list {
		switch {
		case s.Done:
			done++
		case s.By != "":
			work = append(work, s)
		}
	}
	slices.SortStableFunc(work, func(a, b SliceState) int { return cmp.Compare(b.Hours, a.Hours) })
	text := &strings.Builder{}
	fmt.Fprintf(text, "%s: %d done, %d at work, %d waiting\n", terminal.Count(len(list), "slice"), done, len(work),
		len(list)-done-len(work))
	for _, s := range work {
		fmt.Fprintf(text, "slice %d: %s has built %d of %s", s.Slice, s.By, s.Built, terminal.Count(s.Shards, "shard"))
		if s.Rate > 0 {
			left := time.Duration(s.Hours * float64(time.Hour)).Round(time.Second)
			fmt.Fprintf(text, ", %.1f an hour, %v left", s.Rate, left)
		}
		text.WriteString("\n")
	}
	return text.String()
}
