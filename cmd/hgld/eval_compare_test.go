package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"hgld/internal/seal"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/train/experiment/report"
	"hgld/train/retrieval"
)

// sealed returns a JSON object as hgld writes it, with the hash of its content. Other texts stay as they are.
func sealed(t *testing.T, text string) string {
	t.Helper()
	if !json.Valid([]byte(text)) || text == "{}" || text[0] != '{' {
		return text
	}
	with := must.Get(seal.JSON([]byte(text)))(t)
	return string(with)
}

func TestCompareShowsTheRowOfThePaper(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"a.json": `{"hgld_eval":1,"queries":60502,"levels":["product","category"],"metrics":[{"key":"R@1_level0","mean":0.5},{"key":"H-AP","mean":0.25}],"overall":{}}`,
		"c.json": `{"hgld_eval":1,"levels":["product","category"],"metrics":[{"key":"R@1_level0","mean":0.5,"interval":[0.25,0.75]}],"overall":{}}`,
		"b.json": `{"hgld_eval":1,"levels":["product","category"],"metrics":[{"key":"R@1_level0","mean":0.625},{"key":"ASI","mean":null}],"overall":{}}`,
	} {
		testfile.Write(t, ".", name, sealed(t, text))
	}
	code, out, errs := run(t, "eval", "compare", "a.json", "b.json")
	if want := "%                       a        b\nR@1_level0          50.00    62.50\nH-AP " +
		"               25.00        " +
		"–\nASI                     –        –\n"; code != 0 || out != want {
		t.Errorf("exit code %d\n%s%s\nwant\n%s", code, out, errs, want)
	}
	// One row of the JSON has one unit.
	_, out, _ = run(t, "eval", "compare", "--json", "c.json")
	var one []report.Comparison
	if err := json.Unmarshal([]byte(out), &one); err != nil || one[0].Rows[0].Values[0] != 50 ||
		*one[0].Rows[0].Intervals[0] != (retrieval.Ends{25, 75}) {
		t.Errorf("%v\n%s", err, out)
	}
	code, out, errs = run(t, "eval", "compare", "--paper", "sop/happier", "a.json")
	if code != 0 || !strings.Contains(out, "table V, HAPPIER on sop (quoted)") ||
		!strings.Contains(out, "R@1_level0           81.0    50.00\n") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	_, out, _ = run(t, "eval", "compare", "--json", "--paper", "sop/happier")
	var tables []report.Comparison
	if err := json.Unmarshal([]byte(out), &tables); err != nil || len(tables) == 0 || len(tables[0].Rows[0].Values) != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	for want, args := range map[string][]string{"name results of": nil, `unknown recipe "sop/hapier"`: {"--paper", "sop/hapier", "a.json"}} {
		says(t, exitUsage, want, append([]string{"eval", "compare"}, args...)...)
	}
}

func TestPaperIsComparedOnItsOwnDataSet(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"few.json":    `{"hgld_eval":1,"queries":24,"levels":["product","category"],"metrics":[{"key":"R@1_level0","mean":0.5}],"overall":{}}`,
		"levels.json": `{"hgld_eval":1,"queries":60502,"levels":["a","b","c"],"metrics":[{"key":"R@1_level0","mean":0.5}],"overall":{}}`,
	} {
		testfile.Write(t, ".", name, sealed(t, text))
		code, out, errs := run(t, "eval", "compare", "--paper", "sop/happier", name)
		if code != exitUsage || out != "" || !strings.Contains(errs, name+" was measured on ") ||
			!strings.Contains(errs, "2 levels and 60502 queries") || !strings.Contains(errs, "--other-data") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errs)
		}
		code, out, errs = run(t, "eval", "compare", "--other-data", "--paper", "sop/happier", name)
		if code != 0 || !strings.Contains(out, "50.00") || !strings.Contains(errs, "was measured on") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, out, errs)
		}
	}
}

// revisitedFiles writes two queries and five gallery items; the first query ranks
// them 0, 1, 2, 3, 4 and the second 4, 3, 2, 1, 0.
func revisitedFiles(t *testing.T, truth string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, v := range map[string][]float32{"q.npy": {1, 0, 0, 1}, "g.npy": {5, 1, 4, 2, 3, 3, 2, 4, 1, 5}} {
		f := must.Get(os.Create(name))(t)
		must.Do(t, tensorfile.WriteNPY(io.Writer(f), tensorfile.NewF32("", []int{len(v) / 2, 2}, v)))
		f.Close()
	}
	must.Do(t, os.WriteFile("gnd.json", []byte(truth), 0o644))
}

func TestRevisitedRemovesJunkFromTheRanking(t *testing.T) {
	revisitedFiles(t, `{"gnd": [{"easy": [1], "hard": [3], "junk": [0]}, {"easy": [], "hard": [4], "junk": []}]}`)
	args := []string{"eval", "run", "--embeddings", "q.npy", "--gallery-embeddings", "g.npy", "--qrels", "gnd.json"}
	code, out, errs := run(t, append(args, "--json")...)
	for _, flag := range []string{"--out=r.json", "--report=r.html", "--trec=t", "--per-query"} {
		code, _, errs := run(t, append(args, flag)...)
		if code != exitUsage || !strings.Contains(errs, "is printed and not written") {
			t.Errorf("%s: exit code %d\n%s", flag, code, errs)
		}
	}
	var rows []revisitedRow
	if err := json.Unmarshal([]byte(out), &rows); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v\n%s", code, err, errs)
	}
	// Query 0: easy ignores 0 and 3, so that 1 comes first. Medium ignores 0 and has
	// places 0 and 2: ½ (1/1·…) by trapezoids 1 and (1/2+2/3)/2. Hard ignores 0 and 1
	// and has place 1: (0/1+1/2)/2. Query 1 has no easy item and its hard one first.
	medium := (1 + (1.0/2+2.0/3)/2) / 2
	want := []revisitedRow{{Protocol: "easy", MP1: 100, Skipped: 1}, {Protocol: "medium", MP1: 100},
		{Protocol: "hard", MP1: 50}}
	for i, w := range want {
		if rows[i].Protocol != w.Protocol || rows[i].Skipped != w.Skipped || rows[i].MP1 != w.MP1 {
			t.Errorf("%+v, want %+v", rows[i], w)
		}
	}
	for i, w := range []float64{100, 100 * (medium + 1) / 2, 100 * (0.25 + 1) / 2} {
		if math.Abs(float64(rows[i].MAP)-w) > 1e-9 {
			t.Errorf("%s: mAP %v, want %v", rows[i].Protocol, rows[i].MAP, w)
		}
	}
	if code, out, _ := run(t, args...); code != 0 || !strings.Contains(out, "easy       100.00") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	says(t, exitUsage, "needs --embeddings and --gallery-embeddings",
		"eval", "run", "--embeddings", "q.npy", "--qrels", "gnd.json")
	for truth, want := range map[string]string{
		`{"gnd": []}`: "truth of 0 queries", `[{"easy":[5]},{}]`: "easy row 5; want 0 to 4", `[{"easy":[1],"junk":[1]},{}]`: "row 1 as easy and as junk", `[{"easy": 1}, {}]`: `want [{"easy"`, `{"gnd": [{"easy": 1}]}`: `want [{"easy"`,
	} {
		revisitedFiles(t, truth)
		says(t, exitUsage, want, args...)
	}
}

// writeResult writes a result of AP with the values of queries a, b, c …
func writeResult(t *testing.T, name string, values ...float64) {
	t.Helper()
	var ids, classes, numbers []string
	sum := 0.0
	for q, v := range values {
		ids, numbers = append(ids, fmt.Sprintf("%q", string(rune('a'+q)))), append(numbers, fmt.Sprint(v))
		classes = append(classes, fmt.Sprint(q/2))
		sum += v
	}
	text := fmt.Sprintf(`{"hgld_eval":1,"queries":%d,"levels":["x"],"metrics":[{"key":"AP_level0","mean":%v}],"overall":{},`+
		`"per_query":{"ids":[%s],"class":[%s],"values":{"AP_level0":[%s]}}}`, len(values), sum/float64(len(values)),
		strings.Join(ids, ","), strings.Join(classes, ","), strings.Join(numbers, ","))
	testfile.Write(t, ".", name, sealed(t, text))
}

// All eight queries gain: of 256 choices of signs 2 are as far from 0. Of classes there
// are four, and 2 of 16.
func TestCompareTestsTheDifferences(t *testing.T) {
	t.Chdir(t.TempDir())
	writeResult(t, "a.json", 0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.4)
	writeResult(t, "b_1.json", 0.2, 0.3, 0.3, 0.4, 0.4, 0.5, 0.5, 0.6)
	code, out, errs := run(t, "eval", "compare", "a.json", "b_1.json")
	for _, want := range []string{"b_1 − a\n",
		"AP_level0            +15.00 +10.00 to +17.50   0.0078   0.0078        *\n",
		"8 queries paired by id\n"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %q in\n%s%s", code, want, out, errs)
		}
	}
	code, out, errs = run(t, "eval", "compare", "--resample", "class", "--format", "latex", "a.json", "b_1.json")
	if code != 0 || !strings.Contains(out, "AP\\_level0 & +15.00 & +15.00 to +15.00 & 0.1250 & 0.1250 &  \\\\\n") ||
		!strings.Contains(out, "\\% & a & b\\_1 \\\\\n\\midrule") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	code, out, errs = run(t, "eval", "compare", "--format", "csv", "a.json", "b_1.json", "a.json")
	want := "metric,first,second,mean_first,mean_second,difference,low,high,p,p_holm,queries\n" +
		"AP_level0,a,b_1,25.0000,40.0000,15.0000,10.0000,17.5000,0.007812,0.015625,8\n" +
		"AP_level0,a,a,25.0000,25.0000,0.0000,0.0000,0.0000,1.000000,1.000000,8\n"
	if code != 0 || out != want {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	code, out, errs = run(t, "eval", "compare", "--format", "markdown", "a.json", "b_1.json")
	if code != 0 || !strings.Contains(out, "| AP_level0 | 25.00 | 40.00 |\n") ||
		!strings.Contains(out, "|---|---:|---:|\n") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

func TestCompareSaysWhyItTestsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	writeResult(t, "a.json", 0.1, 0.1)
	writeResult(t, "other.json", 0.1, 0.1, 0.1)
	text := `{"hgld_eval":1,"queries":2,"levels":["x"],"metrics":[{"key":"AP_level0","mean":0.5}],"overall":{}}`
	testfile.Write(t, ".", "bare.json", sealed(t, text))
	if code, out, errs := run(t, "eval", "compare", "a.json", "bare.json"); code != 0 ||
		!strings.Contains(errs, "--per-query") ||
		strings.Contains(out, "−") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	for want, args := range map[string][]string{
		`--resample is "row"`:                {"--resample", "row", "a.json"},
		`unknown format "tex": did you mean`: {"--format", "tex", "a.json"},
		"1 of other left out":                nil,
	} {
		if args == nil {
			if code, out, _ := run(t, "eval", "compare", "a.json", "other.json"); code != 0 || !strings.Contains(out, want) {
				t.Errorf("exit code %d\n%s", code, out)
			}
			continue
		}
		says(t, exitUsage, want, append([]string{"eval", "compare"}, args...)...)
	}
}
