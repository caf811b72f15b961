package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hgld/cmd/hgld/internal/demo"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
)

// demoIn runs the demo in a folder of its own and returns what it printed.
func demoIn(t *testing.T, args ...string) (dir, out string) {
	t.Helper()
	here := t.TempDir()
	t.Chdir(here)
	t.Setenv("HGLD_CLUSTER_K", "7") // a setting of another project
	dir = filepath.Join(t.TempDir(), "demo")
	var stdout, stderr bytes.Buffer
	if code := hgld(append([]string{"hgld", "demo", "--out", dir}, args...), &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d\n%s\n%s", code, &stdout, &stderr)
	}
	if now, err := os.Getwd(); err != nil || now != here && filepath.Base(now) != filepath.Base(here) {
		t.Errorf("the demo has left %s for %s (%v)", here, now, err)
	}
	if os.Getenv("HGLD_CLUSTER_K") != "7" {
		t.Error("the demo has changed the environment")
	}
	if err := os.Unsetenv("HGLD_CLUSTER_K"); err != nil { // the commands that follow read it
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(here); err != nil || len(entries) > 0 {
		t.Errorf("the demo has written %v to the working directory (%v)", entries, err)
	}
	return dir, stdout.String()
}

var demoHash = regexp.MustCompile(`sha256 of labels and table: ([0-9a-f]{64})`)

func TestDemoIsFinishedAndGivesTheSameBytesTwice(t *testing.T) {
	t.Setenv("HGLD_THREADS", "2")
	dir, out := demoIn(t, "--steps", "2")
	hash := demoHash.FindStringSubmatch(out)
	if hash == nil {
		t.Error("the demo prints no hash")
	}
	if effort.Exhaustive() {
		t.Setenv("HGLD_THREADS", "1")
		_, alone := demoIn(t, "--steps", "2")
		if again := demoHash.FindStringSubmatch(alone); !slices.Equal(again, hash) {
			t.Errorf("hashes %v and %v: want the same one from one thread and two", again, hash)
		}
	}
	// What does not depend on arithmetic is the same everywhere.
	for _, want := range []string{
		"330 of 339 landmarks have a tag", "117 distinct tags", "agreement                          0.846",
		"Cohen's kappa                      0.834",
		"tag 117, supercategory 14, kind 2", "323 of 339 landmarks labelled", "2584 images in 3 shards",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not print %q:\n%s", want, out)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "moved")
	for _, project := range []string{dir, elsewhere} {
		if project == elsewhere {
			must.Do(t, os.Rename(dir, elsewhere))
		}
		var status, stderr bytes.Buffer
		if code := hgld([]string{"hgld", "status", "-C", project}, &status, &stderr); code != exitOK ||
			!strings.Contains(status.String(), "everything is done") {
			t.Errorf("behind the demo, status says of %s\n%s%s", project, &status, &stderr)
		}
	}
	var stderr bytes.Buffer // the port is wrong, so that no server waits
	hgld([]string{"hgld", "curate", "serve", "-C", elsewhere, "--port", "99999"}, io.Discard, &stderr)
	if want := "edits-final.jsonl: the adjudicator's log of edits-anna.jsonl and edits-boris.jsonl"; !strings.Contains(
		stderr.String(), want) {
		t.Errorf("the page of the demo's project: %s", &stderr)
	}
	report := must.Get(os.ReadFile(filepath.Join(elsewhere, "report.html")))(t)
	if n := bytes.Count(report, []byte(`<figure class="query">`)); n != 12 {
		t.Errorf("the report shows %d queries, want 6 for each of 2 models", n)
	}
	if regexp.MustCompile(`(src|href)="https?:`).Match(report) {
		t.Error("the report asks the network for something")
	}
}

func TestInterruptedDemoPromisesNoContinuation(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	o := demo.Options{Folder: "here", Steps: 1, Stdout: io.Discard, Stderr: io.Discard}
	var stderr bytes.Buffer
	if code := reportError(runDemo(ctx, nil, o), &stderr); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if text := stderr.String(); !strings.Contains(text, "the demo cannot be resumed") ||
		strings.Contains(text, "run the same command again to resume") {
		t.Errorf("message %q", text)
	}
}

func TestDemoLeavesAFolderThatIsInUseAlone(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "mine.txt"), []byte("x"), 0o644))
	var stdout, stderr bytes.Buffer
	if code := hgld([]string{"hgld", "demo", "--out", dir}, &stdout, &stderr); code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	if !strings.Contains(stderr.String(), "is not empty") {
		t.Errorf("message %q", &stderr)
	}
}
