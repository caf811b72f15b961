package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"hgld/internal/settings"
	"hgld/internal/usage"
)

// Spec declares a stage whose settings are an S. Complete, Beside, Found, Check, Rereads, Doubt
// and Note may be nil.
type Spec[S any] struct {
	// Name is its key in hgld.yaml: "cluster".
	Name string
	// Command is what a user types: "cluster run".
	Command string
	// Defaults are the settings before any are loaded.
	Defaults S
	// Complete sets settings that were not given from what the others name. [Project.Origin] says which were
	// given. [Project.Load] calls it.
	Complete func(p *Project, s *S) error
	// Files names the files and folders that the stage reads and writes with these
	// settings. Their contents decide whether its result is stale.
	Files func(s *S) (in, out []string)
	// Beside returns outputs whose names follow from the settings, besides those that settings name.
	Beside func(s *S) []Output
	// Found returns further inputs that another input names, such as the folders in a table of
	// images. They exist. It fails if that input cannot be read.
	Found func(s *S) (in []string, err error)
	// Run does the work. If the job is stopped, it may save its progress and return early with
	// context.Canceled.
	Run func(j Job, s *S) error
	// Check finds mistakes in the settings without reading data, such as unknown names. Run
	// returns the same errors when it reaches them.
	Check func(s *S) error
	// Rereads names outputs that the stage reads if they exist.
	Rereads func(s *S) []string
	// Doubt returns the reason why a result that looks good is stale, or "". before holds the
	// states of the earlier stages.
	Doubt func(p *Project, s *S, before []State) (string, error)
	// Note returns text to add to the state of the stage, or "".
	Note func(p *Project, s *S, st State) (string, error)
}

// Stage is one step of a pipeline: a key of hgld.yaml, a command, and a line of `hgld
// status`. It hides the type of its settings.
type Stage struct {
	// Name is its key in hgld.yaml: "cluster".
	Name string
	// Command is what a user types: "cluster run".
	Command string

	// These functions take the settings as the pointer that Settings returns.
	settings func() any
	complete func(p *Project, s any) error
	files    func(s any) (in, out []string)
	beside   func(s any) []Output
	found    func(s any) ([]string, error)
	run      func(j Job, s any) error
	check    func(s any) error
	rereads  func(s any) []string
	doubt    func(p *Project, s any, before []State) (string, error)
	note     func(p *Project, s any, st State) (string, error)

	continued bool // see Continued
}

// StageOf is a stage with settings of type S.
type StageOf[S any] struct {
	Stage
	defaults S
}

// New makes a stage.
func New[S any](spec Spec[S]) StageOf[S] {
	s := Stage{
		Name: spec.Name, Command: spec.Command,
		settings: func() any { own := spec.Defaults; return &own },
		files:    func(s any) ([]string, []string) { return spec.Files(s.(*S)) },
		run:      func(j Job, s any) error { return spec.Run(j, s.(*S)) },
		check: func(s any) error {
			if spec.Check == nil {
				return nil
			}
			if err := spec.Check(s.(*S)); err != nil {
				return SettingError(err)
			}
			return nil
		},
		complete: func(*Project, any) error { return nil },
		beside:   func(any) []Output { return nil },
		found:    func(any) ([]string, error) { return nil, nil },
		rereads:  func(any) []string { return nil },
		doubt:    func(*Project, any, []State) (string, error) { return "", nil },
		note:     func(*Project, any, State) (string, error) { return "", nil },
	}
	if spec.Complete != nil {
		s.complete = func(p *Project, s any) error { return spec.Complete(p, s.(*S)) }
	}
	if spec.Beside != nil {
		s.beside = func(s any) []Output { return spec.Beside(s.(*S)) }
	}
	if spec.Found != nil {
		s.found = func(s any) ([]string, error) { return spec.Found(s.(*S)) }
	}
	if spec.Rereads != nil {
		s.rereads = func(s any) []string { return spec.Rereads(s.(*S)) }
	}
	if spec.Doubt != nil {
		s.doubt = func(p *Project, s any, before []State) (string, error) { return spec.Doubt(p, s.(*S), before) }
	}
	if spec.Note != nil {
		s.note = func(p *Project, s any, st State) (string, error) { return spec.Note(p, s.(*S), st) }
	}
	return StageOf[S]{Stage: s, defaults: spec.Defaults}
}

// SettingError returns an error from checking settings as a usage error, unless a file could
// not be read, which says nothing about the settings.
func SettingError(err error) error {
	if errors.As(err, new(*fs.PathError)) && !IsMissing(err) {
		return err
	}
	return usage.Wrap(err)
}

// Defaults returns a copy of the default settings. The copy shares maps and slices.
func (s StageOf[S]) Defaults() *S {
	own := s.defaults
	return &own
}

// Load returns the settings of the stage in a project, see [Project.Load] and [Project.CheckStores].
func (s StageOf[S]) Load(p *Project, line settings.Flags) (*S, error) {
	own := s.Defaults()
	if err := p.Load(line, s.Name, own); err != nil {
		return own, err
	}
	return own, p.CheckStores(s.Name, own)
}

// Recall returns the settings of the stage in a project, see [Project.Recall] and [Project.CheckStores].
func (s StageOf[S]) Recall(p *Project, line settings.Flags) (*S, error) {
	own := s.Defaults()
	if err := p.Recall(line, s.Name, own); err != nil {
		return own, err
	}
	return own, p.CheckStores(s.Name, own)
}

// Settings returns a pointer to a copy of the default settings.
func (s Stage) Settings() any { return s.settings() }

// Files returns the files and folders that the stage reads and writes. own is a pointer as
// Settings returns. Inputs that another input names are not included.
func (s Stage) Files(own any) (in, out []string) { return s.files(own) }

// allFiles returns Files plus the inputs that another input names.
func (s Stage) allFiles(own any) (in, out []string, err error) {
	in, out = s.files(own)
	found, err := s.found(own)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.Command, err)
	}
	return slices.Concat(in, found), out, nil
}

// InputPrints returns the fingerprints of everything that the stage reads, as [Stage.Record] takes them.
func (s Stage) InputPrints(p *Project, own any) (map[string]string, error) {
	in, _, err := s.allFiles(own)
	if err != nil {
		return nil, err
	}
	prints, err := p.engine().Fingerprint(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Command, err)
	}
	return prints, nil
}

// Continued returns the stage for a command that continues an earlier run with that run's
// settings. Recording it keeps the settings of the existing stamp.
func (s Stage) Continued() Stage {
	s.continued = true
	return s
}

// Execute runs the stage and records what it read and wrote. If some items failed, it still
// records the run, since the files are complete.
func (s Stage) Execute(j Job, own any) error {
	p := j.Options().Project
	if err := p.CheckStores(s.Name, own); err != nil {
		return err
	}
	if err := s.MissingInput(p, own); err != nil {
		return err
	}
	if err := s.CheckOutputs(j, own); err != nil {
		return err
	}
	if err := s.TrustInputs(j, own); err != nil {
		return err
	}
	if err := s.CheckEdited(j, own); err != nil {
		return err
	}
	before, err := s.InputPrints(p, own)
	if err != nil {
		return err
	}
	end, err := s.begin(p, own)
	if err != nil {
		return err
	}
	err = errors.Join(s.run(j, own), j.Close())
	complete, again := p.engine().ended(err)
	if err != nil && !complete {
		return end(err)
	}
	_, out := s.files(own) // after the run, which decides whether a file is written at all
	if !s.isOwn(p, out) {
		return end(err)
	}
	return errors.Join(err, s.Record(j, own, before, out, again))
}

// MissingInput returns a [MissingInputError] for the first input that does not exist, or nil if
// all exist.
func (s Stage) MissingInput(p *Project, own any) error {
	in, _ := s.files(own)
	missing := Missing(in)
	if len(missing) == 0 {
		return nil
	}
	e := &MissingInputError{Project: p, Command: s.Command, Path: missing[0]}
	for _, other := range p.Stages() {
		o := other.settings()
		if p.Load(nil, other.Name, o) != nil {
			continue
		}
		if _, out := other.files(o); slices.Contains(out, e.Path) {
			e.Writer = other.Command
			return e
		}
	}
	for _, f := range settings.Fields(own) {
		if f.IsInput() && settings.Text(f.Value) == e.Path {
			e.Setting = &f
			return e
		}
	}
	return e
}
