package scrape_test

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hgld/internal/testing/must"
	"hgld/scrape"
	"hgld/scrape/testing/sourcetest"
)

// fewFiles is the environment variable with the limit of open files of a child process that parses
// its stored pages again.
const fewFiles = "HGLD_CRAWL_FILES"

// rereadProcess is the child process. It parses the stored pages in dir again.
func rereadProcess(t *testing.T, url, dir, limit string) {
	n := must.Get(strconv.ParseUint(limit, 10, 64))(t)
	cfg := must.Get(sourcetest.Config(sourcetest.Sources[0], url, dir, places(27)))(t)
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n}))
	if _, err := scrape.Reparse(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

// TestRunningOutOfFileDescriptorsDropsNoPage parses stored pages with so few file descriptors that
// the lock, the database or a page cannot be opened.
func TestRunningOutOfFileDescriptorsDropsNoPage(t *testing.T) {
	if limit := os.Getenv(fewFiles); limit != "" {
		rereadProcess(t, os.Getenv(fewFiles+"_URL"), os.Getenv(fewFiles+"_DIR"), limit)
		return
	}
	t.Parallel()
	s := newSite(t, places(27))
	dir := t.TempDir()
	cfg := s.config(t, dir)
	_, want := mustRun(t, cfg)
	before := s.requestsOf()
	refused, ofPages := 0, 0
	for n := 4; ; n++ {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), fewFiles+"="+strconv.Itoa(n), fewFiles+"_URL="+s.URL, fewFiles+"_DIR="+dir)
		out, err := cmd.CombinedOutput()
		plan, planErr := scrape.NewPlan(cfg)
		if planErr != nil || plan.Done != 27 || !bytes.Equal(readFile(t, cfg.Out.Tags), want) {
			t.Fatalf("with %d files: %+v, %v", n, plan, planErr)
		}
		if err == nil {
			break
		}
		refused++
		if strings.Contains(string(out), "too many open files") &&
			strings.Contains(string(out), "its stored response cannot be read") {
			ofPages++
		}
		if n > 60 {
			t.Fatalf("60 files are too few: %s", out)
		}
	}
	if _, got := mustRun(t, cfg); !bytes.Equal(got, want) || s.requestsOf() != before {
		t.Errorf("%d pages were asked for again", s.requestsOf()-before)
	}
	if refused == 0 || ofPages == 0 {
		t.Errorf("%d limits were too small, %d of them for a page; want some", refused, ofPages)
	}
}
