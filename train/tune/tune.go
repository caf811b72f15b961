// Package tune searches the settings of a training by successive halving (Jamieson and Talwalkar,
// "Non-stochastic Best Arm Identification and Hyperparameter Optimization", AISTATS 2016). It
// trains many trials for a few steps, continues the best share of them for more, and trains one
// to the end.
//
// The search is a function of its plan: the same plan gives the same trials. Its file, written
// after every measurement, records which are measured, so that a stopped search can continue.
package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/internal/texttable"
)

// File is the name of a search's file in its folder.
const File = "tune.json"

// Version is the format version of File.
const Version = 1

// Plan describes the search and its length.
type Plan struct {
	// Over lists the keys to search, with their values.
	Over []Space `json:"over"`

	// Trials is the number of trials.
	Trials int `json:"trials"`

	// Steps is the length of the longest runs.
	Steps int `json:"steps"`

	// Eta is the factor between rounds: 1/Eta of the trials continue, for Eta times the steps.
	Eta int `json:"eta"`

	// Seed chooses the values.
	Seed uint64 `json:"seed"`

	// Metric is the metric on the held-out classes by which trials are compared; greater is
	// better.
	Metric string `json:"metric"`

	// Settings identifies the other settings of the trials, so that a search does not continue
	// with different ones.
	Settings string `json:"settings"`
}

// Trial is one choice of values.
type Trial struct {
	// Name is the name of its run directory in the folder of the search.
	Name string `json:"name"`

	// Values are the values of the plan's keys, in order.
	Values []string `json:"values"`

	// Results holds the metric in percent after each round, nil for a run whose values were not
	// finite.
	Results []*float64 `json:"results,omitempty"`
}

// Search is a plan with its trials.
type Search struct {
	// Version is the format version.
	Version int `json:"version"`

	// Plan is the plan of the search.
	Plan Plan `json:"plan"`

	// Rounds holds the steps of each round.
	Rounds []int `json:"rounds"`

	// Trials are the trials in the order in which they were drawn.
	Trials []*Trial `json:"trials"`

	dir string
}

// Check returns an error if a plan cannot be run.
func (p *Plan) Check() error {
	switch {
	case len(p.Over) == 0:
		return errors.New("no key to search, want at least one, such as optim.lr=log:1e-5..1e-2")
	case p.Trials < 2:
		return fmt.Errorf("%d trials, want at least 2 to compare", p.Trials)
	case p.Eta < 2:
		return fmt.Errorf("eta is %d, want at least 2, because 1 of eta trials continues", p.Eta)
	case p.Steps < 1:
		return fmt.Errorf("the runs have %d steps, want at least 1", p.Steps)
	}
	for i, a := range p.Over {
		for _, b := range p.Over[:i] {
			if a.Key == b.Key {
				return fmt.Errorf("%s is searched twice, want each key once", a.Key)
			}
		}
	}
	return nil
}

// rounds returns the steps of each round of n trials. The last has Steps, and each earlier one
// 1/Eta of the next, as long as a trial is dropped.
func (p *Plan) rounds(n int) []int {
	list := []int{p.Steps}
	for steps := p.Steps; n >= p.Eta && steps >= p.Eta; n /= p.Eta {
		steps /= p.Eta
		list = append(list, steps)
	}
	slices.Reverse(list)
	return list
}

// Open reads the search in dir, or begins a new one. It fails if the existing search has another
// plan, and with a [FormatError] if it is damaged.
func Open(dir string, p Plan) (*Search, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	text, err := regular.ReadFile(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return begin(dir, p), nil
	}
	if err != nil {
		return nil, err
	}
	s := &Search{dir: dir}
	path := filepath.Join(dir, File)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, &FormatError{path, err}
	}
	if s.Version != Version {
		return nil, fmt.Errorf("%s has version %d; this hgld reads version %d", path, s.Version, Version)
	}
	if err := seal.CheckJSON(text); err != nil {
		return nil, &FormatError{path, err}
	}
	if what := difference(s.Plan, p); what != "" {
		return nil, &OtherPlanError{path, what}
	}
	if err := s.check(begin(dir, p)); err != nil {
		return nil, &FormatError{path, err}
	}
	return s, nil
}

// check compares a search that was read with the one that its plan begins, and checks that a trial
// has results of the rounds that it took part in alone.
func (s *Search) check(begun *Search) error {
	same := func(a, b *Trial) bool { return a != nil && a.Name == b.Name && slices.Equal(a.Values, b.Values) }
	if !slices.Equal(s.Rounds, begun.Rounds) || !slices.EqualFunc(s.Trials, begun.Trials, same) {
		return errors.New("its trials are not those of its plan")
	}
	for _, t := range s.Trials {
		if len(t.Results) > len(s.Rounds) {
			return fmt.Errorf("%s has %d results, but there are %d rounds", t.Name, len(t.Results), len(s.Rounds))
		}
	}
	next, round := s.Next()
	for _, t := range s.Trials {
		took := 0
		for took < len(s.Rounds) && (took <= round || next == nil) && slices.Contains(s.in(took), t) {
			took++
		}
		if len(t.Results) > took {
			return fmt.Errorf("%s has %d results, but took part in %d rounds", t.Name, len(t.Results), took)
		}
	}
	return nil
}

// FormatError says that the file of a search is damaged.
type FormatError struct {
	Path string // of the file
	Err  error  // the cause
}

// Error names the file.
func (e *FormatError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// OtherPlanError says that a folder holds a search with another plan.
type OtherPlanError struct {
	// Path is the file of the search.
	Path string

	// What names a part of the plan that differs.
	What string
}

// Error names the file and the part.
func (e *OtherPlanError) Error() string {
	return fmt.Sprintf("%s holds a search with different %s: use another folder", e.Path, e.What)
}

// difference names the first field in which plans differ, or "".
func difference(a, b Plan) string {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Plan]()) {
		x, y := reflect.ValueOf(a).FieldByIndex(f.Index), reflect.ValueOf(b).FieldByIndex(f.Index)
		if !reflect.DeepEqual(x.Interface(), y.Interface()) {
			return f.Tag.Get("json")
		}
	}
	return ""
}

func begin(dir string, p Plan) *Search {
	drawn := p.draw()
	s := &Search{Version: Version, Plan: p, Rounds: p.rounds(len(drawn)), dir: dir}
	width := len(strconv.Itoa(len(drawn)))
	for i, values := range drawn {
		s.Trials = append(s.Trials, &Trial{Name: fmt.Sprintf("trial-%0*d", width, i+1), Values: values})
	}
	return s
}

// Next returns the trial to train next and its round, or nil when the search is complete.
func (s *Search) Next() (*Trial, int) {
	for round := range s.Rounds {
		for _, t := range s.in(round) {
			if len(t.Results) <= round {
				return t, round
			}
		}
	}
	return nil, 0
}

// in returns the trials of a round: all in the first round, and then the best of the previous
// one.
func (s *Search) in(round int) []*Trial {
	if round == 0 {
		return s.Trials
	}
	list := slices.Clone(s.in(round - 1))
	slices.SortStableFunc(list, func(a, b *Trial) int { return better(a, b, round-1) })
	list = list[:max(1, len(list)/s.Plan.Eta)]
	return slices.DeleteFunc(list, func(t *Trial) bool { return t.at(round-1) == nil })
}

// at returns the result of a round, or nil if there is none.
func (t *Trial) at(round int) *float64 {
	if round >= len(t.Results) {
		return nil
	}
	return t.Results[round]
}

// better orders greater results first, and trials without a result last.
func better(a, b *Trial, round int) int {
	x, y := a.at(round), b.at(round)
	switch {
	case x == nil && y == nil:
		return 0
	case y == nil || x != nil && *x > *y:
		return -1
	case x == nil || *x < *y:
		return 1
	}
	return 0
}

// Measured records the result of a trial's next round, NaN if its values were not finite, and
// writes the file.
func (s *Search) Measured(t *Trial, percent float64) error {
	var value *float64
	if !math.IsNaN(percent) && !math.IsInf(percent, 0) {
		value = &percent
	}
	t.Results = append(t.Results, value)
	return s.write()
}

func (s *Search) write() error {
	text, err := seal.MarshalJSON(s)
	if err != nil {
		return err
	}
	if err := atomicfile.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(s.dir, File), text)
}

// Dir returns the run directory of a trial.
func (s *Search) Dir(t *Trial) string { return filepath.Join(s.dir, t.Name) }

// Assignments returns the settings of a trial as key=value.
func (s *Search) Assignments(t *Trial) []string {
	list := make([]string, len(t.Values))
	for i, v := range t.Values {
		list[i] = s.Plan.Over[i].Key + "=" + v
	}
	return list
}

// Ranked returns the trials, best first. Trials of later rounds precede those that were dropped.
func (s *Search) Ranked() []*Trial {
	list := slices.Clone(s.Trials)
	slices.SortStableFunc(list, func(a, b *Trial) int {
		if len(a.Results) != len(b.Results) {
			return len(b.Results) - len(a.Results)
		}
		return better(a, b, len(a.Results)-1)
	})
	return list
}

// Table returns the trials, best first, with their values and results.
func (s *Search) Table() texttable.Table {
	t := texttable.Table{Head: []string{"trial"},
		Note: s.Plan.Metric + " of the held-out classes in percent, after the steps of each round"}
	for _, o := range s.Plan.Over {
		t.Head = append(t.Head, o.Key)
	}
	for _, steps := range s.Rounds {
		t.Head = append(t.Head, fmt.Sprintf("%d steps", steps))
	}
	for _, trial := range s.Ranked() {
		row := append([]string{trial.Name}, trial.Values...)
		for round := range s.Rounds {
			cell := ""
			if v := trial.at(round); v != nil {
				cell = fmt.Sprintf("%.2f", *v)
			} else if round < len(trial.Results) {
				cell = "not finite"
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
