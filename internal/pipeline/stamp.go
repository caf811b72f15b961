package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/internal/settings"
)

// stampVersion is the format version of the stamps.
const stampVersion = 1

// Stamp is .hgld/STAGE.json in a project: the inputs, settings and outputs of a stage's last
// run. `hgld status` compares it with the current files.
type Stamp struct {
	Version  int               `json:"hgld_stamp"`        // format version
	Stage    string            `json:"stage"`             // name of the stage
	Tool     string            `json:"tool"`              // version of the program
	Finished time.Time         `json:"finished"`          // UTC, whole seconds
	Limit    int               `json:"limit,omitempty"`   // number of items of a trial
	Partial  bool              `json:"partial,omitempty"` // some items failed, and a retry may succeed
	Begun    bool              `json:"begun,omitempty"`   // a later run has begun, and may have been killed
	Settings string            `json:"settings"`          // resolved settings as YAML
	Given    []string          `json:"given,omitempty"`   // keys of settings that hgld.yaml did not set
	In       map[string]string `json:"in"`                // path -> fingerprint
	Out      map[string]string `json:"out"`               // path -> fingerprint

	Sums    map[string]string `json:"sums,omitempty"`    // SHA-256 of outputs whose fingerprint is not a hash
	Changed map[string]string `json:"changed,omitempty"` // SHA-256 of outputs before a user changed them on purpose
}

// Record writes the stage's stamp if there is a project. A result written to other paths than
// the project's settings name does not count as the project's output. in holds the
// fingerprints of the inputs from before the run, out the paths of the outputs. retryable
// reports that some items failed and a retry may succeed.
func (s Stage) Record(j Job, own any, in map[string]string, out []string, retryable bool) error {
	o := j.Options()
	p := o.Project
	if p.File == "" || !s.isOwn(p, out) {
		return nil
	}
	after, err := p.engine().Fingerprint(out)
	if err != nil {
		return err
	}
	text, err := p.portable(own)
	if err != nil {
		return err
	}
	given, err := s.given(p, text)
	if err != nil {
		return err
	}
	if s.continued {
		if was, err := s.Stamp(p); err == nil {
			text, given = was.Settings, was.Given
		}
	}
	sums, err := sumsOf(after)
	if err != nil {
		return err
	}
	return s.writeStamp(p, Stamp{
		Version: stampVersion, Stage: s.Name, Tool: p.engine().Tool, Finished: time.Now().UTC().Truncate(time.Second),
		Limit: o.Limit, Partial: retryable, Settings: text, Given: given,
		In: p.relative(in), Out: p.relative(after), Sums: p.relative(sums),
	})
}

// writeStamp writes the stage's stamp in a project.
func (s Stage) writeStamp(p *Project, st Stamp) error {
	data, err := seal.MarshalJSON(st)
	if err != nil {
		return err
	}
	dir := filepath.Join(p.Dir, ".hgld")
	if err := atomicfile.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, s.Name+".json"), data)
}

// isOwn reports whether the project's own settings name all of some outputs. A flag may have turned one on or off. It
// returns false if the settings cannot be read.
func (s Stage) isOwn(p *Project, out []string) bool {
	settings := s.settings()
	if err := p.Load(nil, s.Name, settings); err != nil {
		return false
	}
	_, own := s.files(settings)
	for _, o := range p.expand(s.writes(settings)) {
		own = append(own, o.Path)
	}
	return !slices.ContainsFunc(out, func(path string) bool {
		return !slices.ContainsFunc(own, func(named string) bool { return p.Inside(named) == p.Inside(path) })
	})
}

// Stamp reads the stage's stamp in a project. It returns an error that is fs.ErrNotExist
// if there is none, [ErrOtherStamp] for one of another version, and a [StampError] for a damaged one.
func (s Stage) Stamp(p *Project) (Stamp, error) {
	var was Stamp
	path := filepath.Join(p.Dir, ".hgld", s.Name+".json")
	data, err := regular.ReadFile(path)
	if err != nil {
		return was, err
	}
	err = json.Unmarshal(data, &was)
	if was.Version > stampVersion {
		return was, ErrOtherStamp
	}
	if err == nil {
		err = seal.CheckJSON(data)
	}
	if err != nil {
		return was, &StampError{path, s.Command, err}
	}
	l := p.engine()
	if i := slices.Index(l.Names(), was.Stage); i >= 0 {
		own := l.Stages[i].settings()
		was.Given = l.Former.Keys(was.Stage, own, was.Given)
		if text, err := l.Former.Today(was.Stage, own, was.Settings); err == nil { // otherwise the settings differ
			was.Settings = text
		}
	}
	return was, nil
}

// StampError says that a stamp is damaged.
type StampError struct {
	Path    string // of the stamp
	Command string // of its stage
	Err     error  // the cause
}

// Error names the file.
func (e *StampError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *StampError) Unwrap() error { return e.Err }

// ErrOtherStamp is the error for a stamp that this hgld cannot read.
var ErrOtherStamp = errors.New("its stamp in .hgld was written by another version")

// completed adds the defaults of newer keys to the settings of a stamp, so that a key added to
// the program does not count as a change.
func (s Stage) completed(text string) (string, error) {
	own := s.settings()
	for _, f := range settings.Fields(own) { // reset maps, since YAML would merge into the default
		if f.Value.Kind() == reflect.Map {
			f.Value.SetZero()
		}
	}
	if err := yaml.Unmarshal([]byte(text), own); err != nil {
		return text, nil // written by another version: compare the text itself
	}
	all, err := yaml.Marshal(own)
	return string(all), err
}
