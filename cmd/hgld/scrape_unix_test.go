//go:build unix

package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/scrape/testing/fakecommons"
)

// TestScrapeContinuesAfterASignal sends each of the signals that ask for an end
// once 20 pages were asked for.
func TestScrapeContinuesAfterASignal(t *testing.T) {
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
		code, out := scrapeRun(url)
		if code != exitInterrupted || !strings.Contains(out, "state saved; run the same command again to resume") {
			t.Errorf("%v: exit code %d\n%s", signal, code, out)
		}
		if n := site.Requests()["Category:Place 20"]; n != 1 {
			t.Errorf("%v: the page under way was asked for %d times", signal, n)
		}
		code, out = scrapeRun(url)
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

// TestFakeWikimediaReportsClientsThatBreakTheRules serves a site, crawls it within its rules
// and outside of them, and reads what it says at its end.
func TestFakeWikimediaReportsClientsThatBreakTheRules(t *testing.T) {
	t.Chdir(t.TempDir())
	said := must.Get(os.Create("said.txt"))(t)
	defer said.Close()
	ended := make(chan int)
	go func() {
		args := []string{"hgld", "dev", "fake-wikimedia", "--port", "0", "--landmarks", "20", "--categories",
			"train_categories.csv", "--log", "log.jsonl"}
		ended <- hgld(args, said, said)
	}()
	text := func() string {
		data := must.Get(os.ReadFile("said.txt"))(t)
		return string(data)
	}
	for !strings.Contains(text(), "until ctrl-C") {
		time.Sleep(5 * time.Millisecond)
	}
	url := regexp.MustCompile(`http://[^ ]+`).FindString(text())
	if code, out := scrapeRun(url, "--source", "api", "-o", "wikidata_url="+url, "--contact", "me@uni.edu", "--rate",
		"3"); code != exitOK {
		t.Errorf("within the rules: exit code %d\n%s", code, out)
	}
	if code, out := scrapeRun(url, "--source", "api", "-o", "wikidata_url="+url, "--state", "other"); code !=
		exitSomeFailed ||
		!strings.Contains(out, "error_retryable: GET "+url+"/w/api.php: HTTP 403 Forbidden\n") {
		t.Errorf("without a contact: exit code %d\n%s", code, out)
	}
	must.Do(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
	if code := <-ended; code != exitOK || !strings.Contains(text(), "0 requests for pages and 9 to the APIs") ||
		!strings.Contains(text(), "1 request broke a rule, the first: user agent \"Go-http-client/1.1\"\n") {
		t.Errorf("exit code %d\n%s", code, text())
	}
	log, err := os.ReadFile("log.jsonl")
	if err != nil || strings.Count(string(log), "\n") != 9 || !strings.Contains(string(log),
		`"keys":20,"failed":"no contact"}`) {
		t.Errorf("log %s, %v", log, err)
	}
}

func TestSecondScrapeNamesTheLockHolder(t *testing.T) {
	site, url := crawlSite(t, 40)
	code, out := 0, ""
	var once sync.Once
	site.Always = func(title string) (fakecommons.Fault, bool) {
		once.Do(func() { code, out = scrapeRun(url) })
		return fakecommons.Fault{}, false
	}
	if first, text := scrapeRun(url); first != exitOK {
		t.Errorf("exit code %d\n%s", first, text)
	}
	if want := "is locked by process " + strconv.Itoa(os.Getpid()); code != exitLocked || !strings.Contains(out, want) {
		t.Errorf("the second run: exit code %d, want %d and %q\n%s", code, exitLocked, want, out)
	}
}
