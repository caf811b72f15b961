package api_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"hgld/scrape"
	"hgld/scrape/api"
	"hgld/scrape/polite"
)

// TestMain is also the program that TestKilledAPICrawlAsksForNothingTwice kills: with
// HGLD_API_URL set it crawls that site into HGLD_API_DIR and prints every title that
// is acknowledged.
func TestMain(m *testing.M) {
	if url := os.Getenv("HGLD_API_URL"); url != "" {
		os.Exit(crawlProcess(url, os.Getenv("HGLD_API_DIR")))
	}
	os.Exit(m.Run())
}

const landmarksToKill = 1500

func crawlProcess(url, dir string) int {
	transport, err := polite.New(settings(url), http.DefaultTransport)
	if err != nil {
		panic(err)
	}
	source, err := api.New(api.Options{Commons: url, Wikidata: url, Now: stamp}, transport)
	if err != nil {
		panic(err)
	}
	cfg := scrape.Config{State: filepath.Join(dir, "state"), Input: input(landmarks(landmarksToKill)), Source: source, Workers: 1,
		Out: scrape.Output{Tags: filepath.Join(dir, "tags.jsonl"), Policy: "first", Tool: "hgld test"}}
	cfg.Progress = func(p scrape.Progress) { fmt.Println(p.Asked) }
	if _, err := scrape.Run(context.Background(), cfg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestKilledAPICrawlAsksForNothingTwice kills a crawling process eight times, or as
// often as HGLD_KILLS says, at random moments. A request whose answer was committed
// is never sent again; the one under way at a kill may be.
func TestKilledAPICrawlAsksForNothingTwice(t *testing.T) {
	t.Parallel()
	kills := 8
	if text := os.Getenv("HGLD_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	places := landmarks(landmarksToKill)
	whole := newSite(t, places)
	_, want, _ := mustRun(t, whole.config(t, t.TempDir()))
	r := rand.New(rand.NewPCG(uint64(kills), 5))
	for killed := 0; ; {
		s := newSite(t, places)
		s.API.Limits.InFlight = 0 // the request of a killed process may still be there
		dir, inRound := t.TempDir(), 0
		for !runOnce(t, s.url, dir, r, killed < kills) {
			killed++
			inRound++
		}
		data, err := os.ReadFile(filepath.Join(dir, "tags.jsonl"))
		if err != nil || !bytes.Equal(data, want) {
			t.Fatalf("after %d kills tags.jsonl differs from that of a run in one go (%v)", killed, err)
		}
		twice := 0
		for _, n := range s.Answered() {
			if n > 1 {
				twice++
			}
		}
		if twice > 100*inRound { // of the answers under way, two batches of 50 a kill
			t.Errorf("%d keys were asked for twice after %d kills", twice, inRound)
		}
		if killed >= kills {
			t.Logf("%d kills", killed)
			return
		}
	}
}

// runOnce starts a process, kills it after a random number of commits, and says
// whether it had finished before.
func runOnce(t *testing.T, url, dir string, r *rand.Rand, kill bool) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HGLD_API_URL="+url, "HGLD_API_DIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := r.IntN(25)
	for lines := bufio.NewScanner(out); ; left-- {
		if kill && left <= 0 {
			time.Sleep(time.Duration(r.IntN(4000)) * time.Microsecond)
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			kill = false
		}
		if !lines.Scan() {
			break
		}
	}
	err = cmd.Wait()
	if err != nil && cmd.ProcessState.ExitCode() > 0 {
		t.Fatalf("the process ended by itself: %v", err)
	}
	return err == nil
}
