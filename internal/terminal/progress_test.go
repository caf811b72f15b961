package terminal

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressBarIsRedrawnAndRemoved(t *testing.T) {
	var out bytes.Buffer
	bar := &Progress{out: &out, label: "encoding", total: 200, bar: true, Began: time.Now().Add(-10 * time.Second)}
	bar.Set(100, "a note")
	bar.Set(120, "too soon to be drawn")
	bar.last = time.Time{}
	bar.note = ""
	bar.Set(200, "")
	bar.End()
	bar.End()
	half := "[" + strings.Repeat("=", 20) + strings.Repeat("-", 20) + "] encoding: 100 of 200, 10s left, a note"
	whole := "[" + strings.Repeat("=", 40) + "] encoding: 200 of 200, 0s left"
	want := "\r" + half + "\r" + "\r" + whole + strings.Repeat(" ", len(half)-len(whole)) +
		"\r" + "\r" + strings.Repeat(" ", len(whole)) + "\r"
	if got := out.String(); got != want {
		t.Errorf("drawn\n%q, want\n%q", got, want)
	}
}

// The steps of an earlier process do not affect the speed of this one.
func TestTimeLeftIgnoresEarlierProcesses(t *testing.T) {
	now := time.Now()
	p := &Progress{total: 1000, Began: now.Add(-10 * time.Second), last: now}
	p.From(900)
	if left := p.timeLeft(); left != "" {
		t.Errorf("before the first step:%s", left)
	}
	p.Set(950, "")
	if left := p.timeLeft(); left != " 10s left" {
		t.Errorf("50 steps in 10 seconds and 50 to go:%s", left)
	}
}
