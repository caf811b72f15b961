package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
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
	if err := tensorfileOf("p.safetensors", tensors[1]); err != nil {
		t.Fatal(err)
	}
	code, text, errs := run(t, "loss", "--loss", "happier", "--embeddings", "e.parquet", "--proxies", "p.safetensors",
		"--seed", "7", "--gallery", "e.npy", "--gallery-labels", "l.csv")
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
	code, text, errs = run(t, "loss", "--loss", "softbin-ap", "--embeddings", "e.parquet", "--per-query", "q.svg")
	if svg, err := os.ReadFile("q.svg"); code != 0 || err != nil || !strings.Contains(string(svg), "correlation 0.") {
		t.Errorf("exit code %d, %v\n%s%s", code, err, text, errs)
	}
	for want, args := range map[string][]string{
		`did you mean "happier"`:        {"--loss", "hapier", "--embeddings", "e.npy", "--labels", "l.csv"},
		"needs --loss and --embeddings": {"--loss", "happier"},
		"needs labels":                  {"--loss", "happier", "--embeddings", "e.npy"},
		"--gradient: g.txt: want a":     {"--loss", "nsm", "--embeddings", "e.parquet", "--gradient", "g.txt"},
		`--per-query: ".txt": want a`: {"--loss", "nsm", "--embeddings", "e.parquet", "--per-query", "q.txt"},
		"remembers batches": {"--loss", "rambo-recall", "-o", "loss.settings.batch_memory=1", "--embeddings", "e.parquet",
			"--per-query", "z.csv"},
		"smooth-ap has no proxies": {"--loss", "smooth-ap", "--embeddings", "e.parquet", "--proxies",
			"p.safetensors"},
		"want less than 2, the number of levels": {"--loss", "nsm", "-o", "loss.settings.level=5", "--embeddings",
			"e.parquet"},
	} {
		code, out, errs := run(t, append([]string{"loss"}, args...)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, want %q\n%s%s", args, code, want, out, errs)
		}
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
