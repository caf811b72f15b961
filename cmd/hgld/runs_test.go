package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/train"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

// pastRunFiles writes a run directory of three steps and an evaluation.
func pastRunFiles(t *testing.T, dir string, seed uint64, loss string, hap float64) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o755))
	s := trainStage().Defaults()
	s.Out, s.Seed, s.Loss.Name, s.Steps = dir, seed, loss, 3
	must.Get(s.Write())(t)
	result := &retrieval.Result{On: "test", Values: []retrieval.Value{
		{Key: "R@1_level0", Mean: retrieval.Number(hap + 0.1)}, {Key: "H-AP", Mean: retrieval.Number(hap)},
	}}
	must.Do(t, runs.WriteJSON(filepath.Join(dir, runs.EvaluationFile), result))
	var lines strings.Builder
	for _, e := range []train.Event{
		{Kind: train.Stepped, Step: 1, Loss: new(0.9), Rate: 1e-3, Images: 8, Seconds: 5},
		{Kind: train.Stepped, Step: 2, Loss: new(0.5), Rate: 5e-4, Images: 8, Seconds: 0.1},
		{Kind: train.Evaluated, Step: 2, Result: result},
		{Kind: train.Stepped, Step: 3, Loss: new(0.4), Rate: 1e-5, Images: 8, Seconds: 0.1},
		{Kind: train.Evaluated, Step: 3, Result: result},
		{Kind: train.Done, Step: 3},
	} {
		line := must.Get(json.Marshal(e))(t)
		lines.Write(append(line, '\n'))
	}
	lines.WriteString(`{"event":"st`) // what a killed process leaves
	must.Do(t, os.WriteFile(filepath.Join(dir, runs.EventsFile), []byte(lines.String()), 0o644))
}

// threeRuns are two seeds of one loss and a run with another.
func threeRuns(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	pastRunFiles(t, "runs/happier-seed1", 1, "happier", 0.5)
	pastRunFiles(t, "runs/happier-seed2", 2, "happier", 0.6)
	pastRunFiles(t, "runs/smooth-ap-seed1", 1, "smooth-ap", 0.4)
}

func TestRunsListReadsARunWithAPartialLastLine(t *testing.T) {
	threeRuns(t)
	code, out, errs := run(t, "runs", "list", "--json")
	var list []runs.Line
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil || len(list) != 3 {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	want := runs.Line{Run: filepath.Join("runs", "happier-seed1"), State: "done", Backbone: "convnet",
		LossName: "happier", Seed: 1,
		Loss: 0.4, Speed: 80, On: "test", Fine: 60, HAP: 50, Trained: 5, Changed: list[0].Changed,
	} // the speed is without the first step, which allocates
	if age := time.Since(want.Changed); age < 0 || age > time.Hour {
		t.Errorf("changed at %v", want.Changed)
	}
	if list[0] != want {
		t.Errorf("%+v, want %+v", list[0], want)
	}
}

// A run that cannot be read hides none of the others.
func TestRunsListShowsTheRunsBesideADamagedOne(t *testing.T) {
	threeRuns(t)
	events := filepath.Join("runs", "happier-seed2", runs.EventsFile)
	must.Do(t, os.WriteFile(events, []byte("{bad\n"), 0o644))
	code, out, errs := run(t, "runs", "list")
	if code != exitIntegrity || !strings.Contains(errs, events+":1") || strings.Count(out, "done") != 2 ||
		!strings.Contains(out, "unread") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

func TestRunsCompareGroupsRunsBySeed(t *testing.T) {
	threeRuns(t)
	code, out, errs := run(t, "eval", "compare", "--seeds", "--format", "csv", "runs/happier-seed1",
		"runs/happier-seed2", "runs/smooth-ap-seed1")
	want := "run,metric,mean,deviation,count,difference,low,high,p,pairs,verdict,p_holm\n" +
		"happier,R@1_level0,65.0000,7.0711,2,,,,,,,\nhappier,H-AP,55.0000,7.0711,2,,,,,,,\n" +
		// the deviation of a sample: 10/√2
		"smooth-ap-seed1,R@1_level0,50.0000,,1,-10.0000,,,,1,undecided,\n" + // one seed in common decides nothing
		"smooth-ap-seed1,H-AP,40.0000,,1,-10.0000,,,,1,undecided,\n"
	if code != 0 || out != want {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	code, out, _ = run(t, "eval", "compare", "runs/happier-seed1", "runs/smooth-ap-seed1")
	if code != 0 || !strings.Contains(out, "loss.name is smooth-ap, in happier-seed1 happier") ||
		strings.Contains(out, "seed is") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// The differences are 10, 20 and 18, of mean 16 and deviation √28; t of 2 degrees at 97.5 %
// is 4.30265, so that the interval is 16 ± 13.145. One of 10, 20 and 3 holds 0.
func TestRunsCompareTestsPairedSeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	for seed, v := range map[uint64][3]float64{1: {0.5, 0.4, 0.5}, 2: {0.6, 0.4, 0.4}, 3: {0.58, 0.4, 0.43},
		4: {0.9, 0.9, 0.8}} {
		if seed < 4 { // the first group lacks a seed
			pastRunFiles(t, fmt.Sprintf("runs/low-seed%d", seed), seed, "smooth-ap", v[1])
		}
		pastRunFiles(t, fmt.Sprintf("runs/high-seed%d", seed), seed, "happier", v[0])
	}
	args := []string{"eval", "compare", "--seeds", "--metrics", "H-AP"}
	for _, name := range []string{"low", "high"} {
		for seed := 1; seed < 4; seed++ {
			args = append(args, fmt.Sprintf("runs/%s-seed%d", name, seed))
		}
	}
	args = append(args, "runs/high-seed4")
	code, out, errs := run(t, args...)
	if code != 0 || !strings.Contains(out, "high − low, seed by seed\n") ||
		!strings.Contains(out, "H-AP                 +16.00 +2.86 to +29.14   0.0346   0.0346        3   higher\n") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// Query by query, a group counts with the means over the seeds that both have: of 8 queries, each is better by 0.1
// and 0.3 in the two seeds, so by 0.2, and 2 of the 256 choices of signs give as much. Seed 3 is in one group alone.
func TestRunsCompareTestsTheQueriesOfSeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"eval", "compare", "--seeds", "--metrics", "H-AP"}
	store := func(dir string, change func(r *retrieval.Result)) {
		t.Helper()
		path := filepath.Join(dir, runs.EvaluationFile)
		r := must.Get(runs.ReadResult(path))(t)
		change(r)
		must.Do(t, runs.WriteJSON(path, r))
	}
	add := func(name, loss string, seed uint64, gain float64) {
		t.Helper()
		dir := fmt.Sprintf("runs/%s-seed%d", name, seed)
		pastRunFiles(t, dir, seed, loss, 0.4+gain)
		store(dir, func(r *retrieval.Result) {
			r.Queries, r.PerQuery = 8, &retrieval.PerQuery{Values: map[string][]retrieval.Number{}}
			for q := range 8 {
				r.PerQuery.IDs = append(r.PerQuery.IDs, fmt.Sprint("q", q))
				r.PerQuery.Values["H-AP"] = append(r.PerQuery.Values["H-AP"], retrieval.Number(float64(q)/20+gain))
			}
		})
		args = append(args, dir)
	}
	for seed, gain := range map[uint64]float64{1: 0.1, 2: 0.3} {
		add("low", "smooth-ap", seed, 0)
		add("high", "happier", seed, gain)
	}
	add("high", "happier", 3, 0.9)
	slices.Sort(args[5:])
	slices.Reverse(args[5:])
	code, out, errs := run(t, args...)
	for _, want := range []string{"high − low, seed by seed\n", "high − low, query by query\n",
		"+20.00 +20.00 to +20.00   0.0078   0.0078        *\n", "a query counts with its mean over 2 seeds",
		"8 queries paired by id"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q\n%s%s", code, want, out, errs)
		}
	}
	_, out, _ = run(t, append(args, "--json")...)
	if !strings.Contains(out, `"by_query": {`) {
		t.Error(out)
	}
	store("runs/low-seed2", func(r *retrieval.Result) { r.PerQuery.IDs[0] = "other" })
	if code, out, _ := run(t, args...); code != 0 || strings.Contains(out, "query by query") ||
		!strings.Contains(out, "seed by seed") {
		t.Errorf("other queries: exit code %d\n%s", code, out)
	}
}

// Two metrics of one comparison are a family: Holm doubles the lesser P, 0.0346, and nothing is decided.
func TestRunsCompareCorrectsItsVerdicts(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"eval", "compare", "--seeds", "--format", "csv"}
	for group, loss := range []string{"smooth-ap", "happier"} {
		for seed, hap := range map[uint64]float64{1: 0.1, 2: 0.2, 3: 0.18} {
			dir := fmt.Sprintf("runs/%s-seed%d", loss, seed)
			pastRunFiles(t, dir, seed, loss, 0.4+hap*float64(group))
			args = append(args, dir)
		}
	}
	slices.Sort(args[5:])
	slices.Reverse(args[5:])
	code, out, errs := run(t, args...)
	if code != 0 || strings.Count(out, ",0.034578,3,undecided,0.069157\n") != 2 {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// Runs that were evaluated on other galleries are compared only if that is asked for.
func TestRunsCompareRefusesOtherTasks(t *testing.T) {
	threeRuns(t)
	for dir, items := range map[string]int{"runs/happier-seed1": 60, "runs/smooth-ap-seed1": 48} {
		r := must.Get(runs.ReadResult(filepath.Join(dir, runs.EvaluationFile)))(t)
		r.Gallery = items
		must.Do(t, runs.WriteJSON(filepath.Join(dir, runs.EvaluationFile), r))
	}
	args := []string{"runs/happier-seed1", "runs/smooth-ap-seed1"}
	code, out, errs := run(t, append([]string{"eval", "compare"}, args...)...)
	if code != exitUsage || out != "" || !strings.Contains(errs, "a gallery of 60 items, and of 48") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	code, out, errs = run(t, append([]string{"eval", "compare", "--other-data"}, args...)...)
	if code != 0 || !strings.Contains(out, "H-AP") {
		t.Errorf("--other-data: exit code %d\n%s%s", code, out, errs)
	}
}

func TestRunsPlotDrawsBothKindsOfCurves(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	threeRuns(t)
	for _, c := range []struct{ out, begins string }{{"loss.svg", "<?xml"}, {"loss.png", "\x89PNG"}} {
		for _, what := range []string{"loss", "img/s", "H-AP"} {
			if code, _, errs := run(t, "runs", "plot", "--metric", what, "--out", c.out, "runs/happier-seed1",
				"runs/smooth-ap-seed1"); code != 0 {
				t.Fatalf("%s: exit code %d\n%s", what, code, errs)
			}
			data, err := os.ReadFile(c.out)
			if err != nil || !strings.HasPrefix(string(data), c.begins) {
				t.Fatalf("%s begins %.20q (%v)", c.out, data, err)
			}
			if strings.HasSuffix(c.out, ".svg") && !(strings.Contains(string(data), "happier-seed1") &&
				strings.Contains(string(data), "smooth-ap-seed1")) {
				t.Errorf("%s of %s does not name its runs", c.out, what)
			}
		}
	}
	says(t, exitUsage, `did you mean "H-AP"`, "runs", "plot", "--metric", "h-ap", "runs/happier-seed1")
}

func TestRunsPlotGivesItsPointsAsJSON(t *testing.T) {
	threeRuns(t)
	code, out, errs := run(t, "runs", "plot", "--json", "--smooth", "1", "--out", "loss.svg",
		filepath.Join("runs", "happier-seed1"))
	var drawn struct {
		File   string
		Curves []struct {
			Run    string
			Points [][2]float64
		}
	}
	if err := json.Unmarshal([]byte(out), &drawn); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	if drawn.File != "loss.svg" || len(drawn.Curves) != 1 || len(drawn.Curves[0].Points) == 0 ||
		drawn.Curves[0].Points[0][0] != 1 {
		t.Errorf("%+v", drawn)
	}
}

func TestRunsCompareNamesFoldersThatAreNoRuns(t *testing.T) {
	threeRuns(t)
	must.Do(t, os.WriteFile("runs/notes.txt", nil, 0o644))
	says(t, exitUsage, "it is not a run directory", "eval", "compare", "--seeds", "runs/notes.txt")
}

func TestRecipeShowComparesARunWithThePaper(t *testing.T) {
	threeRuns(t)
	code, out, errs := run(t, "train", "recipes", "--run", "runs/happier-seed1", "sop/happier")
	for _, line := range []string{
		"R@1_level0           81.0     60.0     -21.0", "H-AP                 59.4     50.0      -9.4",
		"AP_level0            60.4        –         –",
		"differs from the recipe: model.backbone.name is convnet, resnet50 in the recipe",
	} {
		if code != 0 || !strings.Contains(out, line) {
			t.Errorf("exit code %d, no %q\n%s%s", code, line, out, errs)
		}
	}
	if strings.Contains(out, "input.mean") || strings.Contains(out, "settings is {}, {} in") {
		t.Errorf("differences that are none:\n%s", out)
	}
}

func TestRecipeRunComparesItsResultWithThePaper(t *testing.T) {
	pictureShards(t)
	code, out, errs := run(t, "train", "run", "--config", "inat-base/smooth-ap", "-o", "model.weights=",
		"-o", "schedule.freeze=0",
		"-o", "model.backbone.name=convnet", "--out", "runs/x")
	if code != 0 || !strings.Contains(errs, "differs from the recipe: input.size is 16, 224 in the recipe") ||
		!strings.Contains(out, "table V, Smooth-AP on inat-base") || !strings.Contains(out, "run−paper") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	code, _, errs = run(t, "train", "run", "--config", "inat-base/smooth-ap", "-o", "model.weights=",
		"-o", "schedule.freeze=0",
		"-o", "model.backbone.name=convnet", "-o", "query=", "--hold-out", "0.4", "--limit", "1", "--out", "runs/y")
	if code != 0 || !strings.Contains(errs, "on validation classes, but the paper reports a test") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	says(t, exitUsage, `did you mean "sop/smooth-ap"`, "train", "run", "--config", "sop/smoth-ap")
}

func TestExportedEmbeddingsGiveTheMetricsOfTheRun(t *testing.T) {
	pictureShards(t)
	succeeds(t, tinyRun("--query", "test", "--gallery", "train")...)
	trained := readResult(t, filepath.Join("runs", "default", "eval.json"))
	for of, file := range map[string]string{"query": "q.npy", "gallery": "g.npy"} {
		succeeds(t, "embed-images", "--run", "runs/default", "--split", of, "--out", file)
	}
	if code, _, errs := run(t, "eval", "run", "--embeddings", "q.npy", "--labels", "q.csv", "--gallery-embeddings",
		"g.npy", "--gallery-labels", "g.csv"); code != 0 {
		t.Fatal(errs)
	}
	again := readResult(t, "eval.json")
	// A row is of unit length to rounding, and is brought to it once more.
	if math.Abs(again.Mean("H-AP")-trained.Mean("H-AP")) > 1e-6 || again.Gallery != 96 {
		t.Errorf("H-AP %v of the exported embeddings, %v of the run", again.Mean("H-AP"), trained.Mean("H-AP"))
	}
	if code, _, errs := run(t, "embed-images", "--run", "runs/default", "--split", "train", "--out", "t.npy",
		"shards"); code != 0 {
		t.Fatal(errs)
	}
	gallery, _ := os.ReadFile("g.npy")
	if split, err := os.ReadFile("t.npy"); err != nil || string(split) != string(gallery) {
		t.Errorf("the split train is the gallery, and its embeddings are others (%v)", err)
	}
	for hint, line := range map[string]string{
		`has no split "tarin"`: "embed-images --run runs/default --split tarin shards",
		`has no best.json`:     "train export --best net.onnx",
		`unknown kind of file ".onx": did you mean ".onnx"`:   "train export net.onx",
		"hgld embed-images --run runs/default --out v.npy":    "train export v.npy",
		"no file to write is named":                           "train export",
		`has no split "quer"`:                                 "embed-images --run runs/default --split quer",
		"needs one model: a run (--run) or published weights": "embed-images shards",
		"with --run, only na_values can be set":               "embed-images --run runs/default -o input.size=8 shards",
	} {
		args := strings.Fields(line)
		says(t, exitUsage, hint, args...)
	}
}
