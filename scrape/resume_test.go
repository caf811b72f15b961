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
	"testing"
	"time"

	"hgld/internal/filelock"
	"hgld/scrape"
)

// TestMain is also the program that TestKilledCrawlLosesNothing kills: with
// HGLD_CRAWL_URL set it crawls that site into HGLD_CRAWL_DIR and prints every
// title that is acknowledged.
func TestMain(m *testing.M) {
	if url := os.Getenv("HGLD_CRAWL_URL"); url != "" {
		os.Exit(crawlProcess(url, os.Getenv("HGLD_CRAWL_DIR")))
	}
	os.Exit(m.Run())
}

const placesToKill = 200

func crawlProcess(url, dir string) int {
	cfg, err := config(dir, url, quick(url), places(placesToKill))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cfg.Progress = func(p scrape.Progress) {
		for _, title := range p.Titles {
			fmt.Println(title)
		}
	}
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

func process(t *testing.T, url, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HGLD_CRAWL_URL="+url, "HGLD_CRAWL_DIR="+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestKilledCrawlLosesNothing kills a crawling process 20 times, or as often as
// HGLD_KILLS says, at random moments.
func TestKilledCrawlLosesNothing(t *testing.T) {
	t.Parallel()
	kills := 20
	if text := os.Getenv("HGLD_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, places(placesToKill))
	_, want := mustRun(t, s.config(t, t.TempDir()))
	r := rand.New(rand.NewPCG(uint64(kills), 9))
	round := newRound(t)
	for killed, lost := 0, 0; ; {
		finished := round.run(t, s, r, killed < kills)
		if !finished {
			killed++
			continue
		}
		if got := readFile(t, filepath.Join(round.dir, "tags.jsonl")); !bytes.Equal(got, want) {
			t.Errorf("after %d kills tags.jsonl differs from that of a run in one go", killed)
		}
		for title, n := range s.Requests() {
			if at, ok := round.acknowledged[title]; ok && n != at && !isTarget(s, title) {
				lost++
				t.Errorf("%s was acknowledged, and asked for %d times after that", title, n-at)
			}
		}
		if lost > 0 || killed >= kills {
			t.Logf("%d kills, %d acknowledged titles lost", killed, lost)
			return
		}
		round = newRound(t)
	}
}

// round is one crawl from an empty folder to its end, over many processes.
type round struct {
	dir          string
	acknowledged map[string]int // title: requests by the time that its process was dead
}

func newRound(t *testing.T) *round {
	return &round{dir: t.TempDir(), acknowledged: map[string]int{}}
}

// run starts a process, kills it after a random number of acknowledgements and
// says whether it had finished before.
func (r *round) run(t *testing.T, s *site, random *rand.Rand, kill bool) bool {
	t.Helper()
	cmd := process(t, s.url, r.dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := random.IntN(60)
	if random.IntN(4) == 0 { // while it starts
		time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond)
		left = 0
	}
	var titles []string
	for lines := bufio.NewScanner(out); ; {
		if kill && left <= 0 {
			time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			kill = false
		}
		if !lines.Scan() {
			break
		}
		titles = append(titles, lines.Text())
		left--
	}
	err = cmd.Wait()
	requests := s.Requests()
	for _, title := range titles {
		if _, twice := r.acknowledged[title]; twice {
			t.Errorf("%s was acknowledged twice", title)
		}
		r.acknowledged[title] = requests[title]
	}
	if err != nil && cmd.ProcessState.ExitCode() > 0 {
		t.Fatalf("the process ended by itself: %v", err)
	}
	return err == nil
}

// isTarget says whether a redirect leads to a title, which is then asked for on
// another's behalf.
func isTarget(s *site, title string) bool {
	for _, p := range s.places {
		if p.Target == title {
			return true
		}
	}
	return false
}

func TestTwoProcessesCannotShareAState(t *testing.T) {
	t.Parallel()
	s := newSite(t, places(placesToKill))
	dir := t.TempDir()
	first := process(t, s.url, dir)
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Process.Kill(); _ = first.Wait() }()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the first process acknowledged nothing")
	}
	_, err = scrape.Run(t.Context(), s.config(t, dir))
	var locked *filelock.LockedError
	if !errors.As(err, &locked) || locked.PID != first.Process.Pid {
		t.Fatalf("error %v, want the lock of process %d", err, first.Process.Pid)
	}
	if _, err := scrape.NewPlan(s.config(t, dir)); err != nil {
		t.Errorf("a plan beside a running crawl: %v", err)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	// The lock of a killed process is free, and another process sees ours.
	cfg := s.config(t, dir)
	tried := false
	cfg.Progress = func(scrape.Progress) {
		if tried {
			return
		}
		tried = true
		second := process(t, s.url, dir)
		text, err := second.Output()
		if want := fmt.Sprintf("locked by %d\n", os.Getpid()); err == nil || string(text) != want {
			t.Errorf("the second process printed %q, %v; want %q", text, err, want)
		}
	}
	mustRun(t, cfg)
}
