package main

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// trecLines reads a file of columns.
func trecLines(t *testing.T, path string) [][]string {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	var lines [][]string
	for r := bufio.NewScanner(f); r.Scan(); {
		lines = append(lines, strings.Fields(r.Text()))
	}
	return lines
}

// The average precision that follows from the two files by trec_eval's rule is the
// one that was measured.
func TestTRECFilesGiveTheSameAP(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	embeddingFiles(t)
	for least, level := range map[string]int{"1": 1, "2": 0} { // of two levels
		code, _, errs := run(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--metrics", "AP",
			"--per-query", "--trec", "out", "-o", "trec_min_level="+least)
		if code != 0 {
			t.Fatal(errs)
		}
		relevant := map[string]map[string]bool{}
		for _, l := range trecLines(t, "out.qrels") {
			if relevant[l[0]] == nil {
				relevant[l[0]] = map[string]bool{}
			}
			relevant[l[0]][l[2]] = true
			if l[0] == l[2] || len(l) != 4 || l[1] != "0" {
				t.Errorf("line %v", l)
			}
		}
		ap, found, place, last := map[string]float64{}, map[string]int{}, map[string]int{}, map[string]float64{}
		for _, l := range trecLines(t, "out.run") {
			q := l[0]
			place[q]++
			score, err := strconv.ParseFloat(l[4], 64)
			if err != nil || l[3] != strconv.Itoa(place[q]) || l[1] != "Q0" || l[5] != "hgld" || q == l[2] || place[q] > 1 &&
				score > last[q] {
				t.Fatalf("line %v: %v", l, err)
			}
			last[q] = score
			if relevant[q][l[2]] {
				found[q]++
				ap[q] += float64(found[q]) / float64(place[q]) / float64(len(relevant[q]))
			}
		}
		r := readResult(t, "eval.json")
		for i, id := range r.PerQuery.IDs {
			want := float64(r.PerQuery.Values["AP_level"+strconv.Itoa(level)][i])
			if place[id] != 59 || math.Abs(ap[id]-want) > 1e-12 {
				t.Errorf("least %s, %s: %d places, AP %v, measured %v", least, id, place[id], ap[id], want)
			}
		}
	}
	// Finest class only is the default, and the places can be fewer.
	if code, _, errs := run(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--trec", "few",
		"-o", "top_k=3", "--limit", "5"); code != 0 {
		t.Fatal(errs)
	}
	if n, rel := len(trecLines(t, "few.run")), len(trecLines(t, "few.qrels")); n != 15 || rel != 5*4 {
		t.Errorf("%d lines in the run and %d in the qrels", n, rel)
	}
	for _, args := range [][]string{{"-o", "trec_min_level=3"}, {"-o", "top_k=-1"}} {
		says(t, exitUsage, strings.ReplaceAll(args[0][2:], "-", "_")+" is ",
			append(strings.Fields("eval run --embeddings e.npy --labels l.csv --trec bad"), args...)...)
	}
}

func TestAFailedEvaluationLeavesNoFiles(t *testing.T) {
	embeddingFiles(t)
	if code, _, _ := run(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--trec", "x", "--report",
		"no/such/folder/eval.html"); code == 0 {
		t.Error("a page is written to no folder")
	}
	if names, _ := filepath.Glob("*.tmp*"); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestReportIsOneFileThatShowsTheEvaluation(t *testing.T) {
	pictureShards(t)
	succeeds(t, tinyRun("--query", "test", "--gallery", "train")...)
	var pages [2][]byte
	for i, threads := range []string{"1", "3"} {
		succeeds(t, "eval", "run", "--report", "eval.html", "-o", "threads="+threads)
		page := must.Get(os.ReadFile("eval.html"))(t)
		pages[i] = page
	}
	if !bytes.Equal(pages[0], pages[1]) {
		t.Error("another number of threads writes another page")
	}
	page := string(pages[0])
	for want, n := range map[string]int{
		`{"item":`: 48, `"src":"data:image/jpeg;base64,`: strings.Count(page, `{"id":`), `"map":{"query":[0,1,2,`: 1, `<svg class="plot"`: 1, ">all levels<": 1,
		"stroke:#009E73": 2, // the third curve, in the plot and in its legend
		"same place":     1, "same form": 1, "48 queries, 96 gallery items": 1, ">recall<": 1,
	} {
		if got := strings.Count(page, want); got != n {
			t.Errorf("%d of %s, want %d", got, want, n)
		}
	}
	for _, remote := range []string{"http://", "https://", "<script src", "<link", "url("} {
		if strings.Contains(page, remote) {
			t.Errorf("the page has %s", remote)
		}
	}
	embeddingFiles(t)
	if code, _, errs := run(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--report",
		"e.html"); code != 0 {
		t.Fatal(errs)
	}
	text, err := os.ReadFile("e.html")
	if err != nil || strings.Contains(string(text), `"src"`) || strings.Count(string(text), `{"item":`) != 60 {
		t.Errorf("the page of vectors without images: %v", err)
	}
}

// A gallery that holds the queries again, under other names, ranks each first; left
// out, the figures are those of the queries among themselves.
func TestCopiesOfQueriesAreLeftOut(t *testing.T) {
	pictureShards(t)
	succeeds(t, tinyRun("--limit", "1")...)
	pictures := "pictures/test"
	for _, split := range []string{"query", "gallery"} {
		must.Do(t, os.CopyFS("twice/"+split, os.DirFS(pictures)))
	}
	if code, _, errs := run(t, "shards", "build", "--dataset", "folder", "--input", "twice", "--levels", "place,form",
		"--out", "copies"); code != 0 {
		t.Fatal(errs)
	}
	results := map[string]float64{}
	for name, args := range map[string][]string{
		"among themselves": {"--query", "query"}, "with copies": {"--query", "query", "--gallery", "gallery"},
		"left out": {"--query", "query", "--gallery", "gallery", "-o", "leave_out_copies=true", "--trec", "left"},
	} {
		code, _, errs := run(t, append([]string{"eval", "run", "--data", "copies"}, args...)...)
		if code != 0 || name == "left out" && !strings.Contains(errs, "48 of 48 queries are also in the gallery") {
			t.Fatalf("%s: exit code %d\n%s", name, code, errs)
		}
		results[name] = readResult(t, "eval.json").Mean("AP_level0")
	}
	if results["left out"] != results["among themselves"] || results["with copies"] <= results["left out"] {
		t.Errorf("AP %v", results)
	}
	if n := len(trecLines(t, "left.qrels")); n != 48*3 {
		t.Errorf("%d judgements, want 3 for each query", n)
	}
}
