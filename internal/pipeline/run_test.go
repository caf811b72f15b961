package pipeline

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/internal/usage"
)

// files are the settings of a stage in tests.
type files struct {
	In   string         `yaml:"in" path:"in" usage:"what it reads"`
	Out  string         `yaml:"out" path:"out" usage:"what it writes"`
	Size int            `yaml:"size" usage:"of it" range:"0 100"`
	More map[string]any `yaml:"more"`
	Note string         `yaml:"note"`
}

// spec declares a stage that writes name.txt, from in if that is not "".
func spec(name, in string) Spec[files] {
	return Spec[files]{
		Name: name, Command: name + " run", Defaults: files{In: in, Out: name + ".txt", Size: 3},
		Files: func(s *files) (in, out []string) { return []string{s.In}, []string{s.Out} },
		Run:   func(_ Job, s *files) error { return os.WriteFile(s.Out, []byte(s.In), 0o644) },
	}
}

// told is a job that records what it says.
type told struct {
	options Options
	said    []string
	closed  int
}

func (j *told) Options() Options               { return j.options }
func (j *told) Log(format string, args ...any) { j.said = append(j.said, fmt.Sprintf(format, args...)) }
func (j *told) Start(st State)                 { j.Log("%s %s", st.Stage, st.State) }
func (j *told) Close() error                   { j.closed++; return nil }

// projectHere turns the test's current folder into a project with this hgld.yaml and these
// stages.
func projectHere(t *testing.T, text string, specs ...Spec[files]) *told {
	t.Helper()
	t.Chdir(t.TempDir())
	testfile.Write(t, ".", ProjectFile, text)
	l := &Pipeline{Tool: "1.0"}
	for _, s := range specs {
		l.Stages = append(l.Stages, New(s).Stage)
	}
	return &told{options: Options{Project: open(t, l, "")}}
}

func open(t *testing.T, l *Pipeline, dir string) *Project {
	t.Helper()
	p := must.Get(l.Open(dir))(t)
	return p
}

func TestRunStopsAtAFailureAndResumes(t *testing.T) {
	failed, retryable := errors.New("2 images left out"), errors.New("2 images left out for now")
	for _, c := range []struct {
		err   error
		again []string // stages that work when the same command runs again
	}{
		{failed, []string{"second"}},
		{retryable, []string{"first"}},
	} {
		var ran []string
		worker := func(name string, end error) Spec[files] {
			s := spec(name, "")
			work := s.Run
			s.Run = func(j Job, own *files) error { ran = append(ran, name); return errors.Join(work(j, own), end) }
			return s
		}
		j := projectHere(t, "{}\n", worker("first", c.err), worker("second", nil))
		l := j.options.Project.pipeline
		l.Ended = func(err error) (complete, again bool) {
			again = errors.Is(err, retryable)
			return again || errors.Is(err, failed), again
		}
		stages := l.Stages
		err := Run(j, stages)
		if !errors.Is(err, c.err) || !slices.Equal(ran, []string{"first"}) || j.closed != 1 {
			t.Errorf("%v worked, %v; want the first alone, and its error", ran, err)
		}
		var stopped *StoppedError
		if !errors.As(err, &stopped) || stopped.Stage != "first" || stopped.Next != "second run" ||
			stopped.Retryable != (c.err == retryable) {
			t.Errorf("%v, %+v", err, stopped)
		}
		ran = nil
		err = Run(j, stages)
		if !slices.Equal(ran, c.again) {
			t.Errorf("again: %v worked, %v; want %v", ran, err, c.again)
		}
	}
}

func TestRunExecutesStaleStagesInOrder(t *testing.T) {
	j := projectHere(t, "b: {size: 5}\n", spec("a", "source"), spec("b", "a.txt"))
	p := j.options.Project
	err := Run(j, p.pipeline.Stages)
	var missing *MissingInputError
	if !errors.As(err, &missing) || err.Error() != "a run: source does not exist" || missing.Writer != "" ||
		missing.Setting.Key() != "in" {
		t.Fatalf("%v, %+v", err, missing)
	}
	testfile.Write(t, ".", "source", "x")
	must.Do(t, Run(j, p.pipeline.Stages))
	states := func() string {
		t.Helper()
		list := must.Get(p.States(0))(t)
		text := ""
		for _, st := range list {
			text += fmt.Sprintf("%s %s: %s -> %s\n", st.Stage, st.State, st.Describe(p), st.Command)
		}
		if next, _ := Next(list); next != nil {
			text += "next: " + next.Command
		}
		return text
	}
	if got, want := states(), "a done: a.txt -> a run\nb done: b.txt -> b run\n"; got != want {
		t.Errorf("states\n%s\nwant\n%s", got, want)
	}
	testfile.Write(t, ".", "source", "y")
	if got, want := states(), "a stale: source changed since -> a run\n"+
		"b stale: a comes first and is not done -> b run\nnext: a run"; got != want {
		t.Errorf("states\n%s\nwant\n%s", got, want)
	}
	j.said = nil
	if err := Run(j, p.pipeline.Stages); err != nil || len(j.said) != 2 || j.said[1] != "b        done" {
		t.Errorf("%v, said %q: want b done, since a wrote the same again", err, j.said)
	}
}

func TestHooksOfAStageChangeItsState(t *testing.T) {
	a := spec("a", "")
	doubt := "its source is another"
	a.Doubt = func(_ *Project, s *files, before []State) (string, error) {
		if s.Size != 3 || len(before) != 0 {
			t.Errorf("settings %+v, before %+v", s, before)
		}
		return doubt, nil
	}
	a.Note = func(_ *Project, _ *files, st State) (string, error) { return "it is " + st.State, nil }
	j := projectHere(t, "{}\n", a)
	p := j.options.Project
	must.Do(t, Run(j, p.pipeline.Stages))
	for _, c := range []struct{ doubt, state, why string }{
		{"its source is another", Stale, "its source is another; it is stale"},
		{"", Done, "it is done"},
	} {
		doubt = c.doubt
		if list, err := p.States(0); err != nil || list[0].State != c.state || list[0].Why != c.why {
			t.Errorf("doubt %q: %+v, %v; want %s: %s", c.doubt, list, err, c.state, c.why)
		}
	}
}

func TestUnknownStageAndMistakesAreFoundBeforeTheRun(t *testing.T) {
	a := spec("a", "")
	a.Check = func(s *files) error { return fmt.Errorf("size is %d, want less", s.Size) }
	j := projectHere(t, "{}\n", a)
	p := j.options.Project
	err := Run(j, p.Stages())
	if !errors.As(err, new(*StagesError)) || err.Error() != "hgld.yaml: stage a: size is 3, want less" {
		t.Error(err)
	}
	_, err = p.Until("aa")
	if !errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), `did you mean "a"`) {
		t.Error(err)
	}
}

// A stage that hgld.yaml leaves out of its list has no state, does not run, and is not waited
// for.
func TestDisabledStagesAreSkipped(t *testing.T) {
	j := projectHere(t, "stages: [c, b]\n", spec("a", "source"), spec("b", "a.txt"), spec("c", "b.txt"))
	p := j.options.Project
	list, err := p.States(0)
	if err != nil || len(list) != 2 || list[0].Stage != "b" || list[1].Stage != "c" {
		t.Fatalf("states %+v, %v; want b and c", list, err)
	}
	if !slices.Equal(p.Off(), []string{"a"}) {
		t.Errorf("off: %q, want a", p.Off())
	}
	if next, lacks := Next(list); next == nil || next.Command != "b run" || !slices.Equal(lacks, []string{"a.txt"}) {
		t.Errorf("next %+v, which lacks %q; want b run, which lacks a.txt", next, lacks)
	}
	var missing *MissingInputError
	if err := Run(j, p.Stages()); !errors.As(err, &missing) || missing.Writer != "" || missing.Path != "a.txt" {
		t.Errorf("%v, %+v: no stage in use writes a.txt", err, missing)
	}
	testfile.Write(t, ".", "a.txt", "x")
	must.Do(t, Run(j, p.Stages()))
	if _, err := os.Stat("c.txt"); err != nil {
		t.Error(err)
	}
	until, err := p.Until("b")
	if err != nil || len(until) != 1 {
		t.Errorf("until b: %d stages, %v", len(until), err)
	}
	if _, err := p.Until("a"); !errors.As(err, new(*StageDisabledError)) ||
		!strings.Contains(err.Error(), "stage a is off") {
		t.Error(err)
	}
}

func TestListOfStagesIsRead(t *testing.T) {
	l := &Pipeline{Stages: []Stage{New(spec("shards", "x")).Stage}}
	for text, want := range map[string]string{
		"stages: shards\n":     "hgld.yaml:1: stages: expected a list of stages, such as [shards]",
		"stages: []\n":         "hgld.yaml:1: stages: expected a list of stages",
		"\nstages: [sharts]\n": `hgld.yaml:2: stages: unknown stage "sharts": did you mean "shards"?`,
		"stages:\n":            "",
	} {
		p, err := l.Parse(ProjectFile, text)
		if want == "" && (err != nil || len(p.Stages()) != 1) {
			t.Errorf("%q: %v, want all stages", text, err)
		}
		if want != "" && (!errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestTextOfANewProjectSetsItsValues(t *testing.T) {
	l := &Pipeline{Stages: []Stage{New(spec("a", "x")).Stage, New(spec("b", "y")).Stage}}
	text, err := l.Text(NewProject{Head: "hgld: 1\n", Stages: []string{"b"}, Values: map[string]string{"b.size": "7"}})
	must.Do(t, err)
	p := must.Get(l.Parse(ProjectFile, text))(t)
	own := l.Stages[1].Settings().(*files)
	if err := p.LoadFile("b", own); err != nil || own.Size != 7 || own.In != "y" {
		t.Errorf("%+v, %v\n%s", own, err, text)
	}
	if !slices.Equal(p.Off(), []string{"a"}) || strings.Contains(text, "a run") {
		t.Errorf("off %q\n%s", p.Off(), text)
	}
}
