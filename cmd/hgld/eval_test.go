package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"hgld/internal/atomicfile"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/export"
	"hgld/train/retrieval"
)

// embeddingFiles writes 60 vectors of twelve landmarks in three kinds, as e.npy with l.csv and as e.parquet, to a new
// folder, which becomes the current one.
func embeddingFiles(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	const n, d = 60, 8
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float32, n*d)
	csv := "id,landmark,kind\n"
	for i := range n {
		landmark, kind := i%12, i%3
		for j := range d {
			values[i*d+j] = float32(r.NormFloat64())
			if j == landmark%d || j == kind {
				values[i*d+j] += 2
			}
		}
		csv += fmt.Sprintf("img%d,l%d,k%d\n", i, landmark, kind)
	}
	e := &export.Embeddings{Vectors: tensorfile.NewF32("embeddings", []int{n, d}, values),
		Levels: []string{"landmark", "kind"}}
	for i := range n {
		e.IDs = append(e.IDs, fmt.Sprintf("img%d", i))
		e.Classes = append(e.Classes, []string{fmt.Sprintf("l%d", i%12), fmt.Sprintf("k%d", i%3)})
	}
	writeNPY(t, "e.npy", e.Vectors)
	must.Do(t, atomicfile.Write("e.parquet", e.Parquet))
	must.Do(t, os.WriteFile("l.csv", []byte(csv), 0o644))
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"hgld"}, args...)
	code = hgld(args, &out, &errs)
	checkAdvice(t, args, errs.String())
	return code, out.String(), errs.String()
}

// succeeds runs a command that has to succeed.
func succeeds(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := run(t, args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d\n%s%s", args, code, out, errs)
	}
	return out
}

// says runs a command that has to end with an exit code and to say a text on stderr.
func says(t *testing.T, code int, want string, args ...string) {
	t.Helper()
	if got, out, errs := run(t, args...); got != code || !strings.Contains(errs, want) {
		t.Errorf("%v: exit code %d, want %d and %q\n%s%s", args, got, code, want, out, errs)
	}
}

func readResult(t *testing.T, path string) *retrieval.Result {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	r := new(retrieval.Result)
	must.Do(t, json.Unmarshal(text, r))
	return r
}

func TestEvalRanksAnotherGallery(t *testing.T) {
	embeddingFiles(t)
	labels := must.Get(os.ReadFile("l.csv"))(t)
	other := strings.ReplaceAll(string(labels), "img", "other")
	must.Do(t, os.WriteFile("other.csv", []byte(other), 0o644))
	args := []string{"eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--limit", "7", "--per-query",
		"--gallery-embeddings", "e.npy", "--metrics", "R@1,AP", "--out", "other.json", "--gallery-labels"}
	succeeds(t, append(args, "other.csv")...)
	r := readResult(t, "other.json")
	// Nobody is left out of the ranking here, and every query is its own neighbour.
	if r.Queries != 7 || r.Gallery != 60 || r.Self || r.LeftOut != 0 || r.Mean("R@1_level0") != 1 {
		t.Errorf("result %+v", r)
	}
	if len(r.PerQuery.IDs) != 7 || r.PerQuery.IDs[6] != "img6" || len(r.PerQuery.Values["AP_level1"]) != 7 {
		t.Errorf("values of the queries %+v", r.PerQuery)
	}
	// The same ids are the same images, of which the gallery may have some.
	must.Do(t, os.WriteFile("other.csv", []byte(strings.Replace(other, "other3,", "img3,", 1)), 0o644))
	code, out, errs := run(t, append(args, "other.csv")...)
	if r := readResult(t, "other.json"); code != 0 || r.LeftOut != 1 || r.Self ||
		!strings.Contains(out, "1 queries left out of their own ranking") ||
		!strings.Contains(errs, "1 of 7 queries are also in the gallery") {
		t.Errorf("exit code %d\n%s%s%+v", code, out, errs, r)
	}
}

// Judgements that say what the labels say give the same figures, in each kind of file;
// junk is taken out as an ignored column takes it out.
func TestEvalMeasuresByQrels(t *testing.T) {
	embeddingFiles(t)
	var ids, qrels, both strings.Builder
	truth := map[string]map[string][]string{}
	ids.WriteString("id,is_query,is_gallery\n")
	both.WriteString("id,landmark,parity,is_query,is_gallery\n")
	for i := range 60 { // the first 12 are queries, of the classes l0 to l11
		fmt.Fprintf(&ids, "img%d,%v,%v\n", i, i < 12, i >= 12)
		fmt.Fprintf(&both, "img%d,l%d,%d,%v,%v\n", i, i%12, i/12%2, i < 12, i >= 12)
	}
	for q := range 12 {
		query := fmt.Sprintf("img%d", q)
		list := map[string][]string{}
		for i := 12; i < 60; i++ {
			item := fmt.Sprintf("img%d", i)
			if i%12 == q {
				fmt.Fprintf(&qrels, "%s 0 %s 1\n", query, item)
			}
			switch { // img0 to img11 have the parity 0
			case i/12%2 == 0:
				list["junk"] = append(list["junk"], item)
			case i%12 == q:
				list["positives"] = append(list["positives"], item)
			}
		}
		truth[query] = list
	}
	data := must.Get(json.Marshal(truth))(t)
	for name, text := range map[string]string{
		"ids.csv": ids.String(), "both.csv": both.String(), "x.qrels": qrels.String(),
		"truth.json": string(data)} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	measure := func(args ...string) *retrieval.Result {
		t.Helper()
		args = append([]string{"eval", "run", "--embeddings", "e.npy", "--metrics", "R@1,AP,NDCG,MRR"}, args...)
		succeeds(t, args...)
		return readResult(t, "eval.json")
	}
	land := strings.NewReplacer(",parity", "", ",0,", ",", ",1,", ",").Replace(both.String())
	unknown := "id\n"
	for i := range 60 {
		unknown += fmt.Sprintf("x%d\n", i)
	}
	for name, text := range map[string]string{"land.csv": land, "unknown.csv": unknown} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for _, c := range []struct{ labels, judged []string }{
		{[]string{"--labels", "land.csv"}, []string{"--qrels", "x.qrels"}},
		{[]string{"--labels", "both.csv", "-o", "ignore=parity"}, []string{"--qrels", "truth.json"}},
	} {
		want, got := measure(c.labels...), measure(append(c.judged, "--labels", "ids.csv")...)
		for i, v := range want.Values {
			if w := got.Values[i]; w.Mean != v.Mean || w.Skipped != v.Skipped || v.Mean <= 0 {
				t.Errorf("%v: %s is %v (%d skipped), by %v it is %v (%d)", c.judged, w.Key, w.Mean, w.Skipped,
					c.labels, v.Mean, v.Skipped)
			}
		}
		if n := len(got.Of.Files); n != 3 || got.Of.Files[2].Path != c.judged[1] || got.Tool == "" ||
			got.Definitions["MRR"] == "" {
			t.Errorf("the result does not name its files and definitions: %+v", got)
		}
	}
	succeeds(t, "eval", "run", "--embeddings", "e.npy", "--labels", "ids.csv", "--qrels", "x.qrels", "--report", "j.html")
	page := string(must.Get(os.ReadFile("j.html"))(t))
	for text, there := range map[string]bool{`"judged":true`: true, "not relevant": true, "same relevan": false,
		"By relevan": false, "Confusion of": false} {
		if strings.Contains(page, text) != there {
			t.Errorf("the page of judgements has %q: %v, want %v", text, !there, there)
		}
	}
	for want, args := range map[string][]string{
		"need labels, which --qrels replaces": {"ids.csv", "--qrels", "x.qrels", "-o", "mean=class"},
		"only a .csv with a column Usage":     {"ids.csv", "--qrels", "x.qrels", "-o", "qrels_usage=public"},
		"the judgements use other ids": {"l.csv", "--qrels", "x.qrels", "--gallery-embeddings",
			"e.npy", "--gallery-labels", "unknown.csv"},
	} {
		says(t, exitUsage, want, append([]string{"eval", "run", "--embeddings", "e.npy", "--labels"}, args...)...)
	}
}

// What hgld ranks and writes for trec_eval, it measures alike when it reads it back.
func TestEvalMeasuresRankingsToTheirDepth(t *testing.T) {
	embeddingFiles(t)
	metrics := []string{"--metrics", "R@1,mAP@20"}
	if code, _, errs := run(t, append([]string{"eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--trec", "x",
		"-o", "top_k=20", "--out", "vectors.json"}, metrics...)...); code != 0 {
		t.Fatal(errs)
	}
	want := readResult(t, "vectors.json")
	ranked := append([]string{"eval", "run", "--ranking", "x.run", "--labels", "l.csv"}, metrics...)
	succeeds(t, ranked...)
	got := readResult(t, "eval.json")
	for i, v := range want.Values {
		if w := got.Values[i]; w.Mean != v.Mean || *w.Interval != *v.Interval {
			t.Errorf("%s is %v, of the vectors %v", w.Key, w.Mean, v.Mean)
		}
	}
	if len(got.Of.Files) != 2 || got.Of.Files[0].Path != "x.run" || !got.Self {
		t.Errorf("%+v", got.Of)
	}
	code, _, errs := run(t, "eval", "run", "--ranking", "x.run", "--labels", "l.csv", "--metrics", "AP")
	if code != exitUsage || !strings.Contains(errs, `AP reads 59 places, but the ranking of query "img0" has 20`) ||
		!strings.Contains(errs, "such as R@1 and mAP@20") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	lines := must.Get(os.ReadFile("x.run"))(t)
	_, others, _ := strings.Cut(string(lines), "img1 ")
	must.Do(t, os.WriteFile("part.run", []byte("img1 "+others), 0o644))
	code, _, errs = run(t, "eval", "run", "--ranking", "part.run", "--labels", "l.csv", "--metrics", "R@1")
	if code != exitUsage || !strings.Contains(errs, `part.run: query "img0" has no ranking`) ||
		!strings.Contains(errs, "leave it out of the labels") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	succeeds(t, "eval", "run", "--ranking", "part.run", "--labels", "l.csv", "--metrics", "R@1", "-o",
		"mean=all", "--out", "zero.json")
	code, _, errs = run(t, "eval", "run", "--ranking", "x.run", "--labels", "l.csv", "-o", "gap=8")
	if code != exitUsage || !strings.Contains(errs, "need vectors, which --ranking lacks") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestEvalWarnsAboutOddFiles(t *testing.T) {
	embeddingFiles(t)
	f := must.Get(os.Create("zero.npy"))(t)
	vectors := tensorfile.NewF32("", []int{3, 2}, []float32{1, 0, 0, 0, 0, 1})
	must.Do(t, errors.Join(tensorfile.WriteNPY(f, vectors), f.Close()))
	must.Do(t, os.WriteFile("z.csv", []byte("path,kind\nx,a\ny,a\nz,a\n"), 0o644))
	code, _, errs := run(t, "eval", "run", "--embeddings", "zero.npy", "--labels", "z.csv", "--levels", "path,kind")
	for _, hint := range []string{"1 of 3 vectors of zero.npy are all zeros, the first in row 1", `level "path": no query shares its class with another item`} {
		if code != 0 || !strings.Contains(errs, hint) {
			t.Errorf("exit code %d, want %q\n%s", code, hint, errs)
		}
	}
	if strings.Contains(errs, `level "kind"`) {
		t.Errorf("level kind has positives\n%s", errs)
	}
}

// Where eval.json cannot be written, an evaluation of hours is not lost.
func TestEvalPrintsAResultThatItCannotWrite(t *testing.T) {
	embeddingFiles(t)
	code, out, errs := run(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--out", "nowhere/e.json")
	if code != exitFailed || !strings.Contains(out, "H-AP") || !strings.Contains(errs, "nowhere") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// The time of the parts is said, and is not in the result.
func TestEvalProfileChangesNoResult(t *testing.T) {
	embeddingFiles(t)
	var results [2][]byte
	for i, more := range [][]string{nil, {"--profile"}} {
		code, _, errs := run(t, append([]string{"eval", "run", "--embeddings", "e.npy", "--labels", "l.csv"}, more...)...)
		if said := strings.Contains(errs, "products "); code != 0 || said != (i == 1) {
			t.Fatalf("%v: exit code %d, %s", more, code, errs)
		}
		var err error
		if results[i], err = os.ReadFile("eval.json"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(results[0], results[1]) {
		t.Error("--profile changes the result")
	}
}
