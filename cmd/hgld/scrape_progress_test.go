package main

import (
	"io"
	"testing"
	"time"

	"hgld/internal/terminal"
	"hgld/scrape"
)

// What an earlier process did took it no time: 10 titles of 100 in ten seconds leave
// 40, not 60 in a hurry.
func TestProgressOfAResumedCrawlCountsItsOwnTitles(t *testing.T) {
	bar := terminal.NewProgress(io.Discard, "scraping", 100)
	bar.Began = time.Now().Add(-10 * time.Second)
	show := showCrawl(bar, 50)
	if got := bar.Line(); got != "scraping: 50 of 100" {
		t.Errorf("before the first title: %q", got)
	}
	show(scrape.Progress{Done: 60, Total: 100})
	if got := bar.Line(); got != "scraping: 60 of 100, 40s left, 0 with a tag" {
		t.Errorf("line %q", got)
	}
}
