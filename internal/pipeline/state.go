package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/settings"
)

// The values of [State.State].
const (
	Done    = "done"    // the result is good
	Stale   = "stale"   // inputs, settings or outputs changed since, or some items failed
	Absent  = "missing" // there is no result
	Trial   = "trial"   // the result is good but covers only the first items
	Unknown = "unknown" // inputs or outputs cannot be looked at, as those of a store that does not answer
)

// State is the state of a stage as `hgld status` shows it.
type State struct {
	Stage   string   `json:"stage"`                    // name of the stage
	Command string   `json:"command"`                  // command that runs it
	State   string   `json:"state"`                    // done, stale, missing, trial or unknown
	Why     string   `json:"why,omitempty"`            // reason, or ""
	Err     error    `json:"-"`                        // why it is unknown
	Limit   int      `json:"limit,omitempty"`          // number of items of a trial
	Outputs []string `json:"outputs,omitempty"`        // paths that the stage writes
	Missing []string `json:"missing_inputs,omitempty"` // inputs that do not exist
	Given   []Given  `json:"given,omitempty"`          // settings recalled from an earlier command
}

// Good reports whether a run with this limit would skip the stage.
func (st State) Good(limit int) bool {
	return st.State == Done || st.State == Trial && st.Limit == limit
}

func (st State) unknown(err error) State {
	st.State, st.Why, st.Err = Unknown, err.Error(), fmt.Errorf("%s: %w", st.Command, err)
	return st
}

// Describe returns the reason for the state, or a description of the result.
func (st State) Describe(p *Project) string {
	switch {
	case st.Why != "":
		return st.Why
	case st.State == Done:
		return strings.Join(p.Named(st.Outputs), ", ")
	case len(st.Missing) > 0:
		return "waits for " + strings.Join(p.Named(st.Missing), ", ")
	}
	return "ready"
}

// States returns the states of the stages in use in order, for a run with this limit. A stage that
// reads the output of a stage that is not done is stale as well. A stage of which files cannot be looked at
// is unknown, and the others have their states.
func (p *Project) States(limit int) ([]State, error) {
	var list []State
	doubtful := map[string]string{} // output -> stage that must run first
	for _, s := range p.Stages() {
		own := s.settings()
		if err := p.Load(nil, s.Name, own); err != nil {
			return nil, err
		}
		st, err := s.State(p, own)
		if err != nil {
			return nil, err
		}
		in, out, err := s.allFiles(own)
		if err != nil {
			return nil, err
		}
		for _, path := range in {
			if first := writerOf(doubtful, path); first != "" && st.Good(limit) {
				st.State, st.Why = Stale, first+" comes first and is not done"
			}
		}
		if st.Good(limit) {
			why, err := s.doubt(p, own, list)
			if err != nil {
				return nil, err
			}
			if why != "" {
				st.State, st.Why = Stale, why
			}
		}
		if st.Err == nil {
			more, err := s.note(p, own, st)
			if err != nil {
				return nil, err
			}
			if more != "" {
				st.Why = strings.TrimPrefix(st.Why+"; "+more, "; ")
			}
		}
		if !st.Good(limit) {
			for _, path := range out {
				doubtful[path] = s.Name
			}
		}
		list = append(list, st)
	}
	return list, nil
}

// AsNamed returns states whose paths are those that a user of the project knows.
func (p *Project) AsNamed(states []State) []State {
	list := slices.Clone(states)
	for i := range list {
		list[i].Outputs, list[i].Missing = p.Named(list[i].Outputs), p.Named(list[i].Missing)
	}
	return list
}

// Planned is the state of a stage, and whether a run would execute it.
type Planned struct {
	State
	Run bool `json:"run"` // the result is not good
}

// Plan returns the states of the first stages in use, and which of them a run with this limit
// would execute.
func (p *Project) Plan(limit, first int) ([]Planned, error) {
	states, err := p.States(limit)
	if err != nil {
		return nil, err
	}
	var plan []Planned
	for _, st := range states[:first] {
		if st.Err != nil {
			return nil, st.Err
		}
		plan = append(plan, Planned{st, !st.Good(limit)})
	}
	return plan, nil
}

// writerOf returns the stage that writes path or one of its parent folders, or "".
func writerOf(outputs map[string]string, path string) string {
	for _, out := range slices.Sorted(maps.Keys(outputs)) {
		if rel, err := filepath.Rel(out, path); err == nil && path != "" && filepath.IsLocal(rel) {
			return outputs[out]
		}
	}
	return ""
}

// AllDone reports whether the named stages are in use and done.
func AllDone(states []State, stages ...string) bool {
	for _, name := range stages {
		if !slices.ContainsFunc(states, func(s State) bool { return s.Stage == name && s.State == Done }) {
			return false
		}
	}
	return true
}

// Next returns the first stage that is not done, or nil if all are. lacks are its missing inputs
// if the user has to provide one, since no stage writes it.
func Next(states []State) (next *State, lacks []string) {
	i := slices.IndexFunc(states, func(s State) bool { return s.State != Done })
	if i < 0 {
		return nil, nil
	}
	if missing := states[i].Missing; !writtenBy(states, missing) {
		lacks = missing
	}
	return &states[i], lacks
}

// writtenBy reports for each path whether some stage writes it.
func writtenBy(states []State, paths []string) bool {
	for _, path := range paths {
		if !slices.ContainsFunc(states, func(s State) bool { return slices.Contains(s.Outputs, path) }) {
			return false
		}
	}
	return true
}

// State compares the stage's stamp with the current files and settings. If the inputs do not
// exist but the outputs do, the stage is done, since the user supplied them.
func (s Stage) State(p *Project, own any) (State, error) {
	in, out, err := s.allFiles(own)
	if err != nil {
		return State{}, err
	}
	st := State{Stage: s.Name, Command: s.Command, State: Absent, Outputs: out, Missing: Missing(in)}
	was, err := s.Stamp(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if len(st.Missing) > 0 && len(Missing(out)) == 0 {
			st.State, st.Why = Done, "made elsewhere"
		}
		return st, nil
	case errors.Is(err, ErrOtherStamp) || errors.As(err, new(*StampError)):
		st.State, st.Why = Stale, err.Error()
		return st, nil
	case err != nil:
		return st, err
	}
	for path := range was.In { // the result may come from other files than the settings name
		if !filepath.IsAbs(path) {
			path = p.Join(filepath.FromSlash(path))
		}
		if !slices.Contains(in, path) {
			in = append(in, path)
			if err := p.checkStore("an input of its last run", path); err != nil {
				return st.unknown(err), nil
			}
		}
	}
	if err := p.CheckStores(s.Name, own); err != nil {
		return st.unknown(err), nil
	}
	now, err := p.engine().Fingerprint(in)
	if err != nil {
		return st.unknown(err), nil
	}
	wrote, err := p.engine().Fingerprint(out)
	if err != nil {
		return st.unknown(err), nil
	}
	text, err := p.portable(own)
	if err != nil {
		return st, err
	}
	st.Limit, st.Given = was.Limit, p.recalled(s.Name, was, own)
	if was.Settings, err = s.completed(was.Settings); err != nil {
		return st, err
	}
	st.State, st.Why = was.compare(p.relative(now), p.relative(wrote), text, p.otherWriters(s))
	return st, nil
}

// otherWriters returns a function that names another stage whose stamp has a file with
// the given fingerprint among its outputs, "" for none.
func (p *Project) otherWriters(s Stage) func(path, print string) string {
	return func(path, print string) string {
		for _, other := range p.Stages() {
			if other.Name == s.Name {
				continue
			}
			if was, err := other.Stamp(p); err == nil && was.Out[path] == print {
				return other.Name
			}
		}
		return ""
	}
}

// compare returns the state of a recorded result and the reason if it is not good. in and out
// are the current fingerprints, text the current settings. writer names the stage that has written
// an output since, "" if it was none of hgld.
func (was Stamp) compare(in, out map[string]string, text string, writer func(path, print string) string) (state,
	why string) {
	for _, path := range slices.Sorted(maps.Keys(out)) {
		if out[path] == "" {
			return Absent, path + " is gone"
		}
		if was.Out[path] != out[path] {
			if stage := writer(path, out[path]); stage != "" {
				return Stale, path + " was written again by the stage " + stage
			}
			return Stale, path + difference(out[path], " was changed by another program")
		}
	}
	if was.Settings != text {
		return Stale, "its settings changed: " + settings.Difference(was.Settings, text)
	}
	for _, path := range slices.Sorted(maps.Keys(was.In)) {
		switch {
		case was.In[path] == in[path]:
		case in[path] == "":
			return Stale, path + " is gone"
		default:
			return Stale, path + difference(in[path], " changed since")
		}
	}
	switch {
	case was.Partial:
		return Stale, "some items failed last time"
	case was.Limit > 0:
		return Trial, fmt.Sprintf("the first %d items only", was.Limit)
	}
	return Done, ""
}

// difference describes how a file differs from its stamp: the damage in its fingerprint if
// there is any, else otherwise.
func difference(now, otherwise string) string {
	if what, is := strings.CutPrefix(now, damaged); is {
		return ": " + what
	}
	return otherwise
}
