package history

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/registry"
	"hgld/internal/report"
	"hgld/internal/seal"
	"hgld/train"
	"hgld/train/retrieval"
)

func TestEventsAfterTheCheckpointAreDroppedOnResume(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, EventsFile)
	old := `{"event":"step","step":1}` + "\n" + `{"event":"step","step":2}` + "\n" +
		`{"event":"step","step":3}` + "\n" + `{"event":"st`
	if err := os.WriteFile(path, []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := OpenLog(dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Add(train.Event{Kind: train.Stepped, Step: 3, Loss: new(0.5)}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	want := `{"event":"step","step":1}` + "\n" + `{"event":"step","step":2}` + "\n" +
		`{"event":"step","step":3,"epoch":0,"loss":0.5}` + "\n"
	if err != nil || string(text) != want {
		t.Errorf("%v:\n%s", err, text)
	}
}

// A complete run whose metrics change is evaluated again. It does not count as complete until
// that evaluation ends.
func TestRunThatIsMeasuredAnewIsNotDone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, EventsFile)
	measured := `{"event":"evaluation","step":3}` + "\n"
	if err := os.WriteFile(path, []byte(measured+`{"event":"done","step":3}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !IsDone(dir, 3) {
		t.Error("a run that has ended is not done")
	}
	log, err := OpenLog(dir, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != measured || IsDone(dir, 3) {
		t.Errorf("%v, done %v:\n%s", err, IsDone(dir, 3), text)
	}
}

func TestSampleOfOneHasNoDeviation(t *testing.T) {
	nan := retrieval.Number(math.NaN())
	if s := SampleOf([]retrieval.Number{3, nan}); s.Mean != 3 || s.Count != 1 || !math.IsNaN(float64(s.Deviation)) {
		t.Errorf("%+v", s)
	}
	if s := SampleOf([]retrieval.Number{nan}); !math.IsNaN(float64(s.Mean)) || s.Count != 0 {
		t.Errorf("%+v", s)
	}
	if s := SampleOf([]retrieval.Number{1, 3}); s.Mean != 2 || math.Abs(float64(s.Deviation)-math.Sqrt2) > 1e-15 {
		t.Errorf("%+v, want the deviation √2", s)
	}
	// Student's quantile for one degree of freedom is 12.706, by any table.
	if s := SampleOf([]retrieval.Number{41, nan, 43}); math.Abs(float64(s.Low)-(42-12.706)) > 5e-4 ||
		math.Abs(float64(s.High)-(42+12.706)) > 5e-4 {
		t.Errorf("%+v, want the interval 42 ± 12.706", s)
	}
}

// Student's interval of a few seeds is wide. A metric is never below 0 or above 100 %.
func TestIntervalOverSeedsEndsAtTheRangeOfTheMetric(t *testing.T) {
	if s := SampleOf([]retrieval.Number{98, 100}); s.Mean != 99 || s.High != 100 || !(s.Low > 80 && s.Low < 98) {
		t.Errorf("%+v, want an interval that ends at 100", s)
	}
	if s := SampleOf([]retrieval.Number{1, 3}); s.Low != 0 || !(s.High > 3 && s.High < 20) {
		t.Errorf("%+v, want an interval that begins at 0", s)
	}
	seed := func(n string) [2]string { return [2]string{n, ""} }
	by := map[[2]string]retrieval.Number{seed("1"): 90, seed("2"): 100}
	from := map[[2]string]retrieval.Number{seed("1"): 0, seed("2"): 1}
	if d := Subtract(by, from); d.High != 100 || d.Low < 0 || d.Verdict != "higher" {
		t.Errorf("%+v, want a difference of at most 100", d)
	}
}

// A reader that ignored the version would take fields of a later format for those of today.
func TestLaterResultIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), EvaluationFile)
	write := func(version int, metrics string) {
		text := fmt.Sprintf(`{"hgld_eval":%d,"queries":1,"gallery":1,"metrics":%s}`, version, metrics)
		sealed, err := seal.JSON([]byte(text))
		if err == nil {
			err = os.WriteFile(path, sealed, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(retrieval.ResultVersion, "[]")
	if _, err := ReadResult(path); err != nil {
		t.Error(err)
	}
	for _, metrics := range []string{"[]", `"of another type"`} {
		write(retrieval.ResultVersion+1, metrics)
		_, err := ReadResult(path)
		want := fmt.Sprintf("format version %d", retrieval.ResultVersion+1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A value of 0 is recorded. A missing value is not.
func TestScalarsAreThoseOfTheEvent(t *testing.T) {
	tags := func(e train.Event) (list []string) {
		for _, s := range scalars(e) {
			list = append(list, s.Tag)
		}
		return list
	}
	with := tags(train.Event{Kind: train.Stepped, Loss: new(0.0), Norm: new(0.0), Images: 1, Seconds: 1, HeadRate: 1,
		ProxyRate: 1, Terms: []train.TermValue{{Name: "nsm", Weight: 0.1}}})
	without := tags(train.Event{Kind: train.Stepped, Images: 1, Seconds: 1})
	for _, tag := range []string{"train/loss", "train/grad_norm", "train/lr_head", "train/lr_proxies", "train/loss/nsm"} {
		if !slices.Contains(with, tag) || slices.Contains(without, tag) {
			t.Errorf("%s: %q with a value, %q without", tag, with, without)
		}
	}
}

// A term of the loss has a curve of its own, with a gap where a step had no loss.
func TestTermsHaveCurves(t *testing.T) {
	r := &Run{Dir: "run", Events: []train.Event{
		{Kind: train.Stepped, Step: 1, Terms: []train.TermValue{{Name: "nsm", Weight: 0.1, Value: 3}}},
		{Kind: train.Stepped, Step: 2, ProxyRate: 0.5},
		{Kind: train.Stepped, Step: 3, Terms: []train.TermValue{{Name: "nsm", Weight: 0.1, Value: 0}}},
	}}
	points, _, err := r.Curve("loss/nsm", 1)
	if err != nil || len(points) != 2 || points[0].Y != 3 || points[1].Y != 0 || !points[1].Gap {
		t.Errorf("%v, %+v", err, points)
	}
	if points, _, err := r.Curve("proxy_lr", 1); err != nil || len(points) != 1 || points[0].Y != 0.5 {
		t.Errorf("%v, %+v", err, points)
	}
	if _, _, err := r.Curve("loss/nms", 1); err == nil || !strings.Contains(err.Error(), "loss/nsm") {
		t.Errorf("error %v, want the curve that there is", err)
	}
}

func TestRunSumsUpItsEvents(t *testing.T) {
	dir := t.TempDir()
	result := &retrieval.Result{Levels: []string{"a"}, Values: []retrieval.Value{{Key: "H-AP", Mean: 0.5}},
		Overall: map[string]retrieval.Number{"AP": 0.25}}
	log, err := OpenLog(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []train.Event{
		{Kind: train.Stepped, Step: 1, Loss: new(0.9), Images: 8, Seconds: 5},
		{Kind: train.Stepped, Step: 2, Images: 8, Seconds: 0.1},
		{Kind: train.Evaluated, Step: 2, Result: result},
		{Kind: train.Stepped, Step: 3, Loss: new(0.4), Images: 8, Seconds: 0.1},
		{Kind: train.Done, Step: 3, Epoch: 1},
	} {
		if err := log.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(log.Close(), WriteJSON(filepath.Join(dir, EvaluationFile), result)); err != nil {
		t.Fatal(err)
	}
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Loss() != 0.4 || r.WithoutLoss() != 1 || r.Speed() != 80 || r.Trained().Seconds() != 5 || r.Changed.IsZero() {
		t.Errorf("loss %v, %d without, %v img/s, %v", r.Loss(), r.WithoutLoss(), r.Speed(), r.Trained())
	}
	for _, c := range []struct {
		config train.Config
		state  string
	}{{train.Config{Steps: 3}, "done"}, {train.Config{Steps: 4}, "step 3 of 4"},
		{train.Config{Epochs: 1}, "done"}, {train.Config{Epochs: 2}, "step 3"}} {
		r.Settings = &Settings{Config: c.config}
		if got := r.State(); got != c.state {
			t.Errorf("%d steps, %d epochs: %s, want %s", c.config.Steps, c.config.Epochs, got, c.state)
		}
	}
	if Percent(r.Result, "H-AP") != 50 || Percent(r.Result, "mean(AP)") != 25 ||
		!math.IsNaN(float64(Percent(nil, "H-AP"))) {
		t.Errorf("%v, %v", Percent(r.Result, "H-AP"), Percent(r.Result, "mean(AP)"))
	}
	points, dots, err := r.Curve("loss", 1)
	if err != nil || dots || !slices.Equal(points, []report.Point{{X: 1, Y: 0.9}, {X: 3, Y: 0.4, Gap: true}}) {
		t.Errorf("%v, %v, %v", points, dots, err)
	}
	points, dots, err = r.Curve("H-AP", 0)
	if err != nil || !dots || !slices.Equal(points, []report.Point{{X: 2, Y: 50}}) {
		t.Errorf("%v, %v, %v", points, dots, err)
	}
	if _, _, err := r.Curve("los", 0); !errors.As(err, new(*registry.UnknownError)) {
		t.Error(err)
	}
}

func TestDamagedLogIsAFormatError(t *testing.T) {
	path := filepath.Join(t.TempDir(), EventsFile)
	if err := os.WriteFile(path, []byte("{\"event\":\"step\"}\n{bad\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var damaged *FormatError
	if _, err := ReadEvents(path); !errors.As(err, &damaged) || damaged.Line != 2 ||
		!strings.HasPrefix(err.Error(), path+":2: ") {
		t.Error(err)
	}
}

// A setting that the file lacks gets its default.
func TestSettingsAreReadFromARunAndItsCheckpoints(t *testing.T) {
	dir := t.TempDir()
	if s, err := ReadSettings(dir); s != nil || err != nil {
		t.Errorf("a folder without settings: %v, %v", s, err)
	}
	checkpoint := filepath.Join(dir, CheckpointsFolder, "step-00000003")
	if err := os.MkdirAll(checkpoint, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, SettingsFile)
	if err := os.WriteFile(path, seal.Lines([]byte("data: ../shards\nseed: 7\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{dir, checkpoint} {
		s, err := ReadSettings(run)
		if err != nil || s == nil || s.Seed != 7 || s.Images.HoldOutSeed != 1 ||
			s.Images.Data != filepath.Join(filepath.Dir(dir), "shards") {
			t.Errorf("%s: %+v, %v", run, s, err)
		}
	}
	changed := bytes.Replace(seal.Lines([]byte("seed: 7\n")), []byte("7"), []byte("8"), 1)
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSettings(dir); !errors.As(err, new(*FormatError)) {
		t.Errorf("%v, want an error of the changed file", err)
	}
	if err := os.WriteFile(path, seal.Lines([]byte("seed: [\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSettings(dir); !errors.As(err, new(*SettingsError)) {
		t.Errorf("%v, want an error of the settings", err)
	}
}

func TestFoldersMoveWithTheirRun(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, c := range [][3]string{{"runs/a", "shards", "../../shards"},
		{"runs/a", filepath.Join(dir, "s"), filepath.Join(dir, "s")},
		{filepath.Join(dir, "runs", "a"), filepath.Join(dir, "s"), "../../s"}} {
		got, err := relative(c[0], c[1])
		if err != nil || got != c[2] {
			t.Errorf("%s from %s is %s, want %s: %v", c[1], c[0], got, c[2], err)
		}
		if back := resolve(c[0], got); back != filepath.Clean(c[1]) {
			t.Errorf("%s at %s is %s, want %s", got, c[0], back, c[1])
		}
	}
}

func TestColumnsOfEqualNamesAreToldApartByFolders(t *testing.T) {
	for _, c := range [][2][]string{
		{{"a.json", "b.json"}, {"a", "b"}},
		{{"runs/a/eval.json", "runs/b/eval.json"}, {"a/eval", "b/eval"}},
		{{"x/a/eval.json", "y/a/eval.json", "eval.json"}, {"x/a/eval", "y/a/eval", "eval"}},
		{{"e.json", "e.json"}, {"e", "e"}},
	} {
		if got := ShortNames(c[0]); !slices.Equal(got, c[1]) {
			t.Errorf("%v: %v, want %v", c[0], got, c[1])
		}
	}
}

func TestMeanNeedsTheSameMetrics(t *testing.T) {
	result := func(key string, mean retrieval.Number) *retrieval.Result {
		return &retrieval.Result{Levels: []string{"fine"}, Values: []retrieval.Value{{Key: key, Mean: mean}}}
	}
	table, err := Mean([]string{"a/x.json", "y.json"},
		[]*retrieval.Result{result("AP_level0", 0.5), result("AP_level0", 0.25)})
	if err != nil || len(table.Rows) != 2 || table.Rows[0].File != "x.json" || table.Overall["AP"] != 0.375 {
		t.Errorf("%+v, %v", table, err)
	}
	_, err = Mean([]string{"x.json", "y.json"}, []*retrieval.Result{result("AP_level0", 0.5), result("R@1_level0", 0.5)})
	if err == nil || !strings.Contains(err.Error(), "y.json does not have the metrics of x.json") {
		t.Error(err)
	}
}
