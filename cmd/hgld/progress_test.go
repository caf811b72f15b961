package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"hgld/scrape"
)

// What an earlier process did took it no time: 10 titles of 100 in ten seconds leave
// 40, not 60 in a hurry.
func TestResumedCrawlReckonsWithItsOwnTitles(t *testing.T) {
	bar := &progress{out: io.Discard, label: "scraping", total: 100, start: time.Now().Add(-10 * time.Second), last: time.Now()}
	show := showCrawl(bar, 50)
	if got := bar.line(); got != "scraping: 50 of 100" {
		t.Errorf("before the first title: %q", got)
	}
	show(scrape.Progress{Done: 60, Total: 100})
	if got := bar.line(); got != "scraping: 60 of 100, 40s left, 0 with a tag" {
		t.Errorf("line %q", got)
	}
}

func TestBarIsDrawnOverAndRemoved(t *testing.T) {
	var out bytes.Buffer
	bar := &progress{out: &out, label: "encoding", total: 200, bar: true, start: time.Now().Add(-10 * time.Second)}
	bar.set(100, "a note")
	bar.set(120, "too soon to be drawn")
	bar.last = time.Time{}
	bar.note = ""
	bar.set(200, "")
	bar.end()
	bar.end()
	half := "[" + strings.Repeat("=", 20) + strings.Repeat("-", 20) + "] encoding: 100 of 200, 10s left, a note"
	whole := "[" + strings.Repeat("=", 40) + "] encoding: 200 of 200, 0s left"
	want := "\r" + half + "\r" + "\r" + whole + strings.Repeat(" ", len(half)-len(whole)) + "\r" + "\r" + strings.Repeat(" ", len(whole)) + "\r"
	if got := out.String(); got != want {
		t.Errorf("drawn\n%q, want\n%q", got, want)
	}
}
