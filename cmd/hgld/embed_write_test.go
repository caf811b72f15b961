package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/index"
)

// trainedPictures makes shards of drawings and a short run on them, evaluated on the split test.
func trainedPictures(t *testing.T) {
	t.Helper()
	trainedProject.start(t, func(t *testing.T) {
		drawPictures(t)
		succeeds(t, tinyRun("--out", "runs/a", "--query", "test")...)
	})
}

// What is embedded into a file is measured as the run itself.
func TestEmbeddedShardsAreMeasuredAsTheRun(t *testing.T) {
	trainedPictures(t)
	succeeds(t, "eval", "run", "--run", "runs/a", "--query", "test", "--out", "run.json")
	want := readResult(t, "run.json")
	if want.Queries != 48 {
		t.Fatalf("%d queries", want.Queries)
	}
	for _, out := range []string{"e.npy", "p.parquet"} {
		succeeds(t, "embed-images", "--run", "runs/a", "--split", "test", "--out", out, "shards")
		args := []string{"eval", "run", "--embeddings", out, "--out", "file.json"}
		if out == "e.npy" {
			args = append(args, "--labels", "e.csv")
		}
		succeeds(t, args...)
		got := readResult(t, "file.json")
		for _, v := range want.Values {
			if got.Mean(v.Key) != float64(v.Mean) {
				t.Errorf("%s: %s is %v, of the run %v", out, v.Key, got.Mean(v.Key), v.Mean)
			}
		}
		if got.Queries != want.Queries || !slices.Equal(got.Levels, want.Levels) {
			t.Errorf("%s: %d queries, levels %q", out, got.Queries, got.Levels)
		}
	}
}

// The record e.json belongs to e.npy or to e.parquet. The other may be a file of another program, and is not written.
func TestRecordBelongsToOneFileOfVectors(t *testing.T) {
	trainedPictures(t)
	succeeds(t, "embed-images", "--run", "runs/a", "--split", "test", "--out", "other.npy", "shards")
	must.Do(t, os.Rename("other.npy", "e.npy"))
	succeeds(t, "embed-images", "--run", "runs/a", "--split", "test", "--out", "e.parquet", "shards")
	succeeds(t, "eval", "run", "--embeddings", "e.npy", "--labels", "other.csv", "--out", "file.json")
	record := must.Get(os.ReadFile("e.json"))(t)
	must.Do(t, os.Remove("e.npy"))
	says(t, exitUsage, "e.json describes e.parquet and would be overwritten", "embed-images", "--run", "runs/a", "--split",
		"test", "--out", "e.npy", "shards")
	if after := must.Get(os.ReadFile("e.json"))(t); !bytes.Equal(after, record) {
		t.Errorf("the record is now\n%s", after)
	}
}

// A folder needs no shards, and gives the figures of shards of the same images.
func TestFolderOfImagesIsEmbedded(t *testing.T) {
	trainedPictures(t)
	succeeds(t, "embed-images", "--run", "runs/a", "pictures/test")
	succeeds(t, "embed-images", "--run", "runs/a", "--split", "test", "--out", "shards.npy", "shards")
	succeeds(t, "eval", "run", "--embeddings", "test.npy", "--labels", "test.csv", "--out", "folder.json",
		"--metrics", "AP")
	succeeds(t, "eval", "run", "--embeddings", "shards.npy", "--labels", "shards.csv", "--out", "split.json",
		"--metrics", "AP")
	a, b := readResult(t, "folder.json"), readResult(t, "split.json")
	if x, y := a.Mean("AP_level0"), b.Mean("AP_level0"); a.Queries != 48 || x != y {
		t.Errorf("AP %v of %d images in a folder, %v in shards", x, a.Queries, y)
	}
	table, err := os.ReadFile("test.csv")
	if err != nil || !strings.HasPrefix(string(table), "id,level_0,level_1\n") ||
		!strings.Contains(string(table), "place0/8.png,place0,") {
		t.Errorf("%v\n%.200s", err, table)
	}
	// Again, nothing is to do. Another model's would be.
	says(t, exitOK, "test.npy is complete", "embed-images", "--run", "runs/a", "pictures/test")
}

// A broken image is left out and listed, up to a share.
func TestBrokenImagesAreListed(t *testing.T) {
	trainedPictures(t)
	must.Do(t, os.WriteFile("pictures/test/"+firstForm(t)+"/place0/9.png", []byte("no image"), 0o644))
	code, _, errs := run(t, "embed-images", "--run", "runs/a", "pictures/test")
	if code != exitSomeFailed || !strings.Contains(errs, "1 of 48 images cannot be used") ||
		!strings.Contains(errs, "--allow-missing") {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	if _, err := os.Stat("test.npy"); err == nil {
		t.Error("vectors were written all the same")
	}
	code, out, errs := run(t, "embed-images", "--run", "runs/a", "--allow-missing", "0.1", "pictures/test")
	if code != exitSomeFailed || !strings.Contains(out, "47 vectors") || !strings.Contains(errs, "place0/9.png") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	text, err := os.ReadFile("test.json")
	var info index.Info
	if err != nil || json.Unmarshal(text, &info) != nil || len(info.Failed) != 1 || info.Rows != 47 ||
		!strings.HasSuffix(info.Failed[0].ID, "place0/9.png") {
		t.Errorf("%v %+v", err, info)
	}
	succeeds(t, "eval", "run", "--embeddings", "test.npy", "--labels", "test.csv")
	if r := readResult(t, "eval.json"); r.Queries != 47 {
		t.Errorf("%d queries", r.Queries)
	}
}

// firstForm returns the name of a folder of drawings.
func firstForm(t *testing.T) string {
	t.Helper()
	list, err := filepath.Glob("pictures/test/*/place0")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return filepath.Base(filepath.Dir(list[0]))
}

func TestEmbedRefusesWrongArgumentsAndOutputs(t *testing.T) {
	trainedPictures(t)
	for want, args := range map[string][]string{
		"l.csv is not an index of hgld":         {"--out", "l.npy", "pictures/test"},
		"takes one folder":                      {"a", "b"},
		"unknown kind of file":                  {"--out", "x.txt", "pictures/test"},
		"--split test applies to shards":        {"--split", "test", "pictures/test"},
		"--labels l.csv applies to vectors":     {"--labels", "l.csv", "pictures/test"},
		"has no split":                          {"--split", "nosuch", "shards"},
		"the model reads images":                {"--labels", "e.csv", "--out", "y.npy", "e.npy"},
		"e.npy is an input of the same command": {"--labels", "e.csv", "--out", "e.npy", "e.npy"},
		"want a share from 0 to 1":              {"--allow-missing", "2", "pictures/test"},
		"no images found":                       {"empty"},
		"no such file":                          {"nosuch"},
	} {
		if _, err := os.Stat("l.csv"); err != nil {
			succeeds(t, "embed-images", "--run", "runs/a", "--split", "test", "--out", "e.npy", "shards")
			if os.WriteFile("l.csv", []byte("id\nmine\n"), 0o644) != nil || os.Mkdir("empty", 0o755) != nil {
				t.Fatal()
			}
		}
		says(t, exitUsage, want, append([]string{"embed-images", "--run", "runs/a"}, args...)...)
	}
	if text, err := os.ReadFile("l.csv"); err != nil || string(text) != "id\nmine\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// A head that was trained on vectors embeds vectors.
func TestHeadEmbedsVectors(t *testing.T) {
	embeddingFiles(t)
	succeeds(t, "train", "run", "--embeddings", "e.npy", "--labels", "l.csv", "--hold-out", "0.3", "-o", "steps=2",
		"-o", "model.dim=4", "-o", "sampler.batch=16", "--out", "runs/head")
	succeeds(t, "embed-images", "--run", "runs/head", "--labels", "l.csv", "--out", "h.npy", "e.npy")
	succeeds(t, "embed-images", "--run", "runs/head", "--split", "query", "--out", "q.npy")
	held := must.Get(os.ReadFile("q.csv"))(t)
	all := must.Get(os.ReadFile("h.csv"))(t)
	var table strings.Builder // the held-out classes are query and gallery
	for i, line := range strings.Split(strings.TrimSpace(string(all)), "\n") {
		side := "is_query,is_gallery"
		if i > 0 {
			side = "0,0"
			if strings.Contains(string(held), "\n"+line+"\n") {
				side = "1,1"
			}
		}
		table.WriteString(line + "," + side + "\n")
	}
	must.Do(t, os.WriteFile("sides.csv", []byte(table.String()), 0o644))
	succeeds(t, "eval", "run", "--run", "runs/head", "--out", "run.json")
	succeeds(t, "eval", "run", "--embeddings", "h.npy", "--labels", "sides.csv", "--out", "file.json")
	want, got := readResult(t, "run.json"), readResult(t, "file.json")
	if want.Queries == 0 || want.Queries == 60 || got.Queries != want.Queries {
		t.Fatalf("%d queries, of the run %d", got.Queries, want.Queries)
	}
	for _, v := range want.Values {
		if got.Mean(v.Key) != float64(v.Mean) {
			t.Errorf("%s is %v, of the run %v", v.Key, got.Mean(v.Key), v.Mean)
		}
	}
}

// Slices leave parts, and finish makes the files of one embedding of them.
func TestSlicesOfAnEmbeddingAreFinished(t *testing.T) {
	trainedPictures(t)
	succeeds(t, "embed-images", "--run", "runs/a", "--out", "one.npy", "shards")
	t.Setenv("SLURM_ARRAY_TASK_ID", "1")
	for _, c := range []struct {
		slice, want string
		code        int
	}{
		{"finish/x", "want finish/T with", exitUsage},
		{"3/2", "want N/T", exitUsage},
		{"finish", "1 of 1 parts is missing\n  --slice finish/T names", exitUsage},
		{"2/2", "slice 2 of 2: 0 items in 0 parts, 0 already embedded", exitOK},
		{"finish/2", "those of the slices 1\n  embed them: --slice 1/2, or an array of the tasks 1 with", exitUsage},
		{"auto/2", "slice 1 of 2: 144 items in 1 part, 0 already embedded", exitOK},
		{"1/2", "144 items in 1 part, 1 already embedded", exitOK},
		{"finish/2", "many.npy: 144 vectors", exitOK},
		{"finish", "many.npy is complete", exitOK},
	} {
		code, out, errs := run(t, "embed-images", "--run", "runs/a", "--out", "many.npy", "--slice", c.slice, "shards")
		if code != c.code || !strings.Contains(out+errs, c.want) {
			t.Errorf("--slice %s: exit code %d, want %d and %q\n%s%s", c.slice, code, c.code, c.want, out, errs)
		}
	}
	for _, end := range []string{".npy", ".csv"} {
		a, err := os.ReadFile("one" + end)
		b, other := os.ReadFile("many" + end)
		if err != nil || other != nil || !bytes.Equal(a, b) {
			t.Errorf("other bytes in many%s: %v, %v", end, err, other)
		}
	}
}

// A search in the images of a run does not embed them again where an index of them lies.
func TestSearchOfARunUsesItsExistingIndex(t *testing.T) {
	trainedPictures(t)
	query := "pictures/test/" + firstForm(t) + "/place0/8.png"
	before, embedding := succeeds(t, "search", "--index", "runs/a", query), ""
	if _, _, embedding = run(t, "search", "--index", "runs/a", query); !strings.Contains(embedding, "embedding ") {
		t.Fatalf("without an index:\n%s", embedding)
	}
	succeeds(t, "embed-images", "--run", "runs/a", "--split", "test", "--out", "kept.npy", "shards")
	code, out, errs := run(t, "search", "--index", "runs/a", query)
	if code != exitOK || out != before || !strings.Contains(errs, "kept.npy has the embeddings of") ||
		strings.Contains(errs, "embedding ") {
		t.Errorf("with an index: exit code %d\n%s%s, want\n%s", code, out, errs, before)
	}
}

func TestSearchFindsTheNearest(t *testing.T) {
	trainedPictures(t)
	succeeds(t, "embed-images", "--run", "runs/a", "pictures/test")
	id := firstForm(t) + "/place0/8.png"
	first := func(args ...string) index.Hit {
		t.Helper()
		var found struct{ Neighbours []index.Hit }
		if err := json.Unmarshal([]byte(succeeds(t, append([]string{"search", "--format", "json", "--top-k", "3"},
			args...)...)), &found); err != nil || len(found.Neighbours) != 3 {
			t.Fatalf("%+v, %v", found, err)
		}
		return found.Neighbours[0]
	}
	image := first("--index", "test.npy", "--report", "found.html", "pictures/test/"+id)
	if image.ID != id || image.Path != "" || image.Score < 0.9999 || image.Place != 1 ||
		len(image.Classes) != 2 { // float32, of itself
		t.Errorf("an image of the index finds %+v first", image)
	}
	page, err := os.ReadFile("found.html")
	if err != nil || strings.Count(string(page), "data:image/jpeg;base64,") != 4 {
		t.Errorf("%d pictures, %v", strings.Count(string(page), "data:image/jpeg;base64,"), err)
	}
	if row := first("--index", "test.npy", "--id", id, "--report", "found.html"); row.ID == id || row.Score > image.Score {
		t.Errorf("a row of the index finds %+v first", row)
	}
	code, out, errs := run(t, "search", "--index", "test.npy", "--id", id, "--images", "pictures/train",
		"--report", "found.html")
	if code != exitSomeFailed || !strings.Contains(out, "score") ||
		!strings.Contains(errs, "found.html was written, but 11 of its images could not be shown: "+id) {
		t.Errorf("without its images: code %d, %s%s", code, out, errs)
	}
	own := first("--index", "runs/a", "pictures/test/"+id)
	if own.Score < 0.9999 || own.Path != "test/"+id {
		t.Errorf("the images of the run give %+v", own)
	}
	if out := succeeds(t, "search", "--index", "test.npy", "--format", "csv", "--id", id); !strings.HasPrefix(out,
		"id,place,score,level_0,level_1\n") || strings.Count(out, "\n") != 11 {
		t.Errorf("%s", out)
	}
}

func TestSearchRefusesAnIndexOfAnotherModel(t *testing.T) {
	trainedPictures(t)
	succeeds(t, tinyRun("--out", "runs/b", "-o", "seed=7")...)
	succeeds(t, tinyRun("--out", "runs/narrow", "-o", "model.dim=4")...)
	succeeds(t, "embed-images", "--run", "runs/a", "pictures/test")
	vectors, err := os.ReadFile("test.npy")
	if err != nil || os.WriteFile("foreign.npy", vectors, 0o644) != nil {
		t.Fatal(err)
	}
	query := "pictures/test/" + firstForm(t) + "/place0/8.png"
	for _, c := range []struct {
		want string
		code int
		args []string
	}{
		{"was made by the weights", exitUsage, []string{"--index", "test.npy", "--run", "runs/b", query}},
		{"numbers, but an embedding of runs/narrow has 4", exitUsage,
			[]string{"--index", "foreign.npy", "--run", "runs/narrow", query}},
		{"does not record which model", exitUsage, []string{"--index", "foreign.npy", query}},
		{"no row of test.npy", exitUsage, []string{"--index", "test.npy", "--id", "nosuch"}},
		{"there is no foreign.csv with their ids", exitUsage, []string{"--index", "foreign.npy", "--id", "nosuch"}},
		{"with --labels, or search for a number", exitUsage, []string{"--index", "foreign.npy", "--id", "nosuch"}},
		{"are two queries", exitUsage, []string{"--index", "test.npy", "--id", "x", query}},
		{"needs --index", exitUsage, []string{query}},
		{"no such file", exitUsage, []string{"--index", "nosuch.npy", query}},
		{"no such file", exitUsage, []string{"--index", "test.npy", "nosuch.png"}},
		{"cannot be read as an image", exitUsage, []string{"--index", "test.npy", "test.csv"}},
		{"want a whole number from 1", exitUsage, []string{"--index", "test.npy", "--top-k", "0", query}},
		{"unknown format", exitUsage, []string{"--index", "test.npy", "--format", "xml", query}},
		{"neither a run directory", exitUsage, []string{"--index", "pictures", query}},
	} {
		says(t, c.code, c.want, append([]string{"search"}, c.args...)...)
	}
	// The vectors are no longer those that were described.
	vectors[len(vectors)-1] ^= 1
	must.Do(t, os.WriteFile("test.npy", vectors, 0o644))
	says(t, exitIntegrity, "is not the file that test.json describes", "search", "--index", "test.npy", query)
}

// Whatever reads the vectors of an index compares them, their table and the record with their hashes.
func TestChangedIndexIsRefused(t *testing.T) {
	trainedPictures(t)
	succeeds(t, "embed-images", "--run", "runs/a", "--split", "test", "--out", "e.npy", "shards")
	commands := [][]string{{"eval", "run", "--embeddings", "e.npy", "--out", "r.json"},
		{"loss", "--loss", "smooth-ap", "--embeddings", "e.npy", "--definition=false"},
		{"search", "--index", "e.npy", "--id", firstID(t, "e.csv")},
		{"eval", "run", "--embeddings", "e.npy", "--export", "x"},
		{"train", "run", "--embeddings", "e.npy", "--out", "runs/head", "--steps", "1"}}
	for _, args := range commands[:4] {
		succeeds(t, args...)
	}
	for _, file := range []string{"e.npy", "e.csv", "e.json"} {
		sound := must.Get(os.ReadFile(file))(t)
		changed := bytes.Clone(sound)
		changed[len(sound)*3/4] ^= 1
		must.Do(t, os.WriteFile(file, changed, 0o644))
		for _, args := range commands {
			if code, _, errs := run(t, args...); code != exitIntegrity {
				t.Errorf("%s with another bit: %v: exit code %d: %s", file, args, code, errs)
			}
		}
		must.Do(t, os.WriteFile(file, sound, 0o644))
	}
}

// firstID returns the id of the first row of a table.
func firstID(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	id, _, _ := strings.Cut(strings.Split(string(text), "\n")[1], ",")
	return id
}

// In a project, the index comes from its training, and elsewhere from published weights.
func TestSearchWithoutIndexSaysWhatMakesOne(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("new.png", nil, 0o644))
	says(t, exitUsage, "hgld embed-images --weights FILE photos", "search", "new.png")
	must.Do(t, os.WriteFile("hgld.yaml", nil, 0o644))
	says(t, exitUsage, "hgld run trains the model of this project", "search", "new.png")
}
