package tune

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func space(t *testing.T, text string) Space {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func plan(t *testing.T, trials, steps int, over ...string) Plan {
	p := Plan{Trials: trials, Steps: steps, Eta: 3, Metric: "H-AP"}
	for _, o := range over {
		p.Over = append(p.Over, space(t, o))
	}
	return p
}

func TestMalformedSpacesAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		"optim.lr": "want KEY=", "=1,2": "want KEY=", "a=": "want KEY=", "a=1,,2": "a value is empty",
		"a=log:0..1": "above 0", "a=2..1": "the smaller number first", "a=1..1": "the smaller number first",
		"a=int:1.5..3": "whole numbers", "a=log:1,2": "want KEY=", "a=x..y": "want KEY=", "a=1..Inf": "want KEY=",
		"a=NaN..1": "the smaller number first",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Every ninth of the range is used once, and so is every value of a list three times.
func TestTrialsCoverTheirRangesEvenly(t *testing.T) {
	p := plan(t, 9, 100, "optim.lr=log:1e-5..1e-2", "loss.settings.tau=0.01,0.05,0.1")
	parts, taus := map[int]int{}, map[string]int{}
	for _, trial := range p.draw() {
		x, err := strconv.ParseFloat(trial[0], 64)
		if err != nil || x < 1e-5 || x > 1e-2 {
			t.Fatalf("%q: %v", trial[0], err)
		}
		parts[int(math.Log10(x/1e-5)/3*9*0.9999)]++
		taus[trial[1]]++
	}
	if len(parts) < 8 || taus["0.01"] != 3 || taus["0.05"] != 3 { // a value that is rounded may cross a border
		t.Errorf("parts %v, values %v", parts, taus)
	}
	if again := p.draw(); !reflect.DeepEqual(again, p.draw()) {
		t.Error("the same seed draws other trials")
	}
	other := p
	other.Seed = 1
	if reflect.DeepEqual(p.draw(), other.draw()) {
		t.Error("another seed draws the same trials")
	}
}

func TestSmallListsAreAGrid(t *testing.T) {
	p := plan(t, 9, 100, "a=1,2", "b=x,y,z")
	want := "[[1 x] [1 y] [1 z] [2 x] [2 y] [2 z]]"
	if got := fmt.Sprint(p.draw()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRoundsDivideStepsAndTrials(t *testing.T) {
	for _, c := range []struct {
		trials, steps int
		want          string
	}{{9, 100, "[11 33 100]"}, {2, 100, "[100]"}, {3, 100, "[33 100]"}, {27, 9, "[1 3 9]"}, {8, 1, "[1]"}} {
		p := plan(t, c.trials, c.steps, "a=0..1")
		if got := fmt.Sprint(p.rounds(c.trials)); got != c.want {
			t.Errorf("%d trials of %d steps: %s, want %s", c.trials, c.steps, got, c.want)
		}
	}
}

// train plays a search to its end: the result is the value of the key, so that the largest wins.
// It returns what was trained. With reopen it reads the file anew after every training.
func train(t *testing.T, dir string, p Plan, reopen bool) (*Search, []string) {
	t.Helper()
	var log []string
	s, err := Open(dir, p)
	for err == nil {
		trial, round := s.Next()
		if trial == nil {
			return s, log
		}
		log = append(log, fmt.Sprintf("%s:%d", trial.Name, s.Rounds[round]))
		x, parseErr := strconv.ParseFloat(trial.Values[0], 64)
		if err = errors.Join(parseErr, s.Measured(trial, x)); reopen && err == nil {
			s, err = Open(dir, p)
		}
	}
	t.Fatal(err)
	return nil, nil
}

func TestBestThirdGoesOn(t *testing.T) {
	p := plan(t, 9, 100, "a=0..1")
	s, log := train(t, t.TempDir(), p, false)
	if len(log) != 9+3+1 {
		t.Errorf("%d trainings, want 13: %v", len(log), log)
	}
	best := s.Ranked()[0]
	for _, trial := range s.Trials {
		if trial.Values[0] > best.Values[0] {
			t.Errorf("%s is best, and %s is larger", best.Values[0], trial.Values[0])
		}
	}
	if want := s.Name(best) + ":100"; log[len(log)-1] != want {
		t.Errorf("the last training was %s, want %s", log[len(log)-1], want)
	}
}

// Name is for the test above.
func (s *Search) Name(t *Trial) string { return filepath.Base(s.Dir(t)) }

// A search that is opened anew after every training trains the same, nothing twice.
func TestStoppedSearchGoesOn(t *testing.T) {
	p := plan(t, 9, 100, "a=0..1", "b=x,y")
	_, straight := train(t, t.TempDir(), p, false)
	dir := t.TempDir()
	s, reopened := train(t, dir, p, true)
	if !slices.Equal(straight, reopened) {
		t.Errorf("%v, want %v", reopened, straight)
	}
	if again, err := Open(dir, p); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("%v: the file does not hold the search", err)
	}
}

func TestOtherPlansAreRefused(t *testing.T) {
	dir := t.TempDir()
	p := plan(t, 9, 100, "a=0..1")
	s, err := Open(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Measured(s.Trials[0], 1); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Plan){
		"trials": func(p *Plan) { p.Trials = 8 }, "steps": func(p *Plan) { p.Steps++ },
		"metric": func(p *Plan) { p.Metric = "ASI" },
		"over":   func(p *Plan) { p.Over[0].High = 2 }, "settings": func(p *Plan) { p.Settings = "x" },
	} {
		other := plan(t, 9, 100, "a=0..1")
		change(&other)
		var wrong *OtherPlanError
		if _, err := Open(dir, other); !errors.As(err, &wrong) || wrong.What != want {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, File), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, p); err == nil || !strings.Contains(err.Error(), File) {
		t.Errorf("a damaged file: %v", err)
	}
}

// A file whose trials are not those of its plan is refused, even with a right checksum: a name could lead out of
// the folder.
func TestOtherTrialsAreRefused(t *testing.T) {
	dir, p := t.TempDir(), plan(t, 6, 9, "a=1,2,3", "b=x,y")
	value := 99.0
	for name, change := range map[string]func(*Search){
		"name":        func(s *Search) { s.Trials[0].Name = "../../elsewhere" },
		"null":        func(s *Search) { s.Trials = []*Trial{nil} },
		"one null":    func(s *Search) { s.Trials[3] = nil },
		"none":        func(s *Search) { s.Trials = nil },
		"values":      func(s *Search) { s.Trials[0].Values = []string{"1", "x", "1"} },
		"no rounds":   func(s *Search) { s.Rounds = nil },
		"more rounds": func(s *Search) { s.Trials[0].Results = []*float64{&value, &value, &value} },
		"not its turn": func(s *Search) {
			for _, trial := range s.Trials {
				trial.Results = []*float64{&value, &value}
			}
		},
		"too early": func(s *Search) { s.Trials[0].Results = []*float64{&value, &value} },
	} {
		s := begin(dir, p)
		change(s)
		if err := s.write(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, p); !errors.As(err, new(*FormatError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A trial that did not stay finite does not go on, and is said to be so.
func TestTrialsThatDivergeAreLeftOut(t *testing.T) {
	s, err := Open(t.TempDir(), plan(t, 3, 9, "a=1,2,3"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{math.NaN(), 5, math.Inf(1)} {
		trial, _ := s.Next()
		if err := s.Measured(trial, v); err != nil {
			t.Fatal(err)
		}
	}
	if trial, round := s.Next(); trial != s.Trials[1] || round != 1 {
		t.Errorf("%v in round %d goes on, want the second", trial, round)
	}
	var out bytes.Buffer
	if err := s.Table().Write(&out, "csv"); err != nil ||
		!strings.HasPrefix(out.String(), "trial,a,3 steps,9 steps\ntrial-2,2,5.00,\n") ||
		strings.Count(out.String(), "not finite") != 2 {
		t.Errorf("%v\n%s", err, out.String())
	}
	for range 2 {
		s.Trials[1].Results = []*float64{nil}
	}
	if trial, _ := s.Next(); trial != nil {
		t.Errorf("nobody is left, and %v goes on", trial)
	}
}
