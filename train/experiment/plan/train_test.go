package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hgld/internal/filelock"
	"hgld/internal/seal"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/train"
	"hgld/train/checkpoint"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

// WriteRun writes the files of a run: all of them, or those of a run that was killed in its first steps.
func WriteRun(t *testing.T, r *Run, value float64, whole bool) {
	t.Helper()
	must.Do(t, os.MkdirAll(r.Settings.Out, 0o755))
	if _, err := r.Settings.Write(); err != nil {
		t.Fatal(err)
	}
	events := `{"event":"step","step":1,"epoch":0,"loss":1}` + "\n"
	if whole {
		result := retrieval.Result{Version: 1, On: "validation", Values: []retrieval.Value{
			{Key: "AP_level0", Mean: retrieval.Number(value)}, {Key: "H-AP", Mean: retrieval.Number(value / 2)}}}
		text := fmt.Sprintf(`{"hgld_eval":1,"metrics":[{"key":"AP_level0","mean":%v},{"key":"H-AP","mean":%v}]}`, value, value/2)
		events += `{"event":"evaluation","step":9,"epoch":1,"on":"validation","result":` + text + "}\n" +
			fmt.Sprintf(`{"event":"done","step":9,"epoch":%d}`, r.Settings.Epochs) + "\n"
		must.Do(t, runs.WriteJSON(filepath.Join(r.Settings.Out, runs.EvaluationFile), result))
	}
	testfile.Write(t, r.Settings.Out, runs.EventsFile, events)
}

// Planned plans a study of six runs.
func Planned(t *testing.T, dir string, scale Scale) *Plan {
	t.Helper()
	text, _, _ := strings.Cut(tiny, "figures:") // drawing takes longer than all else
	s, err := parse("tiny", "tiny.yaml", []byte(text))
	must.Do(t, err)
	p, err := s.Make(dir, scale, same)
	must.Do(t, err)
	return p
}

// The study is stopped in its second run, and diverges in the third. The next call begins with the second
// run and leaves out the third; a run without its input is listed.
func TestStudyContinuesWhereItStopped(t *testing.T) {
	dir := t.TempDir()
	var trained []string
	reports := 0
	c := Trainer{Log: func(string, ...any) {}, Now: still, Report: func() error { reports++; return nil }}
	c.Missing = func(r *Run) string {
		if r.Name == "b-2-seed3" {
			return "nowhere"
		}
		return ""
	}
	c.Train = func(r *Run) error {
		trained = append(trained, r.Name)
		switch {
		case r.Name == "b-2-seed1" && len(trained) == 2:
			WriteRun(t, r, 0, false)
			return context.Canceled
		case r.Name == "a-seed2":
			WriteRun(t, r, 0, false)
			return fmt.Errorf("step 4: %w", train.ErrNotFinite)
		}
		WriteRun(t, r, 0.5, true)
		return nil
	}
	p := Planned(t, dir, Scale{})
	if _, err := p.Train(p.Runs, c); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	p = Planned(t, dir, Scale{})
	states, err := p.States()
	if err != nil || states[0].Phase != Finished || states[1].Phase != Begun || states[1].Step != "step 1" ||
		states[2].Phase != Pending {
		t.Fatalf("%v, %+v", err, states)
	}
	out, err := p.Train(p.Runs, c)
	if err != nil || out.Before != 1 || out.Trained != 3 || out.Diverged != 1 || len(out.Missing) != 1 {
		t.Fatalf("%v, %+v", err, out)
	}
	if out, err = p.Train(p.Runs, c); err != nil || out.Before != 4 || out.Trained != 0 || out.Diverged != 1 {
		t.Fatalf("%v, %+v", err, out)
	}
	want := []string{"a-seed1", "b-2-seed1", "b-2-seed1", "a-seed2", "b-2-seed2", "a-seed3"}
	if !slices.Equal(trained, want) {
		t.Errorf("trained %v, want %v", trained, want)
	}
	if reports != 7 { // after each run that ended, and at the end of both calls that were not stopped
		t.Errorf("%d reports", reports)
	}
	why, err := os.ReadFile(filepath.Join(dir, "diverged", "a-seed2"))
	if err != nil || !strings.HasPrefix(string(why), "step 4: ") {
		t.Errorf("%q, %v", why, err)
	}
}

// still is a clock by which nothing takes time.
func still() time.Time { return time.Time{} }

// Of 40 short runs, those that end within ten times of what a report took share the next report. A call that stops
// reports what ended before.
func TestReportsTakeLittleOfAStudysTime(t *testing.T) {
	for _, c := range []struct {
		seconds, stop int   // of a run, and the run that is stopped
		want          []int // finished runs in each report
	}{
		{1, 0, []int{1, 11, 21, 31, 40}},
		{3, 0, []int{1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 40}},
		{10, 4, []int{1, 2, 3}},
		{1, 4, []int{1, 3}},
		{1, 1, nil},
	} {
		var now time.Time
		ended := 0
		var reports []int
		p := Planned(t, t.TempDir(), Scale{Seeds: 20})
		trainer := Trainer{Log: func(string, ...any) {}, Missing: func(*Run) string { return "" }}
		trainer.Now = func() time.Time { return now }
		trainer.Report = func() error {
			now = now.Add(time.Second)
			reports = append(reports, ended)
			return nil
		}
		trainer.Train = func(r *Run) error {
			if ended+1 == c.stop {
				return context.Canceled
			}
			now = now.Add(time.Duration(c.seconds) * time.Second)
			ended++
			WriteRun(t, r, 0.5, true)
			return nil
		}
		_, err := p.Train(p.Runs, trainer)
		if errors.Is(err, context.Canceled) != (c.stop > 0) || !slices.Equal(reports, c.want) {
			t.Errorf("runs of %d s, stopped in %d: reports of %v, want %v; %v", c.seconds, c.stop, reports, c.want, err)
		}
	}
}

// The lock of a run names the process that trains it.
func TestRunAtWorkIsShown(t *testing.T) {
	p := Planned(t, t.TempDir(), Scale{})
	r := p.Runs[0]
	WriteRun(t, r, 0, false)
	lock := must.Get(filelock.Acquire(filepath.Join(r.Settings.Out, checkpoint.LockFile)))(t)
	states := must.Get(p.States())(t)
	by := filelock.Self().String()
	if states[0].By != by || states[0].Left != 0 || states[1].By != "" {
		t.Errorf("%+v, %+v", states[0], states[1])
	}
	text := "\n" + r.Name + ": trained by " + by
	if got := p.StatesText(states); !strings.HasSuffix(got, text+"\n") {
		t.Errorf("%s, want %s at its end", got, text)
	}
	states[0].Left = 1.5
	if got := p.StatesText(states); !strings.HasSuffix(got, text+", 1h30m0s left\n") {
		t.Errorf("%s, want %s and the time at its end", got, text)
	}
	must.Do(t, lock.Close())
	if s := must.Get(p.State(r))(t); s.By != "" {
		t.Errorf("nobody trains %+v", s)
	}
}

func TestForeignRunsAndResultsAreRefused(t *testing.T) {
	for name, change := range map[string]func(r *Run){
		"optim.lr is 0.5, but the study wants 0.001": func(r *Run) {
			other := *r.Settings
			other.Optim.Rate = 0.5
			if _, err := other.Write(); err != nil {
				t.Fatal(err)
			}
		},
		"AP_level0 is not the value in events.jsonl": func(r *Run) {
			result := retrieval.Result{Version: 1, Values: []retrieval.Value{{Key: "AP_level0", Mean: 0.9}}}
			must.Do(t, runs.WriteJSON(filepath.Join(r.Settings.Out, runs.EvaluationFile), result))
		},
	} {
		p := Planned(t, t.TempDir(), Scale{})
		WriteRun(t, p.Runs[0], 0.5, true)
		change(p.Runs[0])
		var refused *RunError
		if _, err := p.State(p.Runs[0]); !errors.As(err, &refused) || refused.What != name {
			t.Errorf("%v, want %s", err, name)
		}
	}
}

func TestRecordRefusesOtherSettingsAndInputs(t *testing.T) {
	dir := t.TempDir()
	prints := map[string]string{filepath.Join(dir, "shards"): "one"}
	p := Planned(t, dir, Scale{Limit: 1, Seeds: 1})
	must.Do(t, p.Open(prints))
	var other *MismatchError
	longer := Planned(t, dir, Scale{Set: []string{"steps=5"}})
	if err := longer.Open(prints); err != nil {
		t.Errorf("a run that has not begun may get other settings: %v", err)
	}
	if err := p.Open(prints); err != nil {
		t.Error(err)
	}
	WriteRun(t, p.Runs[0], 0.5, false)
	if err := longer.Open(prints); !errors.As(err, &other) || other.What != "the run a-seed1 was planned with other "+
		"settings: its scale was that of the study, and now it is steps=5" {
		t.Error(err)
	}
	if err := Planned(t, dir, Scale{Seeds: 5}).Open(prints); err != nil {
		t.Errorf("more seeds and variants: %v", err)
	}
	if err := Planned(t, dir, Scale{Set: []string{"run.workers=1"}}).Open(prints); err != nil {
		t.Errorf("what does not change a result: %v", err)
	}
	var changed *InputError
	prints[filepath.Join(dir, "shards")] = "two"
	if err := p.Open(prints); !errors.As(err, &changed) || changed.Input != filepath.Join(dir, "shards") {
		t.Error(err)
	}
	testfile.Write(t, dir, File, `{"hgld_study": 1}`)
	if err := p.Open(prints); !errors.As(err, new(*FormatError)) {
		t.Error(err)
	}
	testfile.Write(t, dir, File, `{"hgld_study": 2, "runs": 7}`)
	if err := p.Open(prints); err == nil || !strings.Contains(err.Error(), "use a newer hgld") {
		t.Error(err)
	}
}

// A version of hgld with other settings than the one that began a study has other hashes of them. It goes on if the
// settings that the run lacks have their defaults, and otherwise names what differs.
func TestRecordOfAnotherVersionIsFollowed(t *testing.T) {
	dir := t.TempDir()
	p := Planned(t, dir, Scale{Limit: 1, Seeds: 1})
	must.Do(t, p.Open(nil))
	WriteRun(t, p.Runs[0], 0.5, true)
	file := filepath.Join(p.Runs[0].Settings.Out, runs.SettingsFile)
	text, err := os.ReadFile(file)
	must.Do(t, err)
	lines := string(text[:bytes.LastIndex(text, []byte("# "))]) // without the seal
	for _, c := range []struct{ old, new, want string }{
		{"    fit_on: 0\n", "", ""}, // a setting that the other version did not have
		{"    fit_on: 0\n", "    fit_on: 7\n", "model.fit_on was 7, and now it is 0"},
		{"    keep_best_test: false\n", "    keep_best_test: true\n", "run.keep_best_test was true, and now it is false"},
		{"    fit_on: 0\n", "    fit_under: 0\n", `unknown key "train.model.fit_under"`},
	} {
		old := record{Version: Version, Study: "tiny", Runs: map[string]string{p.Runs[0].Name: "another hash"}}
		sealed, err := seal.MarshalJSON(old)
		if err != nil || !strings.Contains(lines, c.old) {
			t.Fatal(err, lines)
		}
		testfile.Write(t, dir, File, string(sealed))
		testfile.Write(t, p.Runs[0].Settings.Out, runs.SettingsFile,
			string(seal.Lines([]byte(strings.Replace(lines, c.old, c.new, 1)))))
		err = p.Open(nil)
		var other *MismatchError
		switch {
		case c.want == "" && err != nil, c.want != "" && (!errors.As(err, &other) || !strings.Contains(other.What, c.want)):
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		case c.want == "":
			if s, err := p.State(p.Runs[0]); err != nil || s.Phase != Finished {
				t.Errorf("%v, %+v", err, s)
			}
		}
	}
}

// A study refuses to go on if one of these changed, and leaves out a run without one.
func TestFilesOfARun(t *testing.T) {
	r := Planned(t, t.TempDir(), Scale{}).Runs[0]
	r.Settings.Images.Data, r.Settings.Images.Benchmarks = "shards", []string{"fine", "coarse"}
	r.Settings.Landmarks.Truth, r.Settings.Landmarks.Images = []string{"gnd.pkl"}, []string{"jpg"}
	r.Settings.Model.Weights, r.Settings.From = "w.pth", "run"
	if got := strings.Join(r.Files(), " "); got != "shards fine coarse gnd.pkl jpg w.pth run" {
		t.Error(got)
	}
}
