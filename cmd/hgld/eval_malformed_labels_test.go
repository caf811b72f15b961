package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
)

// malformedLabels are files of labels.
func malformedLabels() (list []malformed) {
	rows := strings.SplitAfter(soundLabels, "\n")
	wide := "id"
	for i := range 130 {
		wide += fmt.Sprintf(",l%d", i)
	}
	wide += "\n" + strings.Repeat(strings.Repeat("x,", 130)+"x\n", 6)
	for name, c := range map[string]struct{ want, text string }{
		"empty":       {"is empty; want a heading and rows", ""},
		"heading":     {"0 rows of labels", rows[0]},
		"fewer":       {"5 rows of labels", strings.Join(rows[:6], "")},
		"more":        {"7 rows of labels", soundLabels + "g,f4,c2\n"},
		"ragged":      {"and the first line has 3; write a ,", strings.Replace(soundLabels, "c,f2,c1", "c,f2", 1)},
		"raggedlong":  {"and the first line has 3; put quotes", strings.Replace(soundLabels, "c,f2,c1", "c,f2,c1,d1", 1)},
		"quote":       {"line 4: extraneous or missing \" in quoted", strings.Replace(soundLabels, "c,f2", `c,"f2`, 1)},
		"quoteinside": {"line 4: bare \" in non-quoted", strings.Replace(soundLabels, "c,f2", `c,f"2`, 1)},
		"onlyid":      {"no column with classes", "id\na\nb\nc\nd\ne\nf\n"},
		"twoids":      {"line 1: column \"id\" occurs twice;", strings.Replace(soundLabels, "fine", "id", 1)},
		"twolevels":   {"line 1: column \"fine\" occurs twice;", strings.Replace(soundLabels, "coarse", "fine", 1)},
		"noname":      {"\"c1\" stands in a column without a heading", strings.Replace(soundLabels, "coarse", "", 1)},
		"parents":     {"fine \"f1\" has two parents:", strings.Replace(soundLabels, "b,f1,c1", "b,f1,c2", 1)},
		"order": {"seem to be coarsest first",
			"id,coarse,fine\na,c1,f1\nb,c1,f1\nc,c2,f2\nd,c2,f2\ne,c3,f3\nf,c3,f3\n"},
		"list": {"which is a list; want one class in a cell",
			strings.Replace(soundLabels, "a,f1", "a,\"['f1', 'f2']\"", 1)},
		"nocoarse": {"fine \"f1\" has two parents: none", strings.Replace(soundLabels, "a,f1,c1", "a,f1,", 1)},
		"nofine":   {"2: fine is empty; want a class at", strings.Replace(soundLabels, "a,f1,c1", "a,,c1", 1)},
		"wide":     {"has 130 levels, want at most 126:", wide},
		"isquery": {"2: is_query is \"maybe\", want 1",
			"id,fine,is_query\na,f,maybe\nb,f,1\nc,f,1\nd,f,1\ne,f,1\nf,f,1\n"},
		"noquery":    {"is_query is true for no row", "id,fine,is_query\na,f,0\nb,f,0\nc,f,0\nd,f,0\ne,f,0\nf,f,0\n"},
		"nogallery":  {"is_gallery is true for no row", "id,fine,is_gallery\na,f,0\nb,f,0\nc,f,0\nd,f,0\ne,f,0\nf,f,0\n"},
		"isgallery":  {"2: is_gallery is \"\", want 1 or", "id,fine,is_gallery\na,f,\nb,f,1\nc,f,1\nd,f,1\ne,f,1\nf,f,1\n"},
		"twoqueries": {"\"is_query\" occurs twice", "is_query,is_query,fine\n1,1,f\n1,1,f\n1,1,f\n1,1,f\n1,1,f\n1,1,f\n"},
		"binary":     {"is not UTF-8; save the table", "\x93NUMPY\x01\x00"},
		"nul":        {"2: \"f\\x001\" holds a zero byte", strings.Replace(soundLabels, "a,f1", "a,f\x001", 1)},
		"latin1":     {"2: \"c\\xe9\" is not UTF-8;", strings.Replace(soundLabels, "c1\nb", "c\xe9\nb", 1)},
		"returns": {"line 2: 13 columns, and the first",
			rows[0] + strings.ReplaceAll(soundLabels[len(rows[0]):], "\n", "\r")},
		"utf16":    {"no column with classes", "\xff\xfei\x00d\x00"},
		"workbook": {"save the sheet as CSV UTF-8", "PK\x03\x04"},
	} {
		list = append(list, malformed{name + ".csv", []byte(c.text), "run --embeddings e.npy --labels FILE", c.want})
	}
	for name, c := range map[string]struct {
		want, dictionary string
		data             []byte
	}{
		"floats": {"F32[6], want integers [rows] or", dict("'<f4'", "False", "(6,)"), floatBytes(0.5, 1, 1, 2, 2, 3)},
		"cube":   {"I64[6 1 2], want integers [rows]", dict("'<i8'", "False", "(6, 1, 2)"), make([]byte, 96)},
		"scalar": {"I64[], want integers [rows] or", dict("'<i8'", "False", "()"), make([]byte, 8)},
		"fewer":  {"5 rows of labels", dict("'<i8'", "False", "(5,)"), make([]byte, 40)},
		"nocols": {"no column with classes", dict("'<i8'", "False", "(6, 0)"), nil},
		"parents": {"level_0 \"1\" has two parents:",
			dict("'<i8'", "False", "(6, 2)"), int64Bytes(1, 1, 1, 2, 2, 1, 2, 1, 3, 2, 3, 2)},
		"coarser": {"level_0 \"1\" has two parents:",
			dict("'<i8'", "False", "(6, 2)"), int64Bytes(1, -1, 1, 2, 2, 1, 2, 1, 3, 2, 3, 2)},
		"cut": {"47 bytes of elements do not make", dict("'<i8'", "False", "(6,)"), make([]byte, 47)},
	} {
		list = append(list, malformed{name + ".labels.npy", npyOf(c.dictionary, c.data),
			"run --embeddings e.npy --labels FILE", c.want})
	}
	for name, c := range map[string]struct{ want, text string }{
		"glevels": {"its levels are fine, group, want", strings.Replace(soundLabels, "coarse", "group", 1)},
		"gfewer":  {"2 rows of labels", strings.Join(rows[:3], "")},
		"gtwice":  {"gallery: rows 0 and 1 have", strings.Replace(soundLabels, "b,f1", "a,f1", 1)},
		"gparent": {"fine \"f3\" has two parents:", strings.ReplaceAll(soundLabels, "f3,c2", "f3,c1")},
	} {
		list = append(list, malformed{name + ".csv", []byte(c.text),
			"run --embeddings e.npy --labels l.csv --gallery-embeddings e.npy --gallery-labels FILE", c.want})
	}
	return list
}

// malformedTruth are judgements and rankings of other programs.
func malformedTruth() (list []malformed) {
	add := func(args, name, want string, data []byte) {
		list = append(list, malformed{name, data, args, want})
	}
	const judged = "run --embeddings e.npy --labels l.csv --qrels FILE"
	for name, c := range map[string]struct{ want, text string }{
		"three.qrels":   {"line 1 has 3 columns, want query,", "a 0 b\n"},
		"items.qrels":   {"no positive of the 6 queries is", "a 0 g1 1\n"},
		"empty.json":    {"EOF", ""},
		"key.json":      {"json: unknown field \"positive\"", `{"a": {"positive": ["b"]}}`},
		"nobody.json":   {"no query has a positive item", `{"a": {"positives": []}}`},
		"queries.json":  {"query \"a\" occurs twice", `{"a": {"positives": ["b"]}, "a": {"positives": ["c"]}}`},
		"behind.json":   {"there is text after the last }", `{"a": {"positives": ["b"]}} more`},
		"usage.sol.csv": {"line 2: Usage is \"Secret\", want", "id,images,Usage\na,b,Secret\n"},
	} {
		add(judged, name, c.want, []byte(c.text))
	}
	add("run --embeddings e.npy --labels l.csv --qrels FILE -o qrels_usage=public", "part.qrels", "has a public part",
		[]byte(soundQrels))
	const ranked = "run --ranking FILE --labels l.csv --metrics R@1"
	for name, c := range map[string]struct{ want, text string }{
		"empty.run":    {"query \"a\" has no ranking", ""},
		"five.run":     {"line 1 has 5 columns, want query,", "a Q0 b 1 0.9\n"},
		"seven.run":    {"line 1 has 7 columns, want query,", "a Q0 b 1 0.9 x y\n"},
		"query.run":    {"line 1: no query has the id \"q\"", "q Q0 b 1 0.9 x\n"},
		"item.run":     {"line 1: no item of the gallery", "a Q0 g 1 0.9 x\n"},
		"score.run":    {"line 1: the score is \"high\",", "a Q0 b 1 high x\n"},
		"nan.run":      {"line 1: the score is \"NaN\",", "a Q0 b 1 NaN x\n"},
		"twice.run":    {`the query "a" ranks the item "b" twice`, "a Q0 b 1 0.9 x\na Q0 b 2 0.8 x\n"},
		"longline.run": {"a line is too long for a", strings.Repeat("a", 70_000) + " Q0 b 1 0.9 x\n"},
	} {
		add(ranked, name, c.want, []byte(c.text))
	}
	for name, c := range map[string]struct {
		want, dictionary string
		data             []byte
	}{
		"floats":   {"F32[6 1], want integers [queries,", dict("'<f4'", "False", "(6, 1)"), make([]byte, 24)},
		"flat":     {"I64[6], want integers [queries,", dict("'<i8'", "False", "(6,)"), make([]byte, 48)},
		"fewer":    {"5 rankings for 6 queries", dict("'<i8'", "False", "(5, 1)"), make([]byte, 40)},
		"outside":  {"evaluation: query 5: place", dict("'<i8'", "False", "(6, 1)"), int64Bytes(1, 0, 1, 2, 3, 6)},
		"negative": {"query 5: row -2 is not in", dict("'<i8'", "False", "(6, 1)"), int64Bytes(1, 0, 1, 2, 3, -2)},
		"large": {"query 5: row 1099511627776 is",
			dict("'<i8'", "False", "(6, 1)"), int64Bytes(1, 0, 1, 2, 3, 1<<40)},
		"twice": {"evaluation: query 0: row",
			dict("'<i8'", "False", "(6, 2)"), int64Bytes(1, 1, 0, 2, 1, 0, 2, 0, 5, 0, 4, 0)},
		"noplaces": {"query \"a\" has no ranking", dict("'<i8'", "False", "(6, 0)"), nil},
	} {
		add(ranked, name+".ranking.npy", c.want, npyOf(c.dictionary, c.data))
	}
	add("run --ranking FILE --labels l.csv --metrics AP", "reach.run", "AP reads 5 places", []byte(soundRun))
	return list
}

// malformedResults are results that are compared.
func malformedResults(t *testing.T) (list []malformed) {
	t.Helper()
	text := must.Get(os.ReadFile("sound.json"))(t)
	change := func(f func(r, queries map[string]any)) []byte {
		var r map[string]any
		must.Do(t, json.Unmarshal(text, &r))
		delete(r, "sha256")
		f(r, r["per_query"].(map[string]any))
		changed := must.Get(json.Marshal(r))(t)
		return []byte(sealed(t, string(changed)))
	}
	for name, c := range map[string]struct {
		want string
		data []byte
	}{
		"empty":    {"unexpected end of JSON input", nil},
		"cut":      {"unexpected end of JSON input", text[:len(text)/2]},
		"table":    {"want a result of hgld eval run, in JSON", []byte("path,class\n1.jpg,a\n")},
		"array":    {"json: cannot unmarshal array into", []byte("[]")},
		"number":   {"json: cannot unmarshal number", []byte("7")},
		"flipped":  {"was changed after hgld wrote it", bytes.Replace(text, []byte(`"queries": 6`), []byte(`"queries": 7`), 1)},
		"other":    {"is not a result of `hgld eval run`", []byte(`{"a": 1}`)},
		"newer":    {"has format version 99; this hgld reads", change(func(r, _ map[string]any) { r["hgld_eval"] = 99 })},
		"nolevels": {"is not a result of `hgld eval run`", change(func(r, _ map[string]any) { r["levels"] = []any{} })},
		"metrics":  {"json: cannot unmarshal string", change(func(r, _ map[string]any) { r["metrics"] = "none" })},
		"fewer": {"entries for", change(func(_, q map[string]any) {
			values := q["values"].(map[string]any)
			values["AP_level0"] = values["AP_level0"].([]any)[:3]
		})},
		"class": {"entries for", change(func(_, q map[string]any) { q["class"] = []any{1, 2} })},
		"ids":   {"per_query: ids has 2 entries for", change(func(_, q map[string]any) { q["ids"] = []any{"a", "b"} })},
		"twice": {"the second result has two", change(func(_, q map[string]any) { q["ids"].([]any)[1] = "a" })},
		"noids": {"only one of the two results", change(func(_, q map[string]any) { delete(q, "ids") })},
		"others": {"the results have no query",
			change(func(_, q map[string]any) { q["ids"] = []any{"q", "r", "s", "t", "u", "v"} })},
		"texts": {"json: cannot unmarshal string",
			change(func(_, q map[string]any) { q["values"].(map[string]any)["AP_level0"] = []any{"x"} })},
		"overall": {"one result has means over", change(func(r, _ map[string]any) { r["mean_over"] = "class" })},
	} {
		list = append(list, malformed{name + ".result.json", c.data, "compare sound.json FILE", c.want})
	}
	return list
}

// malformedSettings are command lines.
func malformedSettings() (list []malformed) {
	const vectors = "run --embeddings e.npy --labels l.csv "
	for args, want := range map[string]string{
		vectors + "--metrics R@0":                               "metric \"R@0\": want @ and a",
		vectors + "--metrics R@-1":                              "metric \"R@-1\": want @ and a",
		vectors + "--metrics R@x":                               "metric \"R@x\": want @ and a",
		vectors + "--metrics R@":                                "metric \"R@\": want @ and a",
		vectors + "--metrics R@1.5":                             "metric \"R@1.5\": want @ and a",
		vectors + "--metrics nosuch":                            "unknown metric \"nosuch\" (known:",
		vectors + "--metrics AP#9":                              "AP#9 needs items that share 9",
		vectors + "--metrics AP#-1":                             "metric \"AP#-1\": want # and a",
		vectors + "--metrics H-AP:nosuch":                       "metric \"H-AP:nosuch\": unknown",
		vectors + "--metrics H-AP:pop^x":                        "metric \"H-AP:pop^x\": exponent",
		vectors + "-o ties=first":                               "unknown order of ties \"first\"",
		vectors + "-o mean=level":                               "mean is \"level\", want query or",
		vectors + "-o resample=row":                             "resample is \"row\", want query",
		vectors + "--levels forest":                             "unknown column \"forest\" (known: id, fine",
		vectors + "-o gap=1":                                    "gap is 1, want a batch size of 2",
		vectors + "-o gap=-3":                                   "eval.gap is -3, want a",
		vectors + "-o threads=-1":                               "-o threads=-1: threads is -1,",
		vectors + "-o threads=5000":                             "-o threads=5000: threads is 5000,",
		vectors + "--limit -1":                                  "--limit is -1; want a number of",
		vectors + "--trec y -o trec_min_level=3":                "trec_min_level is 3, but the data",
		vectors + "--trec y -o top_k=-1":                        "eval.top_k is -1",
		vectors + "-o ignore=camera":                            "l.csv has no column \"camera\" to",
		vectors + "-o qrels_usage=secret --qrels x.qrels":       "x.qrels: only a .csv with a",
		vectors + "--gallery-embeddings e.npy":                  "e.npy needs labels with a",
		vectors + "--levels independent --report r.html":        "--report, --trec and --export need",
		vectors + "--qrels x.qrels -o mean=class":               "--levels, ignore, mean: class,",
		vectors + "--qrels nosuch.qrels":                        "does not exist",
		vectors + "--report r.html --images nosuch":             "no such file",
		"run --embeddings e.npy":                                "e.npy needs labels with a row for",
		"run --embeddings nosuch.npy --labels l.csv":            "does not exist",
		"run --embeddings e.npy --labels nosuch.csv":            "does not exist",
		"run --embeddings l.csv --labels l.csv":                 "unknown kind of file \".csv\"",
		vectors + "--gallery-labels l.csv":                      "the gallery has labels but no vectors",
		vectors + "--metrics mAP@Q":                             "want @ and a number from 1 up, not \"@Q\", or @R",
		"run --embeddings e.txt --labels l.csv":                 "eval run: e.txt does not exist",
		"run --embeddings . --labels l.csv":                     ".: unknown kind of file \".\"",
		"run --ranking x.run":                                   "--ranking needs --labels, with one row",
		"run --ranking x.run --labels l.csv --embeddings e.npy": "--embeddings, gap, --levels",
		"run -o ignore=camera":                                  "does not exist",
		"run --run nosuch":                                      "eval run: nosuch does not exist",
		"compare":                                               "name results of `hgld eval run`,",
		"compare nosuch.json":                                   "open nosuch.json: no such file or",
		"compare --resample row sound.json":                     "--resample is \"row\", want query",
		"compare --format xml sound.json":                       "--format: unknown format \"xml\"",
		"compare --paper nosuch sound.json":                     "unknown recipe \"nosuch\"",
	} {
		list = append(list, malformed{args: args, want: want})
	}
	return list
}

// A model that gives every image the same vector scores what the rule for ties says: by row, the
// first rows are found by everybody; on average over all orders, what a random order gives.
func TestConstantModelScoresWhatTheTieRuleSays(t *testing.T) {
	t.Chdir(t.TempDir())
	writeNPY(t, "e.npy", tensorfile.NewF32("", []int{6, 2}, slices.Repeat([]float32{3, 4}, 6)))
	must.Do(t, os.WriteFile("l.csv", []byte("id,fine\na,x\nb,y\nc,x\nd,x\ne,y\nf,y\n"), 0o644))
	// By row, each query finds row 0 first, and query 0 finds row 1: c and d alone are right. On
	// average, 2 of the 5 others are positives.
	for ties, want := range map[string]float64{"row": 2.0 / 6, "average": 2.0 / 5} {
		succeeds(t, "eval", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--metrics", "R@1", "-o", "ties="+ties)
		r := readResult(t, "eval.json")
		if got := r.Mean("R@1_level0"); math.Abs(got-want) > 1e-12 { // float64
			t.Errorf("ties by %s: R@1 is %v, want %v", ties, got, want)
		}
		if ends := r.Values[0].Ties; ties == "row" && (ends == nil || ends[0] != 0 || ends[1] != 1) {
			t.Errorf("the order of ties leaves R@1 between %v, want 0 and 1", ends)
		}
	}
}
