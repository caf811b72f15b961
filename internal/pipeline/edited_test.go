package pipeline

import (
	"errors"
	"os"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
)

// edited are the settings of a stage that writes a file which people correct.
type edited struct {
	Text string `yaml:"text"`
	Out  string `yaml:"out" path:"out" kind:"a list"`
}

// editedStage makes a project with such a stage, whose runs end with *end after they have written the file, or before
// that if the text is "".
func editedStage(t *testing.T, end *error) (*told, Stage, func(text string) error) {
	t.Helper()
	j := projectHere(t, "{}\n")
	l := j.options.Project.pipeline
	l.Kinds = map[string]Kind{"a list": {ByHand: true, Ours: func(string) (bool, error) { return true, nil }}}
	l.Stages = []Stage{New(Spec[edited]{Name: "a", Command: "a run", Defaults: edited{Out: "a.txt"},
		Files: func(s *edited) (in, out []string) { return nil, []string{s.Out} },
		Run: func(_ Job, s *edited) error {
			if s.Text == "" {
				return *end
			}
			return errors.Join(os.WriteFile(s.Out, []byte(s.Text), 0o644), *end)
		}}).Stage}
	j.options.Project = open(t, l, "")
	return j, l.Stages[0], func(text string) error { return l.Stages[0].Execute(j, &edited{text, "a.txt"}) }
}

func textOf(t *testing.T) string {
	t.Helper()
	text := must.Get(os.ReadFile("a.txt"))(t)
	return string(text)
}

func TestAStageKeepsAFileThatWasChangedByHand(t *testing.T) {
	var none error
	j, stage, execute := editedStage(t, &none)
	for _, text := range []string{"first", "second"} {
		if err := execute(text); err != nil || textOf(t) != text {
			t.Fatalf("%v, %q", err, textOf(t))
		}
	}
	testfile.Write(t, ".", "a.txt", "corrected")
	var e *OutputError
	if err := execute("third"); !errors.As(err, &e) || !e.Edited || !e.Replaceable || textOf(t) != "corrected" {
		t.Fatalf("%v, %q", err, textOf(t))
	}
	// Accepted by a reader, the file is still not the stage's own.
	c, err := j.options.Project.changeOf("a.txt")
	if err != nil || c == nil || c.accept(j.options.Project) != nil {
		t.Fatal(c, err)
	}
	if err := execute("third"); !errors.As(err, &e) || textOf(t) != "corrected" {
		t.Fatalf("%v, %q", err, textOf(t))
	}
	j.options.Replace = true
	if err := execute("third"); err != nil || textOf(t) != "third" {
		t.Fatalf("%v, %q", err, textOf(t))
	}
	j.options.Replace = false
	if err := execute("fourth"); err != nil || textOf(t) != "fourth" {
		t.Fatalf("%v, %q", err, textOf(t))
	}
	if was, err := stage.Stamp(j.options.Project); err != nil || was.Begun {
		t.Errorf("%+v, %v", was, err)
	}
}

// A run that ended after it had written its file and before its stamp leaves a file that nobody edited.
func TestTheFileOfAKilledRunIsNotTakenForAnEdit(t *testing.T) {
	end := error(nil)
	_, _, execute := editedStage(t, &end)
	must.Do(t, execute("first"))
	end = errors.New("killed")
	if err := execute("half"); !errors.Is(err, end) {
		t.Fatal(err)
	}
	end = nil
	if err := execute("second"); err != nil || textOf(t) != "second" {
		t.Errorf("%v, %q", err, textOf(t))
	}
	// A failure that wrote nothing leaves the protection as it was.
	end = errors.New("failed")
	if err := execute(""); !errors.Is(err, end) {
		t.Fatal(err)
	}
	testfile.Write(t, ".", "a.txt", "corrected")
	if err := execute("third"); !errors.As(err, new(*OutputError)) || textOf(t) != "corrected" {
		t.Errorf("%v, %q", err, textOf(t))
	}
}

// A run that writes elsewhere does not touch the stamp, which may be in a folder that nobody can write. It says nothing
// of the project's own file.
func TestARunThatWritesElsewhereLeavesTheStamp(t *testing.T) {
	var end error
	j, stage, execute := editedStage(t, &end)
	must.Do(t, execute("first"))
	testfile.Write(t, ".", "elsewhere.txt", "earlier")
	end = errors.New("killed")
	if err := stage.Execute(j, &edited{"half", "elsewhere.txt"}); !errors.Is(err, end) {
		t.Fatal(err)
	}
	if was, err := stage.Stamp(j.options.Project); err != nil || was.Begun {
		t.Errorf("%+v, %v", was, err)
	}
}

// A file that a reader has accepted is an edit, even if a run was killed before.
func TestAnAcceptedFileIsKeptAfterAKill(t *testing.T) {
	var end error
	j, _, execute := editedStage(t, &end)
	must.Do(t, execute("first"))
	end = errors.New("killed")
	if err := execute("half"); !errors.Is(err, end) {
		t.Fatal(err)
	}
	testfile.Write(t, ".", "a.txt", "corrected")
	c, err := j.options.Project.changeOf("a.txt")
	if err != nil || c == nil || c.accept(j.options.Project) != nil {
		t.Fatal(c, err)
	}
	end = nil
	if err := execute("third"); !errors.As(err, new(*OutputError)) || textOf(t) != "corrected" {
		t.Errorf("%v, %q", err, textOf(t))
	}
}

// optional are the settings of a stage that writes a second file if a flag says so.
type optional struct {
	Both bool   `yaml:"both"`
	Out  string `yaml:"out" path:"out" kind:"a list"`
	More string `yaml:"more" path:"out" kind:"a list"`
}

// A result at the places that the project names is the project's, whether or not a flag adds a file.
func TestAFlagThatAddsAnOutputDoesNotMakeTheResultAnother(t *testing.T) {
	j := projectHere(t, "{}\n")
	l := j.options.Project.pipeline
	l.Kinds = map[string]Kind{"a list": {Ours: func(string) (bool, error) { return true, nil }}}
	l.Stages = []Stage{New(Spec[optional]{Name: "a", Command: "a run", Defaults: optional{Out: "a.txt", More: "b.txt"},
		Files: func(s *optional) (in, out []string) {
			if s.Both {
				return nil, []string{s.Out, s.More}
			}
			return nil, []string{s.Out}
		},
		Run: func(_ Job, s *optional) error {
			return errors.Join(os.WriteFile(s.Out, nil, 0o644), os.WriteFile(s.More, nil, 0o644))
		}}).Stage}
	j.options.Project = open(t, l, "")
	stage := l.Stages[0]
	must.Do(t, stage.Execute(j, &optional{true, "a.txt", "c.txt"}))
	if _, err := stage.Stamp(j.options.Project); !IsMissing(err) {
		t.Errorf("of a result elsewhere: %v", err)
	}
	for _, both := range []bool{true, false} {
		must.Do(t, stage.Execute(j, &optional{both, "a.txt", "b.txt"}))
		if was, err := stage.Stamp(j.options.Project); err != nil || len(was.Out) != map[bool]int{true: 2, false: 1}[both] {
			t.Errorf("both %v: %v, %v", both, was.Out, err)
		}
	}
}
