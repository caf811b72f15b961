package study

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

	"hgld/internal/seal"
	"hgld/internal/testing/testfile"
	"hgld/train"
	"hgld/train/history"
	"hgld/train/retrieval"
)

// writeRun writes the files of a run: all of them, or those of a run that was killed in its first steps.
func writeRun(t *testing.T, r *Run, value float64, whole bool) {
	t.Helper()
	if err := os.MkdirAll(r.Settings.Out, 0o755); err != nil {
		t.Fatal(err)
	}
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
		if err := history.WriteJSON(filepath.Join(r.Settings.Out, history.EvaluationFile), result); err != nil {
			t.Fatal(err)
		}
	}
	testfile.Write(t, r.Settings.Out, history.EventsFile, events)
}

func planned(t *testing.T, dir string, scale Scale) *Plan {
	t.Helper()
	text, _, _ := strings.Cut(tiny, "figures:") // drawing takes longer than all else
	s, err := parse("tiny", "tiny.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Make(dir, scale, same)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The study is stopped in its second run, and diverges in the third. The next call begins with the second
// run and leaves out the third; a run without its input is listed.
func TestStudyContinuesWhereItStopped(t *testing.T) {
	dir := t.TempDir()
	var trained []string
	c := Conductor{Say: func(string, ...any) {}, Missing: func(r *Run) string {
		if r.Name == "b-2-seed3" {
			return "nowhere"
		}
		return ""
	}}
	c.Train = func(r *Run) error {
		trained = append(trained, r.Name)
		switch {
		case r.Name == "b-2-seed1" && len(trained) == 2:
			writeRun(t, r, 0, false)
			return context.Canceled
		case r.Name == "a-seed2":
			writeRun(t, r, 0, false)
			return fmt.Errorf("step 4: %w", train.ErrNotFinite)
		}
		writeRun(t, r, 0.5, true)
		return nil
	}
	p := planned(t, dir, Scale{})
	if _, err := p.Conduct(p.Runs, c); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	p = planned(t, dir, Scale{})
	states, err := p.States()
	if err != nil || states[0].Phase != Finished || states[1].Phase != Begun || states[1].Step != "step 1" ||
		states[2].Phase != Pending {
		t.Fatalf("%v, %+v", err, states)
	}
	out, err := p.Conduct(p.Runs, c)
	if err != nil || out.Before != 1 || out.Trained != 3 || out.Diverged != 1 || len(out.Missing) != 1 {
		t.Fatalf("%v, %+v", err, out)
	}
	if out, err = p.Conduct(p.Runs, c); err != nil || out.Before != 4 || out.Trained != 0 || out.Diverged != 1 {
		t.Fatalf("%v, %+v", err, out)
	}
	want := []string{"a-seed1", "b-2-seed1", "b-2-seed1", "a-seed2", "b-2-seed2", "a-seed3"}
	if !slices.Equal(trained, want) {
		t.Errorf("trained %v, want %v", trained, want)
	}
	text, err := os.ReadFile(filepath.Join(dir, MarkdownFile))
	if err != nil || !strings.Contains(string(text), "4 of 6 runs are finished, 1 diverged.") {
		t.Errorf("%v\n%s", err, text)
	}
	why, err := os.ReadFile(filepath.Join(dir, "diverged", "a-seed2"))
	if err != nil || !strings.HasPrefix(string(why), "step 4: ") {
		t.Errorf("%q, %v", why, err)
	}
}

// Slices in any order, and one plan in one go, give the same report.
func TestSlicesGiveTheSameReport(t *testing.T) {
	report := func(slices ...[2]int) string {
		dir := t.TempDir()
		c := Conductor{Say: func(string, ...any) {}, Missing: func(*Run) string { return "" }}
		c.Train = func(r *Run) error { writeRun(t, r, float64(r.Seed)/10+float64(len(r.Name))/100, true); return nil }
		for _, s := range slices {
			p := planned(t, dir, Scale{})
			if _, err := p.Conduct(p.Slice(s[0], s[1]), c); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, PageFile))
		if err != nil || !strings.Contains(string(text), "6 of 6 runs are finished") {
			t.Fatalf("%v\n%s", err, text)
		}
		return string(text)
	}
	if whole := report([2]int{1, 1}); whole != report([2]int{4, 4}, [2]int{2, 4}, [2]int{3, 4}, [2]int{1, 4}) {
		t.Error("four slices give another report than one call")
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
			if err := history.WriteJSON(filepath.Join(r.Settings.Out, history.EvaluationFile), result); err != nil {
				t.Fatal(err)
			}
		},
	} {
		p := planned(t, t.TempDir(), Scale{})
		writeRun(t, p.Runs[0], 0.5, true)
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
	p := planned(t, dir, Scale{Limit: 1, Seeds: 1})
	if err := p.Open(prints); err != nil {
		t.Fatal(err)
	}
	var other *OtherError
	longer := planned(t, dir, Scale{Set: []string{"steps=5"}})
	if err := longer.Open(prints); err != nil {
		t.Errorf("a run that has not begun may get other settings: %v", err)
	}
	if err := p.Open(prints); err != nil {
		t.Error(err)
	}
	writeRun(t, p.Runs[0], 0.5, false)
	if err := longer.Open(prints); !errors.As(err, &other) || other.What != "the run a-seed1 was planned with other "+
		"settings: its scale was that of the study, and now it is steps=5" {
		t.Error(err)
	}
	if err := planned(t, dir, Scale{Seeds: 5}).Open(prints); err != nil {
		t.Errorf("more seeds and variants: %v", err)
	}
	if err := planned(t, dir, Scale{Set: []string{"run.threads=1"}}).Open(prints); err != nil {
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
	p := planned(t, dir, Scale{Limit: 1, Seeds: 1})
	if err := p.Open(nil); err != nil {
		t.Fatal(err)
	}
	writeRun(t, p.Runs[0], 0.5, true)
	file := filepath.Join(p.Runs[0].Settings.Out, history.SettingsFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := string(text[:bytes.LastIndex(text, []byte("# "))]) // without the seal
	for _, c := range []struct{ old, new, want string }{
		{"    fit_on: 0\n", "", ""}, // a setting that the other version did not have
		{"    fit_on: 0\n", "    fit_on: 7\n", "model.fit_on was 7, and now it is 0"},
		{"    report_best: false\n", "    report_best: true\n", "run.report_best was true, and now it is false"},
		{"    fit_on: 0\n", "    fit_under: 0\n", `unknown key "train.model.fit_under"`},
	} {
		old := record{Version: Version, Study: "tiny", Runs: map[string]string{p.Runs[0].Name: "another hash"}}
		sealed, err := seal.MarshalJSON(old)
		if err != nil || !strings.Contains(lines, c.old) {
			t.Fatal(err, lines)
		}
		testfile.Write(t, dir, File, string(sealed))
		testfile.Write(t, p.Runs[0].Settings.Out, history.SettingsFile,
			string(seal.Lines([]byte(strings.Replace(lines, c.old, c.new, 1)))))
		err = p.Open(nil)
		var other *OtherError
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
	r := planned(t, t.TempDir(), Scale{}).Runs[0]
	r.Settings.Images.Data, r.Settings.Images.Benchmarks = "shards", []string{"fine", "coarse"}
	r.Settings.Landmarks.Truth, r.Settings.Landmarks.Images = []string{"gnd.pkl"}, []string{"jpg"}
	r.Settings.Model.Weights, r.Settings.From = "w.pth", "run"
	if got := strings.Join(r.Files(), " "); got != "shards fine coarse gnd.pkl jpg w.pth run" {
		t.Error(got)
	}
}
