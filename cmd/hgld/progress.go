package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

const (
	every  = 30 * time.Second       // between two progress lines where there is no terminal
	redraw = 150 * time.Millisecond // between two states of a bar
	cells  = 40                     // of a bar
)

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
	bar   bool // on a terminal
	drawn int  // characters of the bar that are seen
}

// progress starts a display of total units (0: unknown).
func (j *job) progress(label string, total int) *progress {
	p := &progress{out: j.stderr, label: visibleName(label), total: int64(total), start: time.Now(), last: time.Now()}
	if j.quiet {
		p.out = io.Discard
	}
	if isTerminal(p.out) && os.Getenv("TERM") != "dumb" {
		p.bar = true
		p.draw()
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
	defer p.mu.Unlock()
	switch since := time.Since(p.last); {
	case p.bar && since >= redraw:
		p.last = time.Now()
		p.draw()
	case !p.bar && since >= every:
		p.last = time.Now()
		fmt.Fprintln(p.out, p.line())
	}
}

// draw shows the bar in place of the one before; the caller holds the lock. A line
// that is as wide as the terminal would break, and could not be drawn over.
func (p *progress) draw() {
	text := p.line()
	if p.total > 0 {
		full := int(cells * min(max(p.done, 0), p.total) / p.total)
		text = fmt.Sprintf("[%s%s] %s", strings.Repeat("=", full), strings.Repeat("-", cells-full), text)
	}
	if f, ok := p.out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			text = string([]rune(text)[:min(width-1, utf8.RuneCountInString(text))])
		}
	}
	p.replace(text)
}

// replace writes a text over what is seen of the bar.
func (p *progress) replace(text string) {
	n := utf8.RuneCountInString(text)
	fmt.Fprintf(p.out, "\r%s%s\r", text, strings.Repeat(" ", max(0, p.drawn-n)))
	p.drawn = n
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
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar {
		p.replace("")
		p.bar = false
	}
}
