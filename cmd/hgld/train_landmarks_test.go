package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"hgld/train/history"
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
		"-o input.size=16 -o input.resize=18 -o run.evaluate=2 -o run.watch=landmarks")
	with := append(train, "-o", "landmarks.truth=gnd.json", "-o", "landmarks.images=jpg")
	if code, out, errs := run(t, with...); code != exitOK || strings.Count(out, "gnd easy") != 2 ||
		!strings.Contains(errs, "best mAP_level1 of the landmarks") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	text, err := os.ReadFile("r/" + history.EvaluationFile)
	var result retrieval.Result
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
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
		{"", "run.watch is landmarks, but the data has none"},
		{"-o landmarks.truth=gnd.json", "landmarks.truth names 1 file and landmarks.images 0 folders"},
		{"-o landmarks.truth=gnd.json -o landmarks.images=photos", "is not among the 12 images"},
		{"-o landmarks.truth=gnd.json -o landmarks.images=jpg -o run.watch=validation", "set run.watch=landmarks"},
		{"-o landmarks.truth=gnd.json -o landmarks.images=jpg -o model.backbone.name=deit-small -o model.pooling=none " +
			"-o model.standard=none -o input.size=224 -o input.resize=224", "landmarks.side=0"},
	} {
		args := append(append([]string{}, train...), append(strings.Fields(c.args), "--out", "other")...)
		if code, out, errs := run(t, args...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit code %d, want %q\n%s%s", c.args, code, c.want, out, errs)
		}
	}
}
