package main

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"hgld/internal/filelock"
	"hgld/internal/testing/must"
	"hgld/internal/testing/sketch"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/train"
	"hgld/train/checkpoint"
	"hgld/train/experiment/runs"
)

// pictureShards builds shards/ of drawings in a new folder, which becomes the
// current one: 4 forms of 3 places, 8 views of each for training and 4 for tests.
func pictureShards(t *testing.T) {
	t.Helper()
	drawnProject.start(t, drawPictures)
}

// A beginning is a project that several tests start from. The first of them makes it.
type beginning struct{ files fstest.MapFS }

var drawnProject, trainedProject beginning

// start puts the project into a new folder, which becomes the current one.
func (b *beginning) start(t *testing.T, create func(*testing.T)) {
	t.Helper()
	t.Chdir(t.TempDir())
	if b.files != nil {
		must.Do(t, os.CopyFS(".", b.files))
		return
	}
	create(t)
	files := fstest.MapFS{}
	here := os.DirFS(".")
	must.Do(t, fs.WalkDir(here, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(here, path)
		files[path] = &fstest.MapFile{Data: data, Mode: 0o644}
		return err
	}))
	b.files = files
}

// drawPictures draws the pictures in the current folder, and builds the shards.
func drawPictures(t *testing.T) {
	t.Helper()
	for split, views := range map[string][2]int{"train": {0, 8}, "test": {8, 12}} {
		for place := range 12 {
			dir := filepath.Join("pictures", split, sketch.Forms[place/3], fmt.Sprint("place", place))
			must.Do(t, os.MkdirAll(dir, 0o755))
			for view := views[0]; view < views[1]; view++ {
				f := must.Get(os.Create(filepath.Join(dir, fmt.Sprintf("%d.png", view))))(t)
				must.Do(t, png.Encode(f, sketch.Picture(place/3, place, view, 20)))
				must.Do(t, f.Close())
			}
		}
	}
	src := must.Get(dataset.Folder{}.Open(context.Background(),
		dataset.Settings{Input: "pictures", Levels: []string{"place", "form"}}))(t)
	defer src.Close()
	must.Get(shards.Build(context.Background(), src, "shards", shards.Options{}))(t)
	must.Do(t, os.WriteFile(projectFile, []byte(tinyProject), 0o644))
}

// tinyProject makes a training of a second.
const tinyProject = `train:
  steps: 12
  input: {size: 16, resize: 18}
  model:
    dim: 8
    backbone:
      name: convnet
      settings: {widths: [8, 8], strides: [2, 2]}
  sampler: {batch: 16, m: 4}
  run: {checkpoint: 5}
`

func tinyRun(more ...string) []string { return append([]string{"train", "run"}, more...) }

func TestTrainRunContinuesWithTheSameCommand(t *testing.T) {
	pictureShards(t)
	succeeds(t, tinyRun("--out", "whole")...)
	if code, _, errs := run(t, tinyRun("--out", "parts", "--limit", "7")...); code != 0 ||
		!strings.Contains(errs, "done: 7 steps") {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	code, _, errs := run(t, tinyRun("--out", "parts")...)
	if code != 0 || !strings.Contains(errs, "continuing after step 7") {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	for _, name := range []string{"model.safetensors", "optimizer.safetensors"} {
		want := must.Get(os.ReadFile(filepath.Join("whole", "checkpoints", "step-00000012", name)))(t)
		got, err := os.ReadFile(filepath.Join("parts", "checkpoints", "step-00000012", name))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s differs from that of the run in one go (%v)", name, err)
		}
	}
	steps := 0
	for _, e := range readEvents(t, "parts") {
		if e.Kind == train.Stepped {
			if steps++; e.Step != steps {
				t.Errorf("event of step %d where %d is expected", e.Step, steps)
			}
		}
	}
	if steps != 12 {
		t.Errorf("%d steps in events.jsonl", steps)
	}
}

func readEvents(t *testing.T, dir string) []train.Event {
	t.Helper()
	list := must.Get(runs.ReadEvents(filepath.Join(dir, runs.EventsFile)))(t)
	return list
}

// The same command on a run that is complete shows what was measured; another
// choice of metrics is measured.
func TestCompleteRunIsNotEvaluatedTwice(t *testing.T) {
	pictureShards(t)
	args := tinyRun("--out", "whole", "--query", "test")
	code, first, errs := run(t, args...)
	if code != 0 {
		t.Fatal(errs)
	}
	events := len(readEvents(t, "whole"))
	code, second, errs := run(t, args...)
	_, first, _ = strings.Cut(first, "step 12, test") // after the network before training
	first, _, _ = strings.Cut(first, "\nafter training − before training")
	if code != 0 || !strings.Contains(errs, "whole is complete: 12 steps") || second != "step 12, test"+first ||
		first == "" {
		t.Errorf("exit code %d\n%s\n%s\nat first\n%s", code, errs, second, first)
	}
	if now := len(readEvents(t, "whole")); now != events {
		t.Errorf("%d events became %d", events, now)
	}
	code, third, errs := run(t, append(args, "-o", "run.metrics=[P@1]")...)
	if code != 0 || !strings.Contains(third, "P@1") {
		t.Errorf("exit code %d\n%s\n%s", code, errs, third)
	}
}

func TestTrainRunRefusesAnotherRunsDirectory(t *testing.T) {
	pictureShards(t)
	succeeds(t, tinyRun("--limit", "2")...)
	code, _, errs := run(t, tinyRun("-o", "optim.lr=0.5")...)
	if code != exitUsage || !strings.Contains(errs, "optim.lr is 0.5, the checkpoint has 0.001") ||
		!strings.Contains(errs, "--out") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	code, _, errs = run(t, tinyRun("--hold-out", "0.25")...)
	if code != exitUsage || !strings.Contains(errs, "images or labels differ") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestTrainRunNamesWrongSettings(t *testing.T) {
	pictureShards(t)
	for hint, args := range map[string][]string{
		`did you mean "smooth-ap"`:                 {"-o", "loss.name=smoth-ap"},
		`did you mean "tau"`:                       {"-o", "loss.settings={tua: 0.1}"},
		`unknown preset`:                           {"-o", "loss.preset=mine"},
		"needs 16 classes with 4 rows":             {"-o", "sampler.batch=64"},
		"there are no validation classes":          {"-o", "run.evaluate=3", "--query", "test"},
		`did you mean "validation"`:                {"-o", "run.eval_on=validaton"},
		"train.hold_out is -0.1, want a number":    {"--hold-out", "-0.1"},
		"--dry-run and --profile exclude":          {"--dry-run", "--profile"},
		"one step cannot show that the loss falls": {"--overfit", "--limit", "1"},
		"but no query split ranks it":              {"--gallery", "train"},
		`did you mean "sampler.settings"`:          {"-o", "sampler.setting=1"},
		"input.resize is 12, want at least":        {"-o", "input.resize=12"},
	} {
		says(t, exitUsage, hint, tinyRun(args...)...)
	}
}

func TestRunElsewhereFindsItsFolders(t *testing.T) {
	dir := t.TempDir()
	elsewhere := filepath.Join(dir, "elsewhere")
	for _, folder := range []string{elsewhere, filepath.Join(dir, "here", "part")} {
		must.Do(t, os.MkdirAll(folder, 0o755))
	}
	t.Chdir(filepath.Join(dir, "here"))
	for _, run := range []string{elsewhere, filepath.Join("..", "elsewhere")} {
		s := trainStage().Defaults()
		s.Out, s.Images.Benchmarks = run, []string{"part"}
		must.Get(s.Write())(t)
		again := must.Get(runs.ReadSettings(run))(t)
		for want, got := range map[string]string{"shards": again.Images.Data, "part": again.Images.Benchmarks[0]} {
			if want = filepath.Join(filepath.Dir(run), "here", want); got != want {
				t.Errorf("%s finds %s, want %s", run, got, want)
			}
		}
	}
}

func TestEvalRunFindsTheDataOfTheRun(t *testing.T) {
	pictureShards(t)
	code, out, errs := run(t, tinyRun("--query", "test", "--gallery", "train")...)
	if code != 0 || !strings.Contains(out, "48 queries, 96 gallery items\n") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	trained := readResult(t, filepath.Join("runs", "default", "eval.json"))
	for _, path := range []string{"runs/default", "runs/default/checkpoints/step-00000012"} {
		succeeds(t, "eval", "run", "--run", path)
		again := readResult(t, "eval.json")
		if again.Mean("H-AP") != trained.Mean("H-AP") || again.Gallery != 96 {
			t.Errorf("%s: H-AP %v, in the run %v", path, again.Mean("H-AP"), trained.Mean("H-AP"))
		}
	}
	if code, _, errs := run(t, "eval", "run", "--untrained", "--quiet"); code != 0 || errs != "" {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	if untrained := readResult(t, "eval.json"); untrained.Mean("H-AP") == trained.Mean("H-AP") {
		t.Error("the untrained network gives the same H-AP")
	}
	code, out, errs = run(t, "eval", "run", "-o", "hold_out=0.25", "--limit", "5")
	if code != 0 || !strings.Contains(out, "5 queries") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

func TestEvalRunTakesTheBestCheckpoint(t *testing.T) {
	pictureShards(t)
	if code, _, errs := run(t, tinyRun("--hold-out", "0.4", "-o", "run.evaluate=4", "-o", "sampler.batch=8", "-o",
		"optim.lr=0.3")...); code != 0 {
		t.Fatal(errs)
	}
	best := must.Get(checkpoint.ReadBest("runs/default"))(t)
	if best.Step == 12 {
		t.Fatal("the best checkpoint is the newest, which shows nothing")
	}
	says(t, exitOK, best.Checkpoint, "eval", "run", "--best")
	if value := readResult(t, "eval.json").Mean("H-AP"); value != float64(best.Value) {
		t.Errorf("H-AP %v, in the training %v", value, best.Value)
	}
}

// With run.keep_best_test, eval.json holds the evaluation of the best checkpoint, as papers report that choose on
// the test.
func TestTheBestEvaluationOfTheTestIsReported(t *testing.T) {
	pictureShards(t)
	args := tinyRun("-o", "query=train", "-o", "run.eval_on=test", "-o", "run.evaluate=4", "-o", "sampler.batch=8", "-o",
		"optim.lr=3", "-o", "run.best=R@1", "-o", "run.metrics=R@1,H-AP")
	succeeds(t, append(args, "-o", "run.keep_best_test=true")...)
	best := must.Get(checkpoint.ReadBest("runs/default"))(t)
	r := readResult(t, "runs/default/eval.json")
	if best.Step == 12 || r.Of == nil || r.Of.Step != best.Step || r.Mean("R@1_level0") != float64(best.Value) {
		t.Errorf("%+v of %+v; the best is %+v", r.Mean("R@1_level0"), r.Of, best)
	}
	code, _, errs := run(t, tinyRun("-o", "query=train", "-o", "run.keep_best_test=true", "--out", "runs/other")...)
	if code == 0 || !strings.Contains(errs, "run.keep_best_test reports the best of several") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestTrainBenchReadsARunFile(t *testing.T) {
	pictureShards(t)
	must.Do(t, os.Rename(projectFile, "mine.yaml"))
	code, out, errs := run(t, "train", "bench", "--config", "mine.yaml", "--steps", "1")
	if code != 0 || !strings.Contains(out, "batches of 16 images of 16 pixels") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}

// A shard that was damaged after it was opened ends the training with the code of an
// integrity check.
func TestTrainRunNamesADamagedImage(t *testing.T) {
	pictureShards(t)
	shard, err := filepath.Glob("shards/data/train-*.parquet")
	if err != nil || len(shard) != 1 {
		t.Fatal(shard, err)
	}
	data := must.Get(os.ReadFile(shard[0]))(t)
	for at := bytes.Index(data, []byte("IDAT")); at >= 0; {
		data[at+6] ^= 1
		next := bytes.Index(data[at+4:], []byte("IDAT"))
		if next < 0 {
			break
		}
		at += 4 + next
	}
	must.Do(t, os.WriteFile(shard[0], data, 0o644))
	says(t, exitIntegrity, "checksum", tinyRun()...)
}

func TestEvalRunTellsOfTrainingImagesAmongTheQueries(t *testing.T) {
	t.Chdir(t.TempDir())
	drawPictures(t)
	from := filepath.Join("pictures", "train", sketch.Forms[0], "place0", "0.png")
	data := must.Get(os.ReadFile(from))(t)
	must.Do(t, os.WriteFile(strings.Replace(from, "train", "test", 1), data, 0o644))
	succeeds(t, "shards", "build", "--dataset", "folder", "--input", "pictures", "--levels", "place,form",
		"--out", "twice")
	succeeds(t, tinyRun("--data", "twice", "--out", "a", "--limit", "1")...)
	says(t, exitOK, "note: 1 image of test is also in train, byte for byte: ",
		"eval", "run", "--run", "a", "--query", "test")
}

func TestEvalRunAsksForQueries(t *testing.T) {
	pictureShards(t)
	if code, _, errs := run(t, tinyRun("--limit", "1")...); code != 0 ||
		!strings.Contains(errs, "nothing will be evaluated") {
		t.Fatal(code, errs)
	}
	says(t, exitUsage, "--query", "eval", "run")
}

func TestTrainRunLeavesALockedDirectoryAlone(t *testing.T) {
	pictureShards(t)
	must.Do(t, os.MkdirAll("taken", 0o755))
	lock := must.Get(filelock.Acquire(filepath.Join("taken", "lock")))(t)
	says(t, exitLocked, fmt.Sprintf("locked by process %d", os.Getpid()), tinyRun("--out", "taken")...)
	must.Do(t, lock.Close())
	if code, _, errs := run(t, tinyRun("--out", "taken")...); code != exitOK {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

func TestRunFileHoldsSettingsAloneOrUnderTrain(t *testing.T) {
	pictureShards(t)
	settings := strings.ReplaceAll(strings.TrimPrefix(tinyProject, "train:\n"), "\n  ", "\n")
	settings = strings.TrimPrefix(settings, "  ") + "data: ../shards\n"
	must.Do(t, os.Mkdir("recipes", 0o755))
	for name, text := range map[string]string{"alone": settings, "section": "hgld: 1\n" + tinyProject +
		"  data: ../shards\n"} {
		file := filepath.Join("recipes", name+".yaml")
		must.Do(t, os.WriteFile(file, []byte(text), 0o644))
		code, _, errs := run(t, "train", "run", "--config", file, "--out", name, "--limit", "1")
		if code != exitOK || !strings.Contains(errs, "images of shards:") || !strings.Contains(errs, "897 parameters") {
			t.Errorf("%s: exit code %d\n%s", name, code, errs)
		}
	}
	for text, hint := range map[string]string{"": "expected settings", "[1]": "expected settings", "step: 3": `steps"? (known`, "a: [": "recipes/wrong.yaml"} {
		file := filepath.Join("recipes", "wrong.yaml")
		must.Do(t, os.WriteFile(file, []byte(text), 0o644))
		says(t, exitUsage, hint, "train", "run", "--config", file)
	}
}

func TestTrainRunSaysWhereItStarts(t *testing.T) {
	pictureShards(t)
	succeeds(t, tinyRun("--out", "runs/a")...)
	succeeds(t, "train", "export", "--run", "runs/a", "net.safetensors")
	code, _, errs := run(t, tinyRun("--out", "runs/b", "--limit", "1", "-o", "model.weights=net.safetensors")...)
	if code != 0 || !strings.Contains(errs, "fc.weight") ||
		!strings.Contains(errs, "--from net.safetensors loads them too") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	code, _, errs = run(t, tinyRun("--out", "runs/c", "--limit", "1", "--from", "runs/a")...)
	if code != 0 || strings.Contains(errs, "start from scratch") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	code, _, errs = run(t, tinyRun("--out", "runs/c", "--limit", "1", "--from", "runs/none")...)
	if code == 0 || !strings.Contains(errs, "runs/none") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	code, _, errs = run(t, tinyRun("--out", "runs/a", "--steps", "15")...)
	if code != 0 || !strings.Contains(errs, "complete after 12 steps and continues to 15: its schedule, cosine") ||
		!strings.Contains(errs, "done: 15 steps") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	for _, e := range readEvents(t, "runs/a") {
		if e.Kind == train.Done && e.Step != 15 {
			t.Errorf("the run is done after step %d", e.Step)
		}
	}
}

// Without its sums a checkpoint is damaged: training falls back, an evaluation ends
// with the code of damage.
func TestCheckpointWithoutChecksumsIsDamaged(t *testing.T) {
	pictureShards(t)
	succeeds(t, tinyRun("--out", "runs/a")...)
	last := filepath.Join("runs", "a", "checkpoints", "step-00000012")
	must.Do(t, os.Remove(filepath.Join(last, "SHA256SUMS")))
	code, _, errs := run(t, "eval", "run", "--run", "runs/a", "--query", "test")
	if code != exitIntegrity ||
		!strings.Contains(errs, filepath.Join(last, "SHA256SUMS")+" is damaged: it is missing") ||
		!strings.Contains(errs, "hgld train resume") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	code, _, errs = run(t, "train", "resume", "runs/a")
	if code != 0 || !strings.Contains(errs, "falls back to step-00000010") ||
		!strings.Contains(errs, "damaged-step-00000012.1") || !strings.Contains(errs, "continuing after step 10") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
	if code, _, errs := run(t, "eval", "run", "--run", "runs/a", "--query", "test"); code != 0 {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// Settings of a run that cannot be read are no mistake of the caller.
func TestUnreadableSettingsOfARunAreNoUsageError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, runs.SettingsFile), 0o755); err != nil { // reading a folder fails
		t.Fatal(err)
	}
	if _, err := runs.ReadSettings(dir); err == nil || exitCode(err) != exitFailed {
		t.Errorf("exit code %d of %v, want %d", exitCode(err), err, exitFailed)
	}
	says(t, exitFailed, dir, "train", "run", "--config", dir)
}
