package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/report"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/train/embeddings"
)

// What is exported says of every query what eval run says of it, and of each neighbour what
// search finds.
func TestExportHoldsEveryQuery(t *testing.T) {
	embeddingFiles(t)
	succeeds(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "-o", "top_k=5", "--export", "x")
	r := readResult(t, "x.json")
	rows, err := parquet.ReadFile[struct {
		ID   string   `parquet:"id"`
		Kind string   `parquet:"label_1,optional"`
		AP   *float64 `parquet:"AP_level0,optional"`
		HAP  *float64 `parquet:"H-AP,optional"`
	}]("x.queries.parquet")
	if err != nil || len(rows) != 60 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for q, row := range rows {
		if row.ID != r.PerQuery.IDs[q] || row.AP == nil || *row.AP != float64(r.PerQuery.Values["AP_level0"][q]) ||
			*row.HAP != float64(r.PerQuery.Values["H-AP"][q]) || !strings.HasPrefix(row.Kind, "k") {
			t.Fatalf("row %d is %+v", q, row)
		}
	}
	found := readRows(t, "x.neighbours.npy", 60, 5)
	scores := readRows(t, "x.scores.npy", 60, 5)
	table, err := embeddings.ReadTable("x.gallery.csv")
	if err != nil || table.Rows != 60 {
		t.Fatal(table, err)
	}
	lines := strings.Split(succeeds(t, "search", "--index", "e.npy", "--labels", "l.csv", "--id", "img7", "--top-k", "5",
		"--format", "csv"), "\n")[1:6]
	for k, line := range lines {
		if id := table.IDs[int(found[7*5+k])]; !strings.HasPrefix(line, id+",") {
			t.Errorf("place %d is %s in the export, and %s in the search", k+1, id, line)
		}
		if k > 0 && scores[7*5+k] > scores[7*5+k-1] {
			t.Errorf("the scores rise: %v", scores[7*5:][:5])
		}
	}
	// A gallery shorter than the places ends with −1.
	succeeds(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "-o", "top_k=100", "--export", "y")
	if long := readRows(t, "y.neighbours.npy", 60, 60); long[59] != -1 || long[58] < 0 {
		t.Errorf("the last places are %v", long[55:60])
	}
	says(t, exitUsage, "needs a PREFIX", "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--export", "")
}

// readRows reads an .npy of this shape.
func readRows(t *testing.T, path string, rows, cols int) []float32 {
	t.Helper()
	a := must.Get(tensorfile.OpenNPY(path))(t)
	defer a.Close()
	if !slices.Equal(a.Shape, []int{rows, cols}) {
		t.Fatalf("%s is %v, want %d × %d", path, a.Shape, rows, cols)
	}
	values := make([]float32, rows*cols)
	must.Do(t, a.ReadRows(values, 0))
	return values
}

// The page of vectors lists the worst queries, with their pictures if the images are named, and
// leaves the values of the queries out of eval.json.
func TestReportOfVectors(t *testing.T) {
	trainedPictures(t)
	succeeds(t, "embed-images", "--run", "runs/a", "pictures/test")
	args := []string{"eval", "run", "--embeddings", "test.npy", "--labels", "test.csv", "--report", "r.html"}
	succeeds(t, args...)
	page := func() string {
		text := must.Get(os.ReadFile("r.html"))(t)
		return string(text)
	}
	if r := readResult(t, "eval.json"); r.PerQuery != nil {
		t.Error("eval.json has the values of the queries, which nobody asked for")
	}
	for _, want := range []string{"Queries", "By level_0", "By level_1", "Confusion of level_1", `<th scope="col"><button`} {
		if !strings.Contains(page(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	plain := page()
	succeeds(t, append(args, "--images", "pictures/test")...)
	if n := strings.Count(page(), "data:image/jpeg"); n != 48 || strings.Contains(plain, "data:image/jpeg") {
		t.Errorf("%d pictures", n)
	}
	again := page()
	succeeds(t, append(args, "--images", "pictures/test")...)
	if page() != again {
		t.Error("the same evaluation has another page")
	}
	succeeds(t, append(args, "--images", "pictures/test", "-o", "top_k=3")...)
	if n := strings.Count(page(), "data:image/jpeg"); n != 48 || !strings.Contains(page(), "the first 3 places") {
		t.Errorf("%d pictures of three places", n)
	}
	// Images under other names are not found: the page says so, the command too, and the result is kept.
	must.Do(t, os.Remove("eval.json"))
	code, out, errs := run(t, append(args, "--images", "pictures/train")...)
	if code != exitSomeFailed || !strings.Contains(out, "H-AP") ||
		!strings.Contains(errs, "r.html was written, but 48 of its images could not be shown") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	readResult(t, "eval.json")
	if !strings.Contains(page(), "no image is called") {
		t.Error("the page does not say that the images are missing")
	}
}

// explored returns what the list of queries on a page of rankings holds.
func explored(t *testing.T, page string) (x report.Explorer) {
	t.Helper()
	_, data, _ := strings.Cut(page, `<script id="data" type="application/json">`)
	data, _, _ = strings.Cut(data, "</script>")
	must.Do(t, json.Unmarshal([]byte(data), &x))
	return x
}

// The page of two results has the values of both and both rankings of each query.
func TestComparisonShowsBothResultsOfAQuery(t *testing.T) {
	trainedPictures(t)
	succeeds(t, "embed-images", "--run", "runs/a", "pictures/test")
	succeeds(t, "eval", "run", "--embeddings", "test.npy", "--labels", "test.csv", "-o", "top_k=20", "--export", "b")
	a := must.Get(tensorfile.OpenNPY("test.npy"))(t)
	rows, cols := a.Rows()
	values := make([]float32, rows*cols)
	must.Do(t, errors.Join(a.ReadRows(values, 0), a.Close()))
	for i := range values { // a worse model: half of the numbers are lost
		if i%2 == 0 {
			values[i] = 0
		}
	}
	values[1] = 1
	writeNPY(t, "worse.npy", tensorfile.NewF32("", []int{rows, cols}, values))
	succeeds(t, "eval", "run", "--embeddings", "worse.npy", "--labels", "test.csv", "-o", "top_k=20", "--export", "a")
	succeeds(t, "eval", "compare", "--report", "ab.html", "--images", "pictures/test", "a.json", "b.json")
	text := must.Get(os.ReadFile("ab.html"))(t)
	page := string(text)
	for _, want := range []string{"b compared with a", "data:image/jpeg", "48 queries in both"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	code, out, errs := run(t, "eval", "compare", "--report", "ab.html", "--images", "pictures/train", "a.json", "b.json")
	if code != exitSomeFailed || !strings.Contains(out, "H-AP") ||
		!strings.Contains(errs, "of its images could not be shown") {
		t.Errorf("with other images: code %d, %s%s", code, out, errs)
	}
	ra, rb, x := readResult(t, "a.json"), readResult(t, "b.json"), explored(t, page)
	changed := 0
	for _, q := range x.Queries {
		at := slices.Index(ra.PerQuery.IDs, x.Items[q.Item].ID)
		a, b := float64(ra.PerQuery.Values["H-AP"][at]), float64(rb.PerQuery.Values["H-AP"][at])
		if math.Abs(float64(q.Value[0])-a)+math.Abs(float64(q.Value[1])-b) > 1e-6 {
			t.Errorf("%s: values %v, want %v and %v", x.Items[q.Item].ID, q.Value, a, b)
		}
		if !slices.Equal(q.Found[0], q.Found[1]) {
			changed++
		}
	}
	if len(x.Queries) != 48 || changed == 0 {
		t.Errorf("%d queries, of which %d are ranked otherwise", len(x.Queries), changed)
	}
	for want, args := range map[string][]string{
		"compares two results":                {"--report", "x.html", "a.json"},
		"--top-k is 0":                        {"--report", "x.html", "--top-k", "0", "a.json", "b.json"},
		"applies to the page of --report":     {"--images", "photos", "a.json", "b.json"},
		"has no values of \"nosuch\"":         {"--report", "x.html", "--metrics", "nosuch", "a.json", "b.json"},
		"needs results with per-query values": {"--report", "x.html", "plain.json", "b.json"},
		"it is of another result":             {"--report", "x.html", "b.json", "c.json"},
		"row 99 of a gallery of 48":           {"--report", "x.html", "b.json", "d.json"},
	} {
		if _, err := os.Stat("c.json"); err != nil {
			succeeds(t, "eval", "run", "--embeddings", "test.npy", "--labels", "test.csv", "--out", "plain.json")
			for _, prefix := range []string{"c", "d"} {
				succeeds(t, "eval", "run", "--embeddings", "test.npy", "--labels", "test.csv", "-o", "top_k=2", "--export", prefix)
			}
			writeNPY(t, "c.neighbours.npy", tensorfile.NewI64("", []int{1, 2}, []int64{0, 1}))
			writeNPY(t, "d.neighbours.npy", tensorfile.NewI64("", []int{48, 1}, slices.Repeat([]int64{99}, 48)))
			for _, prefix := range []string{"c", "d"} { // without a record, which would tell first
				must.Do(t, os.Remove(prefix+".export.json"))
			}
		}
		code, _, errs := run(t, append([]string{"eval", "compare"}, args...)...)
		if code != exitUsage && code != exitIntegrity || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, want %q\n%s", args, code, want, errs)
		}
	}
}

func writeNPY(t *testing.T, path string, a tensorfile.Tensor) {
	t.Helper()
	var text bytes.Buffer
	must.Do(t, errors.Join(tensorfile.WriteNPY(&text, a), os.WriteFile(path, text.Bytes(), 0o644)))
}

// A file of an export that was changed is refused wherever it is read while the record lies beside it.
func TestAChangedExportIsRefused(t *testing.T) {
	embeddingFiles(t)
	for _, prefix := range []string{"a", "b"} {
		succeeds(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "-o", "top_k=5", "--export", prefix)
	}
	ranking := []string{"eval", "run", "--ranking", "a.neighbours.npy", "--labels", "l.csv", "--metrics", "R@1"}
	table := []string{"eval", "run", "--embeddings", "e.npy", "--labels", "a.gallery.csv"}
	compare := []string{"eval", "compare", "--report", "ab.html", "a.json", "b.json"}
	for _, c := range []struct {
		file string
		args []string
	}{{"a.neighbours.npy", ranking}, {"a.export.json", ranking}, {"a.gallery.csv", table},
		{"a.neighbours.npy", compare}, {"a.queries.parquet", compare}, {"b.gallery.csv", compare}} {
		succeeds(t, c.args...)
		was := must.Get(os.ReadFile(c.file))(t)
		changed := bytes.Clone(was)
		changed[len(changed)*3/4] ^= 1
		for _, damage := range [][]byte{changed, was[:len(was)-2]} {
			testfile.Write(t, ".", c.file, string(damage))
			says(t, exitIntegrity, ".export.json", c.args...)
		}
		testfile.Write(t, ".", c.file, string(was))
	}
	if err := os.Remove("a.export.json"); err != nil { // as of an older hgld
		t.Fatal(err)
	}
	succeeds(t, ranking...)
}
