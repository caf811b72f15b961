package runs

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
	"hgld/internal/testing/must"
	"hgld/internal/usage"
	"hgld/train"
	"hgld/train/config"
	"hgld/train/retrieval"
	"hgld/train/step"
)

func TestEventsAfterTheCheckpointAreDroppedOnResume(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, EventsFile)
	old := `{"event":"step","step":1}` + "\n" + `{"event":"step","step":2}` + "\n" +
		`{"event":"step","step":3}` + "\n" + `{"event":"st`
	must.Do(t, os.WriteFile(path, []byte(old), 0o644))
	log, err := OpenLog(dir, 2)
	must.Do(t, err)
	must.Do(t, log.Add(train.Event{Kind: train.Stepped, Step: 3, Loss: new(0.5)}))
	must.Do(t, log.Close())
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
	must.Do(t, os.WriteFile(path, []byte(measured+`{"event":"done","step":3}`+"\n"), 0o644))
	if !IsDone(dir, 3) {
		t.Error("a run that has ended is not done")
	}
	log, err := OpenLog(dir, 3)
	must.Do(t, err)
	must.Do(t, log.Close())
	if text, err := os.ReadFile(path); err != nil || string(text) != measured || IsDone(dir, 3) {
		t.Errorf("%v, done %v:\n%s", err, IsDone(dir, 3), text)
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
		must.Do(t, err)
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
		ProxyRate: 1, Terms: []step.TermValue{{Name: "nsm", Weight: 0.1}}})
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
		{Kind: train.Stepped, Step: 1, Terms: []step.TermValue{{Name: "nsm", Weight: 0.1, Value: 3}}},
		{Kind: train.Stepped, Step: 2, ProxyRate: 0.5},
		{Kind: train.Stepped, Step: 3, Terms: []step.TermValue{{Name: "nsm", Weight: 0.1, Value: 0}}},
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
	must.Do(t, err)
	for _, e := range []train.Event{
		{Kind: train.Stepped, Step: 1, Loss: new(0.9), Images: 8, Seconds: 5},
		{Kind: train.Stepped, Step: 2, Images: 8, Seconds: 0.1},
		{Kind: train.Evaluated, Step: 2, Result: result},
		{Kind: train.Stepped, Step: 3, Loss: new(0.4), Images: 8, Seconds: 0.1},
		{Kind: train.Done, Step: 3, Epoch: 1},
	} {
		must.Do(t, log.Add(e))
	}
	must.Do(t, errors.Join(log.Close(), WriteJSON(filepath.Join(dir, EvaluationFile), result)))
	r, err := Read(dir)
	must.Do(t, err)
	if r.Loss() != 0.4 || r.WithoutLoss() != 1 || r.Speed() != 80 || r.Trained().Seconds() != 5 || r.Changed.IsZero() {
		t.Errorf("loss %v, %d without, %v img/s, %v", r.Loss(), r.WithoutLoss(), r.Speed(), r.Trained())
	}
	for _, c := range []struct {
		config config.Config
		state  string
	}{{config.Config{Steps: 3}, "done"}, {config.Config{Steps: 4}, "step 3 of 4"},
		{config.Config{Epochs: 1}, "done"}, {config.Config{Epochs: 2}, "step 3"}} {
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
	must.Do(t, os.WriteFile(path, []byte("{\"event\":\"step\"}\n{bad\n"), 0o644))
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
	must.Do(t, os.MkdirAll(checkpoint, 0o755))
	path := filepath.Join(dir, SettingsFile)
	must.Do(t, os.WriteFile(path, seal.Lines([]byte("data: ../shards\nseed: 7\n")), 0o644))
	for _, run := range []string{dir, checkpoint} {
		s, err := ReadSettings(run)
		if err != nil || s == nil || s.Seed != 7 || s.Images.HoldOutSeed != 1 ||
			s.Images.Data != filepath.Join(filepath.Dir(dir), "shards") {
			t.Errorf("%s: %+v, %v", run, s, err)
		}
	}
	changed := bytes.Replace(seal.Lines([]byte("seed: 7\n")), []byte("7"), []byte("8"), 1)
	must.Do(t, os.WriteFile(path, changed, 0o644))
	if _, err := ReadSettings(dir); !errors.As(err, new(*FormatError)) {
		t.Errorf("%v, want an error of the changed file", err)
	}
	must.Do(t, os.WriteFile(path, seal.Lines([]byte("seed: [\n")), 0o644))
	if _, err := ReadSettings(dir); !errors.As(err, new(*usage.Error)) {
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

// The steps to come take as long as the last hundred.
func TestTheTimeOfTheStepsToComeIsPredicted(t *testing.T) {
	s := DefaultSettings()
	s.Steps = 300
	r := &Run{Settings: &s}
	if got := r.SecondsLeft(); got != 0 {
		t.Errorf("%v s before the first step", got)
	}
	for i := range 120 {
		seconds := 2.0
		if i < 20 {
			seconds = 99
		}
		r.Events = append(r.Events, train.Event{Kind: train.Stepped, Step: i + 1, Seconds: seconds})
	}
	if got := r.SecondsLeft(); got != 360 {
		t.Errorf("%v s, want 180 steps of 2 s", got)
	}
	if s.Steps = 0; r.SecondsLeft() != 0 {
		t.Errorf("%v s for a run of unknown length", r.SecondsLeft())
	}
}
