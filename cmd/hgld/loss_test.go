package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/train/losscheck"
)

func TestLossOfVectors(t *testing.T) {
	embeddingFiles(t)
	code, out, errs := run(t, "loss", "--loss", "happier", "--embeddings", "e.npy", "--labels", "l.csv", "--gradient",
		"g.safetensors", "--json")
	var r losscheck.Report
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	if r.Definition == nil || len(r.Terms) != 2 || r.Terms[0].Name != "sup_h_ap" || r.Levels[0].Queries != 60 ||
		r.Levels[0].Positives != 60*4 || r.Gallery != 60 {
		t.Errorf("%+v", r)
	}
	tensors, _, err := tensorfile.ReadAll("g.safetensors")
	var names []string
	for _, x := range tensors {
		names = append(names, x.Name)
	}
	if got := strings.Join(names, " "); err != nil || got != "embeddings.grad loss.proxies loss.proxies.grad" {
		t.Errorf("%s, %v", got, err)
	}
	// The proxies of the file give the same loss as the draw that they were.
	must.Do(t, tensorfileOf("p.safetensors", tensors[1]))
	code, text, errs := run(t, "loss", "--loss", "happier", "--embeddings", "e.parquet", "--proxies", "p.safetensors",
		"--seed", "7", "--gallery-embeddings", "e.npy", "--gallery-labels", "l.csv")
	if code != 0 || !strings.Contains(text, "happier (paper) of 60 queries and 60 gallery items") {
		t.Errorf("exit code %d\n%s%s", code, text, errs)
	}
	_, again, _ := run(t, "loss", "--loss", "happier", "--embeddings", "e.parquet", "--proxies", "p.safetensors", "--json")
	var same losscheck.Report
	if err := json.Unmarshal([]byte(again), &same); err != nil || same.Value != r.Value {
		t.Errorf("%v with the proxies of the file, %v with the draw (%v)", same.Value, r.Value, err)
	}
	code, text, errs = run(t, "loss", "--loss", "blackbox-ap", "-o", "loss.settings.margin=0", "--embeddings", "e.parquet",
		"--per-query", "q.csv")
	lines, err := os.ReadFile("q.csv")
	if code != 0 || err != nil || !strings.Contains(text, "correlation of 1 − loss with AP 1.0000\n") ||
		!strings.HasPrefix(string(lines), "query,loss,AP_landmark,AP_kind\n") || strings.Count(string(lines), "\n") != 61 {
		t.Errorf("exit code %d, %v\n%s%s%.200s", code, err, text, errs, lines)
	}
	_, again, _ = run(t, "loss", "--loss", "happier", "--embeddings", "e.parquet", "--repeat", "3", "--json")
	var timed losscheck.Report
	if err := json.Unmarshal([]byte(again), &timed); err != nil || timed.Milliseconds <= 0 || timed.Norm != r.Norm {
		t.Errorf("%v ms, the gradient's norm %v, %v without timing (%v)", timed.Milliseconds, timed.Norm, r.Norm, err)
	}
	code, text, errs = run(t, "loss", "--loss", "softbin-ap", "--embeddings", "e.parquet", "--per-query", "q.svg")
	if svg, err := os.ReadFile("q.svg"); code != 0 || err != nil || !strings.Contains(string(svg), "correlation 0.") {
		t.Errorf("exit code %d, %v\n%s%s", code, err, text, errs)
	}
	for want, args := range map[string][]string{
		`did you mean "happier"`:      {"--loss", "hapier", "--embeddings", "e.npy", "--labels", "l.csv"},
		"needs --loss, and either":    {"--loss", "happier"},
		"needs labels":                {"--loss", "happier", "--embeddings", "e.npy"},
		"--gradient: g.txt: want a":   {"--loss", "nsm", "--embeddings", "e.parquet", "--gradient", "g.txt"},
		`--per-query: ".txt": want a`: {"--loss", "nsm", "--embeddings", "e.parquet", "--per-query", "q.txt"},
		"remembers batches": {"--loss", "rambo-recall", "-o", "loss.settings.batch_memory=1", "--embeddings", "e.parquet",
			"--per-query", "z.csv"},
		"smooth-ap has no proxies": {"--loss", "smooth-ap", "--embeddings", "e.parquet", "--proxies",
			"p.safetensors"},
		"want less than 2, the number of levels": {"--loss", "nsm", "-o", "loss.settings.level=5", "--embeddings",
			"e.parquet"},
	} {
		says(t, exitUsage, want, append([]string{"loss"}, args...)...)
	}
}

func tensorfileOf(path string, list ...tensorfile.Tensor) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return tensorfile.WriteSafetensors(f, list, nil)
}

// Scores of items for classes: the golden case, whose scores are its embeddings, by the program.
func TestLossOfScores(t *testing.T) {
	t.Chdir(t.TempDir())
	var golden struct {
		Embeddings [][]float32
		Labels     [][]int
		Value      float64
		Grad       [][]float64 `json:"grad_embeddings"`
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Root(), "train/loss/testdata/losses/rambo-detection.scores.json"), &golden)
	var flat []float32
	table, classes := "id,class\n", len(golden.Embeddings[0])
	for i, row := range golden.Embeddings {
		flat = append(flat, row...)
		if c := golden.Labels[i][0]; c < classes {
			table += fmt.Sprintf("item%d,%d\n", i, c)
		} else {
			table += fmt.Sprintf("item%d,\n", i)
		}
	}
	f := must.Get(os.Create("s.npy"))(t)
	scores := tensorfile.NewF32("", []int{len(golden.Embeddings), classes}, flat)
	must.Do(t, errors.Join(tensorfile.WriteNPY(f, scores), f.Close(), os.WriteFile("s.csv", []byte(table), 0o644),
		os.WriteFile("wrong.csv", []byte(strings.ReplaceAll(table, ",0", ",7")), 0o644)))
	code, out, errs := run(t, "loss", "--loss", "rambo-detection", "--scores", "s.npy", "--labels", "s.csv", "--gradient",
		"g.npy", "--json")
	var r losscheck.Report
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	if math.Abs(r.Value-golden.Value) > 1e-6 || math.Abs(*r.Definition-golden.Value) > 1e-12 || r.Classes != classes ||
		r.Background != 3 {
		t.Errorf("%+v, want %v", r, golden.Value)
	}
	a := must.Get(tensorfile.OpenNPY("g.npy"))(t)
	defer a.Close()
	got := make([]float32, len(flat))
	must.Do(t, a.ReadRows(got, 0))
	for i, row := range golden.Grad {
		for c, want := range row {
			if math.Abs(float64(got[i*classes+c])-want) > 1e-6 {
				t.Errorf("gradient by score %d of item %d is %v, want %v", c, i, got[i*classes+c], want)
			}
		}
	}
	for want, args := range map[string]string{
		"want a loss of scores, rambo-detection": "--loss nsm --labels s.csv",
		`label "7": want the number of a column`: "--loss rambo-detection --labels wrong.csv",
		"no values by query":                     "--loss rambo-detection --labels s.csv --per-query q.csv",
		"either --embeddings or --scores":        "--loss rambo-detection --labels s.csv --embeddings s.npy",
	} {
		says(t, exitUsage, want, append([]string{"loss", "--scores", "s.npy"}, strings.Fields(args)...)...)
	}
}
