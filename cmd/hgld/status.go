package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/settings"

	"github.com/urfave/cli/v2"
)

// needsProject is the error of a command that works on a project only.
func needsProject(p *project) error {
	if p.file != "" {
		return nil
	}
	return withHint(withCode(exitNoProject, fmt.Errorf("no %s here or in any folder above", projectFile)), "`hgld init my-project` starts a project; `hgld demo` shows one")
}

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "what is done, what is stale and why, and the next command",
		Description: "  hgld status                 one line per stage\n  hgld status --json          the same for a program",
		Flags:       commonFlags(),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			if err := needsProject(j.project); err != nil {
				return err
			}
			states, err := j.project.states(0)
			if err != nil {
				return err
			}
			next := j.project.nextStep(states)
			if j.json {
				for i := range states {
					states[i].Outputs, states[i].Missing = j.project.named(states[i].Outputs),
						j.project.named(states[i].Missing)
				}
				enc := json.NewEncoder(j.stdout)
				enc.SetIndent("", " ")
				return enc.Encode(map[string]any{"project": j.project.dir, "stages": states, "next": next})
			}
			for _, s := range states {
				j.print("%-8s %-8s %s\n", s.Stage, s.State, s.describe(j.project))
			}
			j.print("\nnext: %s\n", next)
			return nil
		},
	}
}

// states returns the state of every stage, in order, as a run with this limit
// takes it. What comes after a stale stage and reads its output is stale as well.
func (p *project) states(limit int) ([]state, error) {
	var list []state
	doubtful := map[string]string{} // output -> stage that has to run first
	for _, s := range sections() {
		settings := s.settings()
		if err := p.load(nil, s.name, settings); err != nil {
			return nil, err
		}
		st, err := s.stateOf(p, settings)
		if err != nil {
			return nil, err
		}
		in, out := s.files(settings)
		for _, path := range in {
			if first := writerOf(doubtful, path); first != "" && st.good(limit) {
				st.State, st.Why = "stale", first+" comes before it and is not done"
			}
		}
		if c, is := settings.(*clusterSettings); is && st.good(limit) {
			why, err := c.otherVectors(p, list)
			if err != nil {
				return nil, err
			}
			if why != "" {
				st.State, st.Why = "stale", why
			}
		}
		if err := p.sayOfLogs(&st, settings); err != nil {
			return nil, err
		}
		if !st.good(limit) {
			for _, path := range out {
				doubtful[path] = s.name
			}
		}
		list = append(list, st)
	}
	return list, nil
}

// sayOfLogs adds to the state of stages 2 and 3 what becomes of logs of edits that
// are of another draft.
func (p *project) sayOfLogs(st *state, settings any) (err error) {
	var more string
	switch s := settings.(type) {
	case *clusterSettings:
		more, err = s.ofCurated(p, st.State == "stale")
	case *curateSettings:
		more, err = s.ofOtherDraft()
	}
	if more != "" {
		st.Why = strings.TrimPrefix(st.Why+"; "+more, "; ")
	}
	return err
}

// writerOf is the stage that writes path or a folder around it; "" if none does.
func writerOf(outputs map[string]string, path string) string {
	for _, out := range slices.Sorted(maps.Keys(outputs)) {
		if rel, err := filepath.Rel(out, path); err == nil && path != "" && filepath.IsLocal(rel) {
			return outputs[out]
		}
	}
	return ""
}

func (s state) describe(p *project) string {
	switch {
	case s.Why != "":
		return s.Why
	case s.State == "done":
		return strings.Join(p.named(s.Outputs), ", ")
	case len(s.Missing) > 0:
		return "waits for " + strings.Join(p.named(s.Missing), ", ")
	}
	return "ready"
}

// typed is a command as a user types it for this project.
func (p *project) typed(command string) string {
	if p.asked != "" {
		command += " -C " + p.asked
	}
	return "hgld " + command
}

// nextStep is the command that a user types next.
func (p *project) nextStep(states []state) string {
	for _, s := range states {
		if s.State == "done" {
			continue
		}
		if len(s.Missing) > 0 && !writtenBy(states, s.Missing) {
			return fmt.Sprintf("provide %s, then %s (or hgld %s --help)", strings.Join(p.named(s.Missing), ", "),
				p.typed(s.Command), s.Command)
		}
		return p.typed(s.Command)
	}
	return "nothing: everything is done"
}

// writtenBy reports whether all paths are outputs of some stage.
func writtenBy(states []state, paths []string) bool {
	for _, path := range paths {
		if !slices.ContainsFunc(states, func(s state) bool { return slices.Contains(s.Outputs, path) }) {
			return false
		}
	}
	return true
}

// another says how a file or folder that is not there is named instead.
func (s stage) another(f settings.Field, path string) string {
	if m, err := knownModels(); err == nil && f.Flag() == "weights" &&
		slices.ContainsFunc(m, func(k knownModel) bool { return k.Name == path }) {
		return "a file of weights is wanted: hgld models show " + path + " says where they are published"
	}
	if len(f.Path) > 1 {
		return fmt.Sprintf("name another one: -o %s=…", f.Key())
	}
	return fmt.Sprintf("name another one: --%s …", f.Flag())
}

// missingInput turns the absence of a stage's input into an error that says
// which command writes it.
func (s stage) missingInput(j *job, ptr any) error {
	in, _ := s.files(ptr)
	for _, path := range missing(in) {
		err := fmt.Errorf("%s: %s does not exist", s.command, path)
		for _, other := range sections() {
			o := other.settings()
			if j.project.load(nil, other.name, o) != nil {
				continue
			}
			if _, out := other.files(o); slices.Contains(out, path) {
				return withHint(err, "`%s` writes it", j.project.typed(other.command))
			}
		}
		for _, f := range settings.Fields(ptr) {
			if f.IsInput() && settings.Text(f.Value) == path {
				return withHint(err, "%s", s.another(f, path))
			}
		}
		return withHint(err, "name another file: hgld %s --help", s.command)
	}
	return nil
}
