package main

import (
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/testfile"
	"hgld/train/embeddings"
)

// What is exported says of every query what eval run says of it, and of each neighbour what
// search finds.
func TestExportHoldsEveryQuery(t *testing.T) {
	embeddingFiles(t)
	must(t, "eval", "export", "--embeddings", "e.npy", "--labels", "l.csv", "--places", "5", "x")
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
	lines := strings.Split(must(t, "search", "--index", "e.npy", "--labels", "l.csv", "--id", "img7", "--neighbours", "5",
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
	must(t, "eval", "export", "--embeddings", "e.npy", "--labels", "l.csv", "--places", "100", "y")
	if long := readRows(t, "y.neighbours.npy", 60, 60); long[59] != -1 || long[58] < 0 {
		t.Errorf("the last places are %v", long[55:60])
	}
	code, _, errs := run(t, "eval", "export", "--embeddings", "e.npy", "--labels", "l.csv")
	if code != exitUsage || !strings.Contains(errs, "takes one PREFIX") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// readRows reads an .npy of this shape.
func readRows(t *testing.T, path string, rows, cols int) []float32 {
	t.Helper()
	a, err := tensorfile.OpenNPY(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if !slices.Equal(a.Shape, []int{rows, cols}) {
		t.Fatalf("%s is %v, want %d × %d", path, a.Shape, rows, cols)
	}
	values := make([]float32, rows*cols)
	if err := a.ReadRows(values, 0); err != nil {
		t.Fatal(err)
	}
	return values
}

// The page of vectors lists the worst queries, with their pictures if the images are named, and
// leaves the values of the queries out of eval.json.
func TestReportOfVectors(t *testing.T) {
	trainedPictures(t)
	must(t, "eval", "embed", "--run", "runs/a", "pictures/test")
	args := []string{"eval", "run", "--embeddings", "test.npy", "--labels", "test.csv", "--report", "r.html"}
	must(t, args...)
	page := func() string {
		text, err := os.ReadFile("r.html")
		if err != nil {
			t.Fatal(err)
		}
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
	must(t, append(args, "--images", "pictures/test")...)
	if n := strings.Count(page(), "data:image/jpeg"); n != 16*11 || strings.Contains(plain, "data:image/jpeg") {
		t.Errorf("%d pictures", n)
	}
	again := page()
	must(t, append(args, "--images", "pictures/test")...)
	if page() != again {
		t.Error("the same evaluation has another page")
	}
	must(t, append(args, "--images", "pictures/test", "--seed", "2")...)
	if page() == again {
		t.Error("another seed draws the same queries")
	}
	must(t, append(args, "--images", "pictures/test", "--report-places", "3")...)
	if n := strings.Count(page(), "data:image/jpeg"); n != 16*4 || !strings.Contains(page(), "the first 3 places") {
		t.Errorf("%d pictures of three places", n)
	}
	// Images under other names are not found: the page says so, the command too, and the result is kept.
	if err := os.Remove("eval.json"); err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, append(args, "--images", "pictures/train")...)
	if code != exitSomeFailed || !strings.Contains(out, "H-AP") ||
		!strings.Contains(errs, "r.html was written, but 176 of its images could not be shown") {
		t.Errorf("code %d, %s%s", code, out, errs)
	}
	readResult(t, "eval.json")
	if !strings.Contains(page(), "no image is called") {
		t.Error("the page does not say that the images are missing")
	}
}

// The page of two results has both rankings of the queries that changed, and the sign of the
// change.
func TestComparisonShowsWhatChangedMost(t *testing.T) {
	trainedPictures(t)
	must(t, "eval", "embed", "--run", "runs/a", "pictures/test")
	must(t, "eval", "export", "--embeddings", "test.npy", "--labels", "test.csv", "--places", "20", "b")
	a, err := tensorfile.OpenNPY("test.npy")
	if err != nil {
		t.Fatal(err)
	}
	rows, cols := a.Rows()
	values := make([]float32, rows*cols)
	if err := errors.Join(a.ReadRows(values, 0), a.Close()); err != nil {
		t.Fatal(err)
	}
	for i := range values { // a worse model: half of the numbers are lost
		if i%2 == 0 {
			values[i] = 0
		}
	}
	values[1] = 1
	writeNPY(t, "worse.npy", tensorfile.NewF32("", []int{rows, cols}, values))
	must(t, "eval", "export", "--embeddings", "worse.npy", "--labels", "test.csv", "--places", "20", "a")
	must(t, "eval", "compare", "--report", "ab.html", "--images", "pictures/test", "a.json", "b.json")
	text, err := os.ReadFile("ab.html")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, want := range []string{"b compared with a", "Gained most", "Queries that changed most", "data:image/jpeg",
		"48 queries in both"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	code, out, errs := run(t, "eval", "compare", "--report", "ab.html", "--images", "pictures/train", "a.json", "b.json")
	if code != exitSomeFailed || !strings.Contains(out, "H-AP") ||
		!strings.Contains(errs, "of its images could not be shown") {
		t.Errorf("with other images: code %d, %s%s", code, out, errs)
	}
	// The first query of the table is the one with the greatest change.
	ra, rb := readResult(t, "a.json"), readResult(t, "b.json")
	best, at := 0.0, 0
	for q, v := range rb.PerQuery.Values["H-AP"] {
		if d := math.Abs(float64(v - ra.PerQuery.Values["H-AP"][q])); d > best {
			best, at = d, q
		}
	}
	_, table, _ := strings.Cut(page, "Queries that changed most</h2>")
	if first := strings.Index(table, `<td class="text">`); first < 0 ||
		!strings.HasPrefix(table[first:], `<td class="text">`+ra.PerQuery.IDs[at]+"<") {
		t.Errorf("the first query is not %s", ra.PerQuery.IDs[at])
	}
	for want, args := range map[string][]string{
		"compares two results":                {"--report", "x.html", "a.json"},
		"--places is 0":                       {"--report", "x.html", "--places", "0", "a.json", "b.json"},
		"apply to the page of --report":       {"--by", "AP_level0", "a.json", "b.json"},
		"has no values of \"nosuch\"":         {"--report", "x.html", "--by", "nosuch", "a.json", "b.json"},
		"needs results with per-query values": {"--report", "x.html", "plain.json", "b.json"},
		"it is of another result":             {"--report", "x.html", "b.json", "c.json"},
		"row 99 of a gallery of 48":           {"--report", "x.html", "b.json", "d.json"},
	} {
		if _, err := os.Stat("c.json"); err != nil {
			must(t, "eval", "run", "--embeddings", "test.npy", "--labels", "test.csv", "--out", "plain.json")
			for _, prefix := range []string{"c", "d"} {
				must(t, "eval", "export", "--embeddings", "test.npy", "--labels", "test.csv", "--places", "2", prefix)
			}
			writeNPY(t, "c.neighbours.npy", tensorfile.NewI64("", []int{1, 2}, []int64{0, 1}))
			writeNPY(t, "d.neighbours.npy", tensorfile.NewI64("", []int{48, 1}, slices.Repeat([]int64{99}, 48)))
			for _, prefix := range []string{"c", "d"} { // without a record, which would tell first
				if err := os.Remove(prefix + ".export.json"); err != nil {
					t.Fatal(err)
				}
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
	if err := errors.Join(tensorfile.WriteNPY(&text, a), os.WriteFile(path, text.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// A file of an export that was changed is refused wherever it is read while the record lies beside it.
func TestAChangedExportIsRefused(t *testing.T) {
	embeddingFiles(t)
	for _, prefix := range []string{"a", "b"} {
		must(t, "eval", "export", "--embeddings", "e.npy", "--labels", "l.csv", "--places", "5", prefix)
	}
	ranking := []string{"eval", "run", "--ranking", "a.neighbours.npy", "--labels", "l.csv", "--metrics", "R@1"}
	table := []string{"eval", "run", "--embeddings", "e.npy", "--labels", "a.gallery.csv"}
	compare := []string{"eval", "compare", "--report", "ab.html", "a.json", "b.json"}
	for _, c := range []struct {
		file string
		args []string
	}{{"a.neighbours.npy", ranking}, {"a.export.json", ranking}, {"a.gallery.csv", table},
		{"a.neighbours.npy", compare}, {"a.queries.parquet", compare}, {"b.gallery.csv", compare}} {
		must(t, c.args...)
		was, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(was)
		changed[len(changed)*3/4] ^= 1
		for _, damage := range [][]byte{changed, was[:len(was)-2]} {
			testfile.Write(t, ".", c.file, string(damage))
			if code, _, errs := run(t, c.args...); code != exitIntegrity || !strings.Contains(errs, ".export.json") {
				t.Errorf("%s changed: %v: exit code %d\n%s", c.file, c.args, code, errs)
			}
		}
		testfile.Write(t, ".", c.file, string(was))
	}
	if err := os.Remove("a.export.json"); err != nil { // as of an older hgld
		t.Fatal(err)
	}
	must(t, ranking...)
}
