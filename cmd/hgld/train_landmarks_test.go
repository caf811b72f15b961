package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

// The right answer of the only query is the crop of its box, so every network finds it first: it is easy, and its
// precision is 1. Of the medium protocol the best checkpoint is chosen.
func TestLandmarksAreWatchedDuringTraining(t *testing.T) {
	landmarkFolder(t)
	for i := range 12 {
		savePNG(t, "photos/"+string(rune('a'+i/3))+"/"+string(rune('a'+i))+".png", patterned(24+i, 30, 4+i/3))
	}
	code, out, errs := run(t, strings.Fields("shards build --dataset folder --input photos --out shards")...)
	if code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	train := strings.Fields("train run --data shards --steps 4 --out r -o sampler.batch=6 -o sampler.m=3 " +
		"-o input.size=16 -o input.resize=18 -o run.evaluate=2 -o run.eval_on=landmarks")
	with := append(train, "-o", "landmarks.truth=gnd.json", "-o", "landmarks.images=jpg")
	if code, out, errs := run(t, with...); code != exitOK || strings.Count(out, "gnd easy") != 3 ||
		!strings.Contains(errs, "best mAP_level1 of the landmarks") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	text, err := os.ReadFile("r/" + runs.EvaluationFile)
	var result retrieval.Result
	must.Do(t, json.Unmarshal(text, &result))
	if strings.Join(result.Levels, ",") != "gnd easy,gnd medium,gnd hard" || err != nil || result.On != "landmarks" ||
		result.Queries != 1 || result.Gallery != 4 || result.Mean("mAP_level0") != 1 || result.Mean("mP@1_level1") != 1 {
		t.Errorf("%v\n%s", err, text)
	}
	code, out, errs = run(t, strings.Fields("eval landmarks --run r --json gnd.json jpg")...)
	var table []revisitedRow
	if err := json.Unmarshal([]byte(out), &table); code != exitOK || err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	for level, row := range table {
		key := "mAP_level" + string(rune('0'+level))
		if got := 100 * result.Mean(key); got != float64(row.MAP) {
			t.Errorf("%s is %v during training and %v afterwards", key, got, row.MAP)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"", "run.eval_on is landmarks, but the data has none"},
		{"-o landmarks.truth=gnd.json", "landmarks.truth names 1 file and landmarks.images 0 folders"},
		{"-o landmarks.truth=gnd.json -o landmarks.images=photos", "is not among the 12 images"},
		{"-o landmarks.truth=gnd.json -o landmarks.images=jpg -o run.eval_on=validation", "set run.eval_on=landmarks"},
		{"-o landmarks.truth=gnd.json -o landmarks.images=jpg -o model.backbone.name=deit-small -o model.pooling=none " +
			"-o model.standard=none -o input.size=224 -o input.resize=224", "landmarks.side=0"},
	} {
		args := append(append([]string{}, train...), append(strings.Fields(c.args), "--out", "other")...)
		says(t, exitUsage, c.want, args...)
	}
}

// solutionFolder makes shards of GLDv2 whose public query is a copy of its only answer, so every network finds it
// first. The private one is a copy of an image that is none of its three answers: these have the places 2 to 4.
func solutionFolder(t *testing.T) {
	t.Helper()
	landmarkFolder(t)
	p := gldv2Pictures(t)
	const a, b, c, d = "4000000000000001", "4100000000000001", "5000000000000001", "5100000000000001"
	const q, r = "a400000000000002", "a500000000000002"
	file := func(split, id string) string {
		return fmt.Sprintf("%s/%s/%s/%s/%s.jpg", split, id[:1], id[1:2], id[2:3], id)
	}
	p.files[file("test", q)], p.files[file("test", r)] = p.files[file("index", a)], p.files[file("index", c)]
	p.files["metadata/retrieval_solution_v2.1.csv"] = "id,images,Usage\n" + q + "," + a + ",Public\n" +
		r + "," + strings.Join([]string{a, b, d}, " ") + ",Private\nffff000000000000,None,Ignored\n"
	p.write(t, "gldv2")
	testfile.Write(t, ".", "other.csv", "id,images,Usage\n"+r+","+a+" "+d+",Public\n"+q+","+d+" lost,Private\n")
	code, out, errs := run(t, strings.Fields("shards build --dataset gldv2 --input gldv2 --out shards")...)
	if code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
}

// Beside Revisited Oxford, a training is measured on solutions of Google Landmarks. The values are those of the
// vectors of the trained model. The first benchmark's public queries choose the best checkpoint.
func TestSolutionsOfGoogleLandmarksAreWatched(t *testing.T) {
	solutionFolder(t)
	const solution = "gldv2/metadata/retrieval_solution_v2.1.csv"
	train := strings.Fields("train run --data shards --steps 2 --out r -o sampler.batch=4 -o sampler.m=2 " +
		"-o input.size=16 -o input.resize=18 -o run.evaluate=2 -o run.eval_on=landmarks -o landmarks.side=20")
	with := append(train, "-o", "landmarks.truth="+solution+",other.csv,gnd.json", "-o",
		"landmarks.images=shards,shards,jpg")
	code, out, errs := run(t, with...)
	if code != exitOK || !strings.Contains(errs, "best mAP@100_level0 of the landmarks: 1.0000") ||
		!strings.Contains(errs, "warning: 1 positive items of other.csv are not in the gallery") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	during := readResult(t, "r/"+runs.EvaluationFile)
	if got := strings.Join(during.Levels, ","); got != "retrieval_solution_v2.1 public,retrieval_solution_v2.1 private,"+
		"other public,other private,gnd easy,gnd medium,gnd hard" {
		t.Error(got)
	}
	for key, want := range map[string]float64{"mAP@100_level0": 1, "mAP@100_level1": (1./2 + 2./3 + 3./4) / 3,
		"mAP_level4": 1} {
		if got := during.Mean(key); math.Abs(got-want) > 1e-15 {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	for _, split := range []string{"test", "index"} {
		run(t, "embed-images", "--run", "r", "--side", "20", "--split", split, "--out", split+".npy", "shards")
	}
	for i, of := range []string{solution + " public", solution + " private", "other.csv public", "other.csv private"} {
		file, usage, _ := strings.Cut(of, " ")
		code, out, errs := run(t, "eval", "run", "--embeddings", "test.npy", "--gallery-embeddings", "index.npy",
			"--qrels", file, "-o", "qrels_usage="+usage, "--metrics", "mAP@100")
		if code != exitOK {
			t.Fatalf("exit code %d\n%s%s", code, out, errs)
		}
		key := fmt.Sprintf("mAP@100_level%d", i)
		after := readResult(t, "eval.json").Mean("mAP@100_level0")
		if got := during.Mean(key); got != after {
			t.Errorf("%s is %v during training and %v afterwards", key, got, after)
		}
	}
	testfile.Write(t, ".", "strange.csv", "id,images,Usage\nx,y,Public\nz,y,Private\n")
	testfile.Write(t, ".", "half.csv", "id,images\nx,y\n")
	for _, c := range []struct{ args, want string }{
		{"-o landmarks.truth=" + solution + " -o landmarks.images=jpg", "jpg is not a folder of shards"},
		{"-o landmarks.truth=strange.csv -o landmarks.images=shards", "strange.csv, public queries: no positive of"},
		{"-o landmarks.truth=half.csv -o landmarks.images=shards", "want id, images and Usage"},
		{"-o landmarks.truth=other.csv -o landmarks.images=shards -o run.best=mAP@10", "did you mean"},
	} {
		args := append(append([]string{}, train...), append(strings.Fields(c.args), "--out", "x")...)
		says(t, exitUsage, c.want, args...)
	}
}
