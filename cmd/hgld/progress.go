package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// every is the time between two progress lines where there is no terminal.
const every = 30 * time.Second

// progress shows how far a long job is: a bar on a terminal, a line every 30
// seconds otherwise. It is safe for concurrent use.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	label string
	total int64
	first int64 // done before this process began
	done  int64
	start time.Time
	last  time.Time
	note  string
	pool  *mpb.Progress
	bar   *mpb.Bar
}

// progress starts a display of total units (0: unknown).
func (j *job) progress(label string, total int) *progress {
	p := &progress{out: j.stderr, label: visibleName(label), total: int64(total), start: time.Now(), last: time.Now()}
	if j.quiet {
		p.out = io.Discard
	}
	if isTerminal(p.out) && os.Getenv("TERM") != "dumb" {
		p.pool = mpb.New(mpb.WithOutput(p.out), mpb.WithWidth(40), mpb.WithRefreshRate(150*time.Millisecond))
		p.bar = p.pool.AddBar(int64(total), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(label+" "), decor.CountersNoUnit("%d/%d ")),
			mpb.AppendDecorators(decor.Percentage(), decor.Any(func(decor.Statistics) string { p.mu.Lock(); defer p.mu.Unlock(); return p.left() + " " + p.note })))
	}
	return p
}

// from says that so many units were finished before: the time that is left is
// reckoned from the others.
func (p *progress) from(done int) {
	p.mu.Lock()
	p.first = int64(done)
	p.mu.Unlock()
	p.set(done, "")
}

// set says that done units are finished.
func (p *progress) set(done int, note string) {
	p.mu.Lock()
	p.done = int64(done)
	if note != "" {
		p.note = visibleName(note)
	}
	line := ""
	if p.bar == nil && time.Since(p.last) >= every {
		p.last = time.Now()
		line = p.line()
	}
	p.mu.Unlock()
	if p.bar != nil {
		p.bar.SetCurrent(int64(done))
	}
	if line != "" {
		fmt.Fprintln(p.out, line)
	}
}

// line describes the state in one line; the caller holds the lock.
func (p *progress) line() string {
	s := fmt.Sprintf("%s: %d", p.label, p.done)
	if p.total > 0 {
		s += fmt.Sprintf(" of %d", p.total)
	}
	if left := p.left(); left != "" {
		s += "," + left
	}
	if p.note != "" {
		s += ", " + p.note
	}
	return s
}

// left says how long the rest will take at the speed so far, "" where that is
// unknown; the caller holds the lock.
func (p *progress) left() string {
	if p.total <= 0 || p.done <= p.first {
		return ""
	}
	left := time.Duration(float64(time.Since(p.start)) / float64(p.done-p.first) * float64(p.total-p.done))
	return fmt.Sprintf(" %v left", left.Round(time.Second))
}

// end removes the bar.
func (p *progress) end() {
	if p.bar == nil {
		return
	}
	p.bar.Abort(true)
	p.pool.Wait()
}
