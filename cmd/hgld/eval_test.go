package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/train/export"
	"hgld/train/retrieval"
)

// embeddingFiles writes 60 vectors of twelve landmarks in three kinds, as .npy
// and as .safetensors, and their labels as .csv and .npy, to a new folder, which
// becomes the current one.
func embeddingFiles(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	const n, d = 60, 8
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]float32, n*d)
	classes := make([]int64, 2*n)
	csv := "id,landmark,kind\n"
	for i := range n {
		landmark, kind := i%12, i%3
		for j := range d {
			values[i*d+j] = float32(r.NormFloat64())
			if j == landmark%d || j == kind {
				values[i*d+j] += 2
			}
		}
		classes[2*i], classes[2*i+1] = int64(landmark), int64(kind)
		csv += fmt.Sprintf("img%d,l%d,k%d\n", i, landmark, kind)
	}
	write := func(name string, fill func(io.Writer) error) {
		t.Helper()
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := fill(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	vectors := tensorfile.NewF32("embeddings", []int{n, d}, values)
	write("e.npy", func(w io.Writer) error { return tensorfile.WriteNPY(w, vectors) })
	write("e.safetensors", func(w io.Writer) error {
		return tensorfile.WriteSafetensors(w, []tensorfile.Tensor{vectors}, nil)
	})
	write("e.parquet", func(w io.Writer) error {
		e := &export.Embeddings{Vectors: vectors, Levels: []string{"landmark", "kind"}}
		for i := range n {
			e.IDs, e.Classes = append(e.IDs, fmt.Sprintf("img%d", i)),
				append(e.Classes, []string{fmt.Sprintf("l%d", i%12), fmt.Sprintf("k%d", i%3)})
		}
		return e.Parquet(w)
	})
	write("l.npy", func(w io.Writer) error { return tensorfile.WriteNPY(w, tensorfile.NewI64("", []int{n, 2}, classes)) })
	write("l.csv", func(w io.Writer) error { _, err := io.WriteString(w, csv); return err })
	write("short.csv", func(w io.Writer) error {
		_,
			err := io.WriteString(w, csv[:strings.Index(csv, "img9")])
		return err
	})
	write("notree.csv", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Replace(csv, "img59,l11,k2", "img59,l11,k0", 1))
		return err
	})
}

func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"hgld"}, args...)
	code = hgld(args, &out, &errs)
	checkAdvice(t, args, errs.String())
	return code, out.String(), errs.String()
}

func readResult(t *testing.T, path string) *retrieval.Result {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := new(retrieval.Result)
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEvalOfEmbeddingsDoesNotDependOnTheFileFormat(t *testing.T) {
	embeddingFiles(t)
	var want *retrieval.Result
	for _, files := range [][2]string{{"e.npy", "l.csv"}, {"e.safetensors", "l.csv"}, {"e.npy", "l.npy"},
		{"e.parquet", "l.csv"}, {"e.npy", "e.parquet"}, {"e.parquet", ""}} {
		args := []string{"eval", "run", "--embeddings", files[0]}
		if files[1] != "" {
			args = append(args, "--labels", files[1])
		}
		code, out, errs := run(t, args...)
		if code != 0 || !strings.Contains(out, "H-AP") {
			t.Fatalf("%v: exit code %d\n%s%s", files, code, out, errs)
		}
		got := readResult(t, "eval.json")
		if want == nil {
			want = got
			if got.Queries != 60 || !got.Self || len(got.Levels) != 2 || got.Mean("R@1_level0") <= 0.2 {
				t.Errorf("result %+v", got)
			}
		}
		for _, v := range want.Values {
			if got.Mean(v.Key) != float64(v.Mean) {
				t.Errorf("%v: %s is %v, was %v", files, v.Key, got.Mean(v.Key), v.Mean)
			}
		}
	}
}

func TestEvalRanksAnotherGallery(t *testing.T) {
	embeddingFiles(t)
	labels, err := os.ReadFile("l.csv")
	if err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(string(labels), "img", "other")
	if err := os.WriteFile("other.csv", []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--limit", "7", "--per-query",
		"--gallery-embeddings", "e.npy", "--metrics", "R@1,AP", "--out", "other.json", "--gallery-labels"}
	if code, _, errs := run(t, append(args, "other.csv")...); code != 0 {
		t.Fatal(errs)
	}
	r := readResult(t, "other.json")
	// Nobody is left out of the ranking here, and every query is its own neighbour.
	if r.Queries != 7 || r.Gallery != 60 || r.Self || r.LeftOut != 0 || r.Mean("R@1_level0") != 1 {
		t.Errorf("result %+v", r)
	}
	if len(r.PerQuery.IDs) != 7 || r.PerQuery.IDs[6] != "img6" || len(r.PerQuery.Values["AP_level1"]) != 7 {
		t.Errorf("values of the queries %+v", r.PerQuery)
	}
	// The same ids are the same images, of which the gallery may have some.
	if err := os.WriteFile("other.csv", []byte(strings.Replace(other, "other3,", "img3,", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, append(args, "other.csv")...)
	if r := readResult(t, "other.json"); code != 0 || r.LeftOut != 1 || r.Self ||
		!strings.Contains(out, "1 queries left out of their own ranking") ||
		!strings.Contains(errs, "1 of 7 queries are also in the gallery") {
		t.Errorf("exit code %d\n%s%s%+v", code, out, errs, r)
	}
}

// One table with both sides gives what two tables give.
func TestEvalTakesBothSidesFromOneTable(t *testing.T) {
	embeddingFiles(t)
	data, err := os.ReadFile("l.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	table := strings.ReplaceAll(lines[0], ",", "\t") + "\tis_query\tis_gallery\n"
	for i, line := range lines[1:] {
		table += fmt.Sprintf("%s\t%v\t%v\n", strings.ReplaceAll(line, ",", "\t"), i%3 == 0, i%2 == 0)
	}
	if err := os.WriteFile("both.tsv", []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, "eval", "run", "--embeddings", "e.npy", "--labels", "both.tsv", "--per-query")
	r := readResult(t, "eval.json")
	if code != 0 || r.Queries != 20 || r.Gallery != 30 || r.LeftOut != 10 || r.PerQuery.IDs[1] != "img3" {
		t.Fatalf("exit code %d\n%s%s%+v", code, out, errs, r)
	}
}

// Judgements that say what the labels say give the same figures, in each kind of file;
// junk is taken out as an ignored column takes it out.
func TestEvalMeasuresByQrels(t *testing.T) {
	embeddingFiles(t)
	var ids, qrels, solution, both strings.Builder
	truth := map[string]map[string][]string{}
	ids.WriteString("id,is_query,is_gallery\n")
	both.WriteString("id,landmark,parity,is_query,is_gallery\n")
	solution.WriteString("id,images,Usage\n")
	for i := range 60 { // the first 12 are queries, of the classes l0 to l11
		fmt.Fprintf(&ids, "img%d,%v,%v\n", i, i < 12, i >= 12)
		fmt.Fprintf(&both, "img%d,l%d,%d,%v,%v\n", i, i%12, i/12%2, i < 12, i >= 12)
	}
	for q := range 12 {
		query := fmt.Sprintf("img%d", q)
		list := map[string][]string{}
		var right []string
		for i := 12; i < 60; i++ {
			item := fmt.Sprintf("img%d", i)
			if i%12 == q {
				fmt.Fprintf(&qrels, "%s 0 %s 1\n", query, item)
				right = append(right, item)
			}
			switch { // img0 to img11 have the parity 0
			case i/12%2 == 0:
				list["junk"] = append(list["junk"], item)
			case i%12 == q:
				list["positives"] = append(list["positives"], item)
			}
		}
		fmt.Fprintf(&solution, "%s,%s,Public\n", query, strings.Join(right, " "))
		truth[query] = list
	}
	data, err := json.Marshal(truth)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"ids.csv": ids.String(), "both.csv": both.String(), "x.qrels": qrels.String(),
		"solution.csv": solution.String(), "truth.json": string(data)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	measure := func(args ...string) *retrieval.Result {
		t.Helper()
		args = append([]string{"eval", "run", "--embeddings", "e.npy", "--metrics", "R@1,AP,NDCG,MRR"}, args...)
		if code, out, errs := run(t, args...); code != 0 {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, out, errs)
		}
		return readResult(t, "eval.json")
	}
	land := strings.NewReplacer(",parity", "", ",0,", ",", ",1,", ",").Replace(both.String())
	unknown := "id\n"
	for i := range 60 {
		unknown += fmt.Sprintf("x%d\n", i)
	}
	for name, text := range map[string]string{"land.csv": land, "unknown.csv": unknown} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ labels, judged []string }{
		{[]string{"--labels", "land.csv"}, []string{"--qrels", "x.qrels"}},
		{[]string{"--labels", "land.csv"}, []string{"--qrels", "solution.csv"}},
		{[]string{"--labels", "both.csv", "--ignore", "parity"}, []string{"--qrels", "truth.json"}},
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
	for want, args := range map[string][]string{
		"need labels, which --qrels replaces": {"ids.csv", "--qrels", "x.qrels", "--mean", "class"},
		"only a .csv with a column Usage":     {"ids.csv", "--qrels", "x.qrels", "--qrels-usage", "public"},
		"the judgements use other ids": {"l.csv", "--qrels", "x.qrels", "--gallery-embeddings",
			"e.npy", "--gallery-labels", "unknown.csv"},
	} {
		code, _, errs := run(t, append([]string{"eval", "run", "--embeddings", "e.npy", "--labels"}, args...)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, want %q in\n%s", args, code, want, errs)
		}
	}
}

// What hgld ranks and writes for trec_eval, it measures alike when it reads it back.
func TestEvalMeasuresRankingsToTheirDepth(t *testing.T) {
	embeddingFiles(t)
	metrics := []string{"--metrics", "R@1,mAP@20"}
	if code, _, errs := run(t, append([]string{"eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--trec", "x",
		"--trec-places", "20", "--out", "vectors.json"}, metrics...)...); code != 0 {
		t.Fatal(errs)
	}
	want := readResult(t, "vectors.json")
	ranked := append([]string{"eval", "run", "--ranking", "x.run", "--labels", "l.csv"}, metrics...)
	if code, _, errs := run(t, ranked...); code != 0 {
		t.Fatal(errs)
	}
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
	lines, err := os.ReadFile("x.run")
	if err != nil {
		t.Fatal(err)
	}
	_, others, _ := strings.Cut(string(lines), "img1 ")
	if err := os.WriteFile("part.run", []byte("img1 "+others), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, errs = run(t, "eval", "run", "--ranking", "part.run", "--labels", "l.csv", "--metrics", "R@1")
	if code != exitUsage || !strings.Contains(errs, `part.run: query "img0" has no ranking`) ||
		!strings.Contains(errs, "leave it out of the labels") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	code, _, errs = run(t, "eval", "run", "--ranking", "x.run", "--labels", "l.csv", "--gap", "8")
	if code != exitUsage || !strings.Contains(errs, "need vectors, which --ranking does not have") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestEvalWarnsAboutOddFiles(t *testing.T) {
	embeddingFiles(t)
	f, err := os.Create("zero.npy")
	if err != nil {
		t.Fatal(err)
	}
	vectors := tensorfile.NewF32("", []int{3, 2}, []float32{1, 0, 0, 0, 0, 1})
	if err := errors.Join(tensorfile.WriteNPY(f, vectors), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("z.csv", []byte("path,kind\nx,a\ny,a\nz,a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
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

func TestEvalNamesTheErrorsInItsFiles(t *testing.T) {
	embeddingFiles(t)
	if err := os.WriteFile("empty.csv", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	six, err := os.Create("two.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	var tensors []tensorfile.Tensor
	for _, name := range strings.Split("abcdef", "") {
		tensors = append(tensors, tensorfile.NewF32(name, []int{1}, []float32{1}))
	}
	if err := errors.Join(tensorfile.WriteSafetensors(six, tensors, nil), six.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		hint string
	}{
		{[]string{"--embeddings", "e.npy"}, exitUsage, "--labels"},
		{[]string{"--embeddings", "e.npy", "--labels", "short.csv"}, exitUsage,
			"e.npy has 60 vectors, but short.csv has 9 rows"},
		{[]string{"--embeddings", "e.npy", "--labels", "notree.csv"}, exitUsage, `landmark "l11" has two parents`},
		{[]string{"--embeddings", "l.csv", "--labels", "l.csv"}, exitUsage, `unknown kind of file ".csv"`},
		{[]string{"--embeddings", "e.npy", "--labels", "empty.csv"}, exitUsage, "empty.csv is empty; want a heading"},
		{[]string{"--embeddings", "two.safetensors", "--labels", "l.csv"}, exitUsage,
			"no float tensor with rows and columns, but a, b, c, d, e and 1 more"},
		{[]string{"--embeddings", "e.npy", "--labels", "l.csv", "--metrics", "mAP@Q"}, exitUsage, "@R"},
		{[]string{"--embeddings", "e.npy", "--labels", "l.csv", "--ties", "none"}, exitUsage,
			`unknown order of ties "none"`},
		{[]string{"--embeddings", "e.npy", "--labels", "l.csv", "--gallery-labels", "l.csv"}, exitUsage,
			"the gallery has labels but no vectors"},
	} {
		code, _, errs := run(t, append([]string{"eval", "run"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.hint) {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s", c.args, code, c.code, c.hint, errs)
		}
	}
	damaged, err := os.ReadFile("e.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range [][]byte{damaged[:len(damaged)/2], damaged[8:], []byte("PAR1"), nil} {
		if err := os.WriteFile("cut.parquet", file, 0o644); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := run(t, "eval", "run", "--embeddings", "cut.parquet"); code == 0 ||
			!strings.Contains(errs, "cut.parquet") {
			t.Errorf("damaged Parquet %d: exit code %d\n%s", i, code, errs)
		}
	}
	whole, err := os.ReadFile("e.npy")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(".", "cut.npy"), whole[:len(whole)-40], 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, "eval", "run", "--embeddings", "cut.npy", "--labels", "l.csv"); code != exitIntegrity ||
		!strings.Contains(errs, "cut.npy") {
		t.Errorf("half a file: exit code %d\n%s", code, errs)
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
