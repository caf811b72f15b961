// Package pipeline is the engine of stages. A stage reads files, writes files and has
// settings, which stand under its name in hgld.yaml. The engine finds a project and loads the
// settings of its stages. It records what each stage read and wrote, and derives from that
// which results are stale and why. It runs the stale stages in order.
//
// The package knows no stage: a command declares its stages with [New] and lists them in a
// [Pipeline].
//
// A project has the folder .hgld with a stamp for each stage, STAGE.json:
//
//	hgld_stamp  1, the format version
//	stage       name of the stage
//	tool        version of the program
//	finished    time, UTC
//	limit       a trial on so many items; absent otherwise
//	partial     true if some items failed that the same command may mend
//	begun       true while a later run works, and after it was killed
//	settings    of the stage, as YAML, with paths relative to the project
//	given       keys of settings that a flag, an assignment, a variable or another file set
//	in, out     path -> fingerprint of what was read and written
//	sums        path -> SHA-256 of files whose fingerprint is not one
//	changed     path -> SHA-256 before a user changed the file on purpose
package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"hgld/internal/settings"
)

// Pipeline is a list of stages in execution order.
type Pipeline struct {
	// Stages lists the stages in order.
	Stages []Stage
	// Top returns the defaults of the settings that belong to no stage, at the top of hgld.yaml. It may be nil.
	Top func() any
	// Words holds other programs' names for settings.
	Words settings.Synonyms
	// Former holds the keys of the stages in former versions.
	Former settings.FormerKeys
	// Tool is the version of the program, which stamps record.
	Tool string
	// Isolated ignores settings in environment variables.
	Isolated bool
	// Folder describes a folder of a known kind. It returns false for others. It may be nil.
	Folder func(dir string) (Folder, bool, error)
	// Address identifies what lies at an address in an object store; fs.ErrNotExist: nothing. It may be nil.
	Address func(address string) (print string, err error)
	// Kinds holds what commands write by name, such as "a draft".
	Kinds map[string]Kind
	// Ended says how a stage ended with this error: whether its files are complete although some
	// items failed, and whether the same command may succeed with these. If it is nil, every
	// error means that the stage has failed.
	Ended func(err error) (complete, again bool)
}

// Names lists the names of the stages.
func (l *Pipeline) Names() []string {
	names := make([]string, len(l.Stages))
	for i, s := range l.Stages {
		names[i] = s.Name
	}
	return names
}

// top lists the settings that belong to no stage.
func (l *Pipeline) top() []settings.Field {
	if l.Top == nil {
		return nil
	}
	return settings.Fields(l.Top())
}

// topKeys lists the keys of the settings that belong to no stage, dotted and of their groups.
func (l *Pipeline) topKeys() []string {
	keys := settings.Keys(l.top())
	for _, f := range l.top() {
		if !slices.Contains(keys, f.Path[0]) {
			keys = append(keys, f.Path[0])
		}
	}
	return keys
}

// ended is Ended, for every error and pipeline.
func (l *Pipeline) ended(err error) (complete, again bool) {
	if err == nil || l.Ended == nil {
		return false, false
	}
	return l.Ended(err)
}

// Options are the options that a command line applies to every stage.
type Options struct {
	// Project is the project that the command works in.
	Project *Project
	// Replace allows outputs to replace files that hgld did not write.
	Replace bool
	// Limit restricts a trial to the first items; 0 means all.
	Limit int
	// Changed accepts inputs that were changed since a stage wrote them.
	Changed bool
}

// Job is a running command.
type Job interface {
	// Options returns what the command line asked for.
	Options() Options
	// Start reports that a stage whose result is not good starts.
	Start(st State)
	// Log reports progress to the user.
	Log(format string, args ...any)
	// Close releases what a stage opened, such as a device.
	Close() error
}

// Check finds mistakes in the settings of all stages before the first one runs, so that a
// misspelt name does not end a run after hours. It returns all of them.
func (p *Project) Check(stages []Stage) error {
	var wrong []error
	for _, s := range stages {
		own := s.Settings()
		if err := p.Load(nil, s.Name, own); err != nil {
			return err
		}
		if err := errors.Join(s.check(own), s.checkConfigured(p, own)); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: stage %s: %w", p.File, s.Name, err))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return &StagesError{errors.Join(wrong...)}
}

// Run executes each stage whose result is not good. It stops after a stage in which some items
// failed, since the user decides whether to continue without them.
func Run(j Job, stages []Stage) error {
	p := j.Options().Project
	if err := p.Check(stages); err != nil {
		return err
	}
	for i, s := range stages {
		ran, err := s.runStale(j)
		if complete, again := p.engine().ended(err); complete && i+1 < len(stages) {
			return errors.Join(err, &StoppedError{p, s.Name, stages[i+1].Command, again})
		}
		if err != nil {
			return err
		}
		if !ran {
			j.Log("%-8s done", s.Name)
		}
	}
	return nil
}

// runStale executes a stage unless its result is good. It reports whether it did.
func (s Stage) runStale(j Job) (bool, error) {
	o := j.Options()
	own := s.Settings()
	if err := o.Project.Load(nil, s.Name, own); err != nil {
		return false, err
	}
	st, err := s.State(o.Project, own)
	switch {
	case err != nil:
		return false, err
	case st.Err != nil:
		return false, st.Err
	case st.Good(o.Limit):
		return false, nil
	}
	j.Start(st)
	return true, s.Execute(j, own)
}
