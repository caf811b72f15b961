package scrape_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"hgld/internal/filelock"
	"hgld/internal/testing/must"
	"hgld/internal/testing/ramdisk"
	"hgld/scrape"
	"hgld/scrape/testing/fakecommons"
	"hgld/scrape/testing/sourcetest"
)

// TestMain is also the program that TestKilledCrawlLosesNothing kills. If HGLD_CRAWL_URL is set, it
// crawls that site into HGLD_CRAWL_DIR through the source HGLD_CRAWL_SOURCE.
func TestMain(m *testing.M) {
	if url := os.Getenv("HGLD_CRAWL_URL"); url != "" {
		os.Exit(crawlProcess(url, os.Getenv("HGLD_CRAWL_DIR"), os.Getenv("HGLD_CRAWL_SOURCE")))
	}
	ramdisk.Use()
	os.Exit(m.Run())
}

// landmarksToKill is the size of a killed crawl, which has about 30 commits.
var landmarksToKill = map[string]int{"page": 70, "api": 700}

// crawlProcess prints a line "commit" and then the acknowledged titles for every commit.
func crawlProcess(url, dir, name string) int {
	source := sourcetest.Sources[0]
	if name == sourcetest.Sources[1].Name {
		source = sourcetest.Sources[1]
	}
	cfg, err := sourcetest.Config(source, url, dir, sourcetest.Places(landmarksToKill[name]), withItems)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if name == "api" {
		cfg.Out.Items = filepath.Join(dir, "items.jsonl")
	}
	cfg.Progress = func(p scrape.Progress) { fmt.Println(strings.Join(append([]string{"commit"}, p.Titles...), "\n")) }
	_, err = scrape.Run(context.Background(), cfg)
	var locked *filelock.LockedError
	switch {
	case errors.As(err, &locked):
		fmt.Println("locked by", locked.PID)
		return 11
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func process(t *testing.T, url, dir string, source sourcetest.Source) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HGLD_CRAWL_URL="+url, "HGLD_CRAWL_DIR="+dir, "HGLD_CRAWL_SOURCE="+source.Name)
	cmd.Stderr = os.Stderr
	return cmd
}

// unpaced returns a site for processes, which have their own clocks. A killed process may leave a
// request open.
func unpaced(t *testing.T, places []fakecommons.Category) *sourcetest.Site {
	t.Helper()
	return sourcetest.NewSite(t, places, func(s *fakecommons.Server) {
		addClasses(s)
		s.Limits.API, s.Limits.Pages = fakecommons.Pace{}, fakecommons.Pace{}
	})
}

// addClasses adds a chain of 20 classes above one of sourcetest.Places, so that killed processes have
// items to ask for.
func addClasses(s *fakecommons.Server) {
	s.Add(fakecommons.Item{Label: "lake", Claims: fakecommons.Links("P279", "class 0")})
	for i := range 20 {
		above := fakecommons.Links("P279", fmt.Sprintf("class %d", i+1), fmt.Sprintf("class %d", i/2))
		s.Add(fakecommons.Item{Label: fmt.Sprintf("class %d", i), Claims: above})
	}
}

// TestKilledCrawlLosesNothing kills a crawling process at random moments: three times, or
// $HGLD_KILLS times.
func TestKilledCrawlLosesNothing(t *testing.T) {
	t.Parallel()
	kills := 3
	if text := os.Getenv("HGLD_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range sourcetest.Sources {
		t.Run(source.Name, func(t *testing.T) {
			t.Parallel()
			places := sourcetest.Places(landmarksToKill[source.Name])
			whole := sourcetest.NewSite(t, places, addClasses).Config(t, source, t.TempDir(), withItems)
			if source.Name == "api" {
				whole.Out.Items = filepath.Join(filepath.Dir(whole.Out.Tags), "items.jsonl")
			}
			_, want := sourcetest.Run(t, whole)
			random := rand.New(rand.NewPCG(uint64(kills), 9))
			for killed, lost := 0, 0; ; {
				r := &round{source: source, site: unpaced(t, places), dir: t.TempDir(), acknowledged: map[string]int{}}
				for !r.run(t, random, killed < kills) {
					killed++
				}
				if got := readFile(t, filepath.Join(r.dir, "tags.jsonl")); !bytes.Equal(got, want) {
					t.Errorf("after %d kills tags.jsonl differs from that of a run in one go", killed)
				}
				if whole.Out.Items != "" && !bytes.Equal(readFile(t, filepath.Join(r.dir, "items.jsonl")),
					readFile(t, whole.Out.Items)) {
					t.Errorf("after %d kills items.jsonl differs from that of a run in one go", killed)
				}
				for _, c := range places {
					if at, ok := r.acknowledged[c.Title]; ok && r.asked(c) != at {
						lost++
						t.Errorf("%s was acknowledged, and asked for %d times after that", c.Title, r.asked(c)-at)
					}
				}
				if t.Failed() || killed >= kills {
					t.Logf("%s: %d kills, %d acknowledged titles lost", source.Name, killed, lost)
					return
				}
			}
		})
	}
}

// round is one crawl, from an empty folder to its end, by many processes.
type round struct {
	source       sourcetest.Source
	site         *sourcetest.Site
	dir          string
	acknowledged map[string]int // title: number of requests for it when its process had ended
}

// asked returns how often the site was asked for the title of a place, and for its items.
func (r *round) asked(c fakecommons.Category) int {
	n := r.site.Requests()[c.Title]
	answered := r.site.Answered()
	n += answered["query pageprops|categories|revisions "+c.Title]
	for _, item := range []string{c.Item, c.Topic} {
		n += answered["wbgetentities claims|descriptions|info "+item]
	}
	return n
}

// run starts a process and kills it after a random number of commits. It reports whether the
// process had finished before.
func (r *round) run(t *testing.T, random *rand.Rand, kill bool) bool {
	t.Helper()
	cmd := process(t, r.site.URL, r.dir, r.source)
	out, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	left := random.IntN(12)
	if random.IntN(4) == 0 { // during its start
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		left = 0
	}
	var titles []string
	for lines := bufio.NewScanner(out); ; {
		if kill && left <= 0 {
			time.Sleep(time.Duration(random.IntN(4000)) * time.Microsecond)
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			kill = false
		}
		if !lines.Scan() {
			break
		}
		if lines.Text() == "commit" {
			left--
		} else {
			titles = append(titles, lines.Text())
		}
	}
	err = cmd.Wait()
	places := map[string]fakecommons.Category{}
	for _, c := range r.site.Places {
		places[c.Title] = c
	}
	for _, title := range titles {
		c, known := places[title]
		if _, twice := r.acknowledged[title]; twice || !known && !strings.HasPrefix(title, "Category:") {
			t.Errorf("%q was acknowledged twice, or is no title", title)
		}
		if known { // the kill may have cut the line
			r.acknowledged[title] = r.asked(c)
		}
	}
	if err != nil && cmd.ProcessState.ExitCode() > 0 {
		t.Fatalf("the process ended by itself: %v", err)
	}
	return err == nil
}

func TestTwoProcessesCannotShareAState(t *testing.T) {
	t.Parallel()
	source := sourcetest.Sources[0]
	s := unpaced(t, sourcetest.Places(landmarksToKill[source.Name]))
	dir := t.TempDir()
	first := process(t, s.URL, dir, source)
	out, err := first.StdoutPipe()
	must.Do(t, err)
	must.Do(t, first.Start())
	defer func() { _ = first.Process.Kill(); _ = first.Wait() }()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the first process acknowledged nothing")
	}
	cfg := s.Config(t, source, dir)
	_, err = scrape.Run(t.Context(), cfg)
	var locked *filelock.LockedError
	if !errors.As(err, &locked) || locked.PID != first.Process.Pid {
		t.Fatalf("error %v, want the lock of process %d", err, first.Process.Pid)
	}
	if _, err := scrape.NewPlan(cfg); err != nil {
		t.Errorf("a plan beside a running crawl: %v", err)
	}
	must.Do(t, first.Process.Kill())
	_ = first.Wait()
	// The lock of a killed process is free, and another process sees ours.
	tried := false
	cfg.Progress = func(scrape.Progress) {
		if tried {
			return
		}
		tried = true
		second := process(t, s.URL, dir, source)
		text, err := second.Output()
		if want := fmt.Sprintf("locked by %d\n", os.Getpid()); err == nil || string(text) != want {
			t.Errorf("the second process printed %q, %v; want %q", text, err, want)
		}
	}
	sourcetest.Run(t, cfg)
}
