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

// What [State.State] may be.
const (
	Done   = "done"    // the result is good
	Stale  = "stale"   // inputs, outputs or settings changed since, or some items failed
	Absent = "missing" // there is no result
	Trial  = "trial"   // the result is good, but of the first items only
)

// State is what `hgld status` tells about a stage.
type State struct {
	Stage   string   `json:"stage"`                    // name of the stage
	Command string   `json:"command"`                  // what runs it
	State   string   `json:"state"`                    // done, stale, missing or trial
	Why     string   `json:"why,omitempty"`            // reason, "" if there is nothing to tell
	Limit   int      `json:"limit,omitempty"`          // items of a trial
	Outputs []string `json:"outputs,omitempty"`        // paths that the stage writes
	Missing []string `json:"missing_inputs,omitempty"` // paths that it reads and that do not exist
}

// Good reports whether a run with this limit leaves the stage as it is.
func (st State) Good(limit int) bool {
	return st.State == Done || st.State == Trial && st.Limit == limit
}

// Describe says why the stage is in its state, or what its result is.
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

// Heading says why the stage runs, and by which command.
func (st State) Heading(p *Project) string {
	return fmt.Sprintf("%-8s %s: %s -> %s", st.Stage, st.State, st.Describe(p), p.Typed(st.Command))
}

// States returns the state of every stage in order, as a run with this limit sees it. A
// stage that reads the output of a stage that is not done is stale as well.
func (p *Project) States(limit int) ([]State, error) {
	var list []State
	doubtful := map[string]string{} // output -> stage that has to run first
	for _, s := range p.engine().Stages {
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
				st.State, st.Why = Stale, first+" comes before it and is not done"
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
		more, err := s.note(p, own, st)
		if err != nil {
			return nil, err
		}
		if more != "" {
			st.Why = strings.TrimPrefix(st.Why+"; "+more, "; ")
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

// writerOf returns the stage that writes path or a folder around it, "" if none does.
func writerOf(outputs map[string]string, path string) string {
	for _, out := range slices.Sorted(maps.Keys(outputs)) {
		if rel, err := filepath.Rel(out, path); err == nil && path != "" && filepath.IsLocal(rel) {
			return outputs[out]
		}
	}
	return ""
}

// Next returns the command that a user types next.
func (p *Project) Next(states []State) string {
	for _, s := range states {
		if s.State == Done {
			continue
		}
		if len(s.Missing) > 0 && !writtenBy(states, s.Missing) {
			return fmt.Sprintf("provide %s, then %s (or hgld %s --help)", strings.Join(p.Named(s.Missing), ", "),
				p.Typed(s.Command), s.Command)
		}
		return p.Typed(s.Command)
	}
	return "nothing: everything is done"
}

// writtenBy reports whether each path is an output of some stage.
func writtenBy(states []State, paths []string) bool {
	for _, path := range paths {
		if !slices.ContainsFunc(states, func(s State) bool { return slices.Contains(s.Outputs, path) }) {
			return false
		}
	}
	return true
}

// State compares the stage's stamp with the files and settings of now. A stage whose
// inputs do not exist, but whose outputs do, is done: a user brought them.
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
	case errors.Is(err, ErrOtherStamp):
		st.State, st.Why = Stale, err.Error()
		return st, nil
	case err != nil:
		return st, err
	}
	for path := range was.In { // it may have been made from other files than the settings name
		if !filepath.IsAbs(path) {
			path = p.Join(filepath.FromSlash(path))
		}
		if !slices.Contains(in, path) {
			in = append(in, path)
		}
	}
	now, err := p.engine().Fingerprint(in)
	if err != nil {
		return st, fmt.Errorf("%s: %w", s.Command, err)
	}
	wrote, err := p.engine().Fingerprint(out)
	if err != nil {
		return st, fmt.Errorf("%s: %w", s.Command, err)
	}
	text, err := p.portable(own)
	if err != nil {
		return st, err
	}
	st.Limit = was.Limit
	if was.Settings, err = s.completed(was.Settings); err != nil {
		return st, err
	}
	st.State, st.Why = was.compare(p.relative(now), p.relative(wrote), text)
	return st, nil
}

// compare returns the state of a recorded result, and why it is not good. in and out are
// the fingerprints of now, text the settings.
func (was Stamp) compare(in, out map[string]string, text string) (state, why string) {
	for _, path := range slices.Sorted(maps.Keys(out)) {
		if out[path] == "" {
			return Absent, path + " is gone"
		}
		if was.Out[path] != out[path] {
			return Stale, path + difference(out[path], " was changed by something else")
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
		return Trial, fmt.Sprintf("made with --limit %d", was.Limit)
	}
	return Done, ""
}

// difference says how a file differs from what a stamp has of it: the damage that its
// fingerprint tells, or else the words of otherwise.
func difference(now, otherwise string) string {
	if what, is := strings.CutPrefix(now, damaged); is {
		return ": " + what
	}
	return otherwise
}
