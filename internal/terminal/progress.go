package terminal

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

// LineEvery is the time between two lines of progress that go to no terminal.
const LineEvery = 30 * time.Second

const (
	redraw   = 150 * time.Millisecond // between two states of a bar
	barCells = 40
)

// Progress shows how far a long job is: a bar on a terminal, and a line every 30 seconds
// elsewhere. It is safe for concurrent use.
type Progress struct {
	// Began is when the work began. The time left is extrapolated from it. Only the
	// owner may set it, before the first call.
	Began time.Time

	mu    sync.Mutex
	out   io.Writer
	label string
	total int64
	first int64 // done before this process began
	done  int64
	last  time.Time
	note  string
	bar   bool // on a terminal
	drawn int  // characters of the bar on the screen
}

// NewProgress starts a display on out. The work has total units; 0 means unknown.
func NewProgress(out io.Writer, label string, total int) *Progress {
	now := time.Now()
	p := &Progress{Began: now, out: out, label: VisibleName(label), total: int64(total), last: now}
	if Is(out) && os.Getenv("TERM") != "dumb" {
		p.bar = true
		p.draw()
	}
	return p
}

// Is reports whether w writes to a terminal. It looks below writers with a method Unwrap.
func Is(w io.Writer) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// file returns the file that w writes to.
func file(w io.Writer) (*os.File, bool) {
	if u, ok := w.(interface{ Unwrap() io.Writer }); ok {
		w = u.Unwrap()
	}
	f, ok := w.(*os.File)
	return f, ok
}

// From sets the number of units that an earlier process finished. The time left is
// extrapolated from the others.
func (p *Progress) From(done int) {
	p.mu.Lock()
	p.first = int64(done)
	p.mu.Unlock()
	p.Set(done, "")
}

// Set sets the number of finished units. An empty note keeps the one before.
func (p *Progress) Set(done int, note string) {
	p.mu.Lock()
	p.done = int64(done)
	if note != "" {
		p.note = VisibleName(note)
	}
	defer p.mu.Unlock()
	switch since := time.Since(p.last); {
	case p.bar && since >= redraw:
		p.last = time.Now()
		p.draw()
	case !p.bar && since >= LineEvery:
		p.last = time.Now()
		fmt.Fprintln(p.out, p.line())
	}
}

// draw draws the bar over the one before; the caller holds the lock. A line as wide as the
// terminal would wrap, and could not be drawn over.
func (p *Progress) draw() {
	text := p.line()
	if p.total > 0 {
		full := int(barCells * min(max(p.done, 0), p.total) / p.total)
		text = fmt.Sprintf("[%s%s] %s", strings.Repeat("=", full), strings.Repeat("-", barCells-full), text)
	}
	if f, ok := file(p.out); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			text = string([]rune(text)[:min(width-1, utf8.RuneCountInString(text))])
		}
	}
	p.redraw(text)
}

// redraw draws a text over the bar.
func (p *Progress) redraw(text string) {
	n := utf8.RuneCountInString(text)
	fmt.Fprintf(p.out, "\r%s%s\r", text, strings.Repeat(" ", max(0, p.drawn-n)))
	p.drawn = n
}

// Line describes the state in one line.
func (p *Progress) Line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line()
}

// line is Line for a caller that holds the lock.
func (p *Progress) line() string {
	s := fmt.Sprintf("%s: %d", p.label, p.done)
	if p.total > 0 {
		s += fmt.Sprintf(" of %d", p.total)
	}
	if left := p.timeLeft(); left != "" {
		s += "," + left
	}
	if p.note != "" {
		s += ", " + p.note
	}
	return s
}

// timeLeft extrapolates how long the rest will take, or returns "" if it cannot; the caller
// holds the lock.
func (p *Progress) timeLeft() string {
	if p.total <= 0 || p.done <= p.first {
		return ""
	}
	left := time.Duration(float64(time.Since(p.Began)) / float64(p.done-p.first) * float64(p.total-p.done))
	return fmt.Sprintf(" %v left", left.Round(time.Second))
}

// End removes the bar.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar {
		p.redraw("")
		p.bar = false
	}
}
