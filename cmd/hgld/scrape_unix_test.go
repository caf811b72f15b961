//go:build unix

package main

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hgld/scrape/fakecommons"
)

// TestSignalEndsAScrapeThatGoesOn sends each of the signals that ask for an end
// once 20 pages were asked for.
func TestSignalEndsAScrapeThatGoesOn(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGHUP} {
		site, url := crawlSite(t, 60)
		var once sync.Once
		site.Always = func(title string) (fakecommons.Fault, bool) {
			if title == "Category:Place 20" {
				once.Do(func() {
					if err := syscall.Kill(os.Getpid(), signal); err != nil {
						t.Error(err)
					}
				})
				return fakecommons.Fault{Delay: 50 * time.Millisecond}, true
			}
			return fakecommons.Fault{Delay: time.Millisecond}, true
		}
		code, out := scrapeRun(url, "--in-flight", "1")
		if code != exitInterrupted || !strings.Contains(out, "state saved; the same command continues") {
			t.Errorf("%v: exit code %d\n%s", signal, code, out)
		}
		if n := site.Requests()["Category:Place 20"]; n != 1 {
			t.Errorf("%v: the page under way was asked for %d times", signal, n)
		}
		code, out = scrapeRun(url, "--in-flight", "1")
		if code != exitOK || !strings.Contains(out, "60 of 60") {
			t.Errorf("%v: exit code %d of the next run\n%s", signal, code, out)
		}
		for title, n := range site.Requests() {
			if n != 1 {
				t.Errorf("%v: %s was asked for %d times", signal, title, n)
			}
		}
	}
}

func TestSecondScrapeNamesTheFirst(t *testing.T) {
	site, url := crawlSite(t, 40)
	code, out := 0, ""
	var once sync.Once
	site.Always = func(title string) (fakecommons.Fault, bool) {
		once.Do(func() { code, out = scrapeRun(url) })
		return fakecommons.Fault{}, false
	}
	if first, text := scrapeRun(url, "--in-flight", "1"); first != exitOK {
		t.Errorf("exit code %d\n%s", first, text)
	}
	if want := "is locked by process " + strconv.Itoa(os.Getpid()); code != exitLocked || !strings.Contains(out, want) {
		t.Errorf("the second run: exit code %d, want %d and %q\n%s", code, exitLocked, want, out)
	}
}
