package main

import (
	"encoding/json"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/experiment/runs"
)

// A random sampler gives some batches no query with a positive.
func TestUndefinedLossesAreNotAveragedAsZero(t *testing.T) {
	pictureShards(t)
	code, _, errs := run(t, tinyRun("-o", "sampler.name=random", "-o", "sampler.batch=4", "-o", "run.checkpoint=0",
		"--out", "runs/sparse")...)
	if code != 0 {
		t.Fatal(errs)
	}
	r := must.Get(readPastRun("runs/sparse"))(t)
	missing, sum := 0, 0.0
	for _, e := range r.Steps() {
		if e.Loss == nil {
			missing++
			continue
		}
		sum = *e.Loss // of the last step with one, a tenth of less than 20
	}
	if missing == 0 || missing == 12 || strings.Count(errs, "has no loss") != 1 ||
		!strings.Contains(errs, " of 12 steps had no loss, because no query had a positive") {
		t.Errorf("%d of 12 steps without a loss\n%s", missing, errs)
	}
	code, out, errs := run(t, "runs", "list", "--json")
	var list []runs.Line
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil || len(list) != 1 ||
		list[0].NoLoss != missing || float64(list[0].Loss) != sum {
		t.Errorf("exit code %d, %v: %d without a loss, want loss %v\n%s%s", code, err, missing, sum, out, errs)
	}
	if _, _, errs := run(t, "runs", "list"); !strings.Contains(errs, "had no query with a positive") {
		t.Errorf("the steps are not counted:\n%s", errs)
	}
	points, _, err := r.Curve("loss", 1)
	if err != nil || len(points) != 12-missing {
		t.Errorf("%d points, want %d (%v)", len(points), 12-missing, err)
	}
	for i := 1; i < len(points); i++ {
		if points[i].Gap != (points[i].X > points[i-1].X+1) {
			t.Errorf("the point of step %v follows that of step %v; gap %t", points[i].X, points[i-1].X, points[i].Gap)
		}
	}
}

func TestWhatWasNotRecordedIsNotPlotted(t *testing.T) {
	threeRuns(t)
	for what, want := range map[string]string{
		"grad_norm": "no run has values of grad_norm", "region": "hgld train run -o run.log=region records it",
	} {
		code, _, errs := run(t, "runs", "plot", "--metric", what, "--out", "n.svg", "runs/happier-seed1")
		if code == 0 || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, want %q\n%s", code, want, errs)
		}
	}
}
