package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"hgld/internal/atomicfile"
	"hgld/internal/filehash"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/internal/settings"
	"hgld/train/config"
	"hgld/train/experiment/runs"
)

// The files of a study's folder.
const (
	File       = "study.json" // the plan: see record
	RunsFolder = "runs"
)

// record is the content of File.
type record struct {
	Version int               `json:"hgld_study"`
	Study   string            `json:"study"`      // name
	Text    string            `json:"study_file"` // SHA-256 of the study's file
	Scale   Scale             `json:"scale"`      // of the last plan
	Inputs  map[string]string `json:"inputs"`     // fingerprint by path, relative to the folder
	Runs    map[string]string `json:"runs"`       // SHA-256 of the settings, by the name of the run
}

// FormatError says that a file of a study's folder is damaged.
type FormatError struct {
	Path string // of the file
	Err  error  // the cause
}

// Error names the file.
func (e *FormatError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// MismatchError says that a folder holds runs of another study or with other settings.
type MismatchError struct {
	Path string // of the record
	What string // that differs
}

// Error names the file and the difference.
func (e *MismatchError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.What) }

// InputError says that an input of a study changed since it began.
type InputError struct {
	Path  string // of the record
	Input string // that changed
}

// Error names the input and the record.
func (e *InputError) Error() string {
	return fmt.Sprintf("%s changed since %s recorded it: results before and after cannot be compared", e.Input, e.Path)
}

// Open checks the plan against the record in its folder and writes the record anew. prints holds the
// fingerprints of inputs by path, as [Run.Files] names them; "" for one that does not exist. Runs may be
// added. An [MismatchError] says that a run was planned with other settings, an [InputError] that an input
// changed, and a [FormatError] that the record is damaged.
func (p *Plan) Open(prints map[string]string) error {
	now, err := p.record(prints)
	if err != nil {
		return err
	}
	text, err := seal.MarshalJSON(now)
	if err != nil {
		return err
	}
	path := filepath.Join(p.Dir, File)
	if old, err := regular.ReadFile(path); err == nil && string(old) == string(text) {
		return nil
	}
	if err := atomicfile.MkdirAll(p.Dir, 0o755); err != nil {
		return err
	}
	return atomicfile.WriteFile(path, text)
}

// Check returns the error that [Plan.Open] would return for the settings of the runs, and writes nothing.
func (p *Plan) Check() error {
	_, err := p.record(nil)
	return err
}

// record returns the record of a plan, after that in its folder.
func (p *Plan) record(prints map[string]string) (*record, error) {
	now := &record{Version: Version, Study: p.Study.Name, Text: filehash.Text([]byte(p.Study.Text)), Scale: p.Scale,
		Inputs: map[string]string{}, Runs: map[string]string{}}
	within, err := p.within()
	if err != nil {
		return nil, err
	}
	for path, print := range prints {
		if print != "" {
			now.Inputs[within(path)] = print
		}
	}
	for _, r := range p.Runs {
		sum, err := fingerprint(r, within)
		if err != nil {
			return nil, err
		}
		now.Runs[r.Name] = sum
	}
	path := filepath.Join(p.Dir, File)
	was, err := readRecord(path)
	if err == nil && was != nil {
		err = p.follow(now, was, path)
	}
	return now, err
}

// readRecord reads a record, nil if there is none.
func readRecord(path string) (*record, error) {
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := new(record)
	err = json.Unmarshal(text, r)
	if r.Version > Version { // checked first: its fields may have other types
		return nil, fmt.Errorf("%s has format version %d; this hgld reads version %d: use a newer hgld", path, r.Version,
			Version)
	}
	if err == nil {
		err = seal.CheckJSON(text)
	}
	if err != nil {
		return nil, &FormatError{path, err}
	}
	r.Scale.Set = runs.FormerKeys.Assignments("train", new(runs.Settings), r.Scale.Set)
	return r, nil
}

// follow checks the record of a plan against the one before it, and keeps what only that one has. Another version
// of hgld has other settings, and so other hashes: then the files of the runs decide.
func (p *Plan) follow(r, was *record, path string) error {
	if was.Study != r.Study {
		return &MismatchError{path, fmt.Sprintf("the folder holds the study %.80q, not %.80q", was.Study, r.Study)}
	}
	for _, name := range slices.Sorted(maps.Keys(was.Runs)) {
		dir := filepath.Join(filepath.Dir(path), RunsFolder, name)
		if _, err := os.Stat(dir); atomicfile.IsMissing(err) {
			continue // it was only planned
		}
		sum, both := r.Runs[name]
		if !both {
			r.Runs[name] = was.Runs[name]
			continue
		}
		if sum == was.Runs[name] {
			continue
		}
		at := slices.IndexFunc(p.Runs, func(run *Run) bool { return run.Name == name })
		change, err := p.Runs[at].change()
		if err != nil {
			return err
		}
		if change != "" {
			return &MismatchError{path, fmt.Sprintf("the run %s was planned with other settings: %s", name,
				cmp.Or(scaleChange(was.Scale, r.Scale), change))}
		}
	}
	for _, input := range slices.Sorted(maps.Keys(was.Inputs)) {
		if print, both := r.Inputs[input]; both && print != was.Inputs[input] {
			return &InputError{path, filepath.Join(filepath.Dir(path), filepath.FromSlash(input))}
		}
		r.Inputs[input] = was.Inputs[input]
	}
	return nil
}

// scaleChange says how the scales of two plans differ, "" if they do not.
func scaleChange(was, now Scale) string {
	a, b := was.Changes(), now.Changes()
	if slices.Equal(a, b) {
		return ""
	}
	return fmt.Sprintf("its scale was %s, and now it is %s", phrases(a), phrases(b))
}

// phrases joins the changes of a scale.
func phrases(list []string) string { return cmp.Or(strings.Join(list, "; "), "that of the study") }

// within returns a function that makes paths relative to the study's folder, so that both can be moved
// together. It asks for the current folder once: were it unknown for some of the paths, the settings of a run
// would seem to have changed.
func (p *Plan) within() (func(path string) string, error) {
	absolute, err := absolutes()
	if err != nil {
		return nil, err
	}
	base := absolute(p.Dir)
	return func(path string) string {
		if rel, err := filepath.Rel(base, absolute(path)); err == nil {
			return filepath.ToSlash(rel)
		}
		return path // on another drive
	}, nil
}

// absolutes returns a function that makes paths absolute.
func absolutes() (func(path string) string, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("the current folder: %w", err)
	}
	return func(path string) string {
		if filepath.IsAbs(path) {
			return filepath.Clean(path)
		}
		return filepath.Join(here, path)
	}, nil
}

// fingerprint returns the SHA-256 of the settings of a run that decide its result, with paths as within
// writes them.
func fingerprint(r *Run, within func(path string) string) (string, error) {
	own := withPaths(r.Settings, within)
	own.Out, own.Run = "", measured(r.Settings)
	text, err := yaml.Marshal(own)
	return filehash.Text([]byte(formerKeys(string(text)))), err
}

// formerKeys writes keys of settings as they were when studies were first recorded, so that fingerprints stay valid.
func formerKeys(text string) string {
	text = formerRunKeys.Replace(text)
	text = eraseRanges.ReplaceAllString(text, "${1}        scale:\n            - 0.02\n            - 0.33\n"+
		"        ratio:\n            - 0.3\n            - 3.3\n")
	return averageWarmUp.ReplaceAllString(text, "${1}rise: ")
}

var (
	formerRunKeys = strings.NewReplacer("\n    eval_on: ", "\n    watch: ",
		"\n    keep_best_test: ", "\n    report_best: ",
		"\nna_values: ", "\nmissing: ", "\npartial_labels: refuse", "\nuneven: false",
		"\npartial_labels: keep", "\nuneven: true", "\nextra_parents: ", "\nalso: ")
	eraseRanges   = regexp.MustCompile(`(?m)^(    erase:\n        probability: .*\n)`)
	averageWarmUp = regexp.MustCompile(`(?m)^(ema:\n    decay: .*\n    )warmup: `)
)

// measured returns the settings of run that decide what a result holds; the others have their defaults.
func measured(s *runs.Settings) config.RunOptions {
	own := runs.DefaultSettings().Run
	own.Metrics, own.EvalOn, own.Best = s.Run.Metrics, s.Run.EvalOn, s.Run.Best
	if s.Run.KeepBestTest {
		own.KeepBestTest, own.Evaluate = true, s.Run.Evaluate
	}
	return own
}

// change says how the settings in the directory of a run differ from those that are planned; "" if they do not,
// or if it has none yet. Settings that the directory lacks have their defaults.
func (r *Run) change() (string, error) {
	path := filepath.Join(r.Settings.Out, runs.SettingsFile)
	was, err := runs.ReadSettings(r.Settings.Out)
	if err != nil || was == nil {
		return "", err
	}
	text, err := regular.ReadFile(path)
	if err != nil {
		return "", err
	}
	root, err := settings.Document(path, text)
	if err != nil {
		return "", err
	}
	known := runs.DefaultSettings()
	if _, err := section(&known).File(path, root); err != nil {
		return fmt.Sprintf("%v; use the hgld that began it, or a newer one", err), nil
	}
	changes, err := differences(r.Settings, was)
	if err != nil {
		return "", err
	}
	a, b := measured(r.Settings), measured(was)
	run := settings.Fields(&b)
	for i, f := range settings.Fields(&a) {
		if now, before := settings.Text(f.Value), settings.Text(run[i].Value); now != before {
			changes = append(changes, runs.Change{Key: "run." + f.Key(), From: now, To: before})
		}
	}
	if len(changes) == 0 {
		return "", nil
	}
	c := changes[0]
	return fmt.Sprintf("%s was %s, and now it is %s", c.Key, c.To, c.From), nil
}

// withPaths returns a copy of settings whose paths are changed.
func withPaths(s *runs.Settings, change func(string) string) *runs.Settings {
	own := *s
	for _, f := range settings.Fields(&own) {
		f.MapPaths(func(path string) string {
			if path == "" {
				return ""
			}
			return change(path)
		})
	}
	return &own
}

// Recorded returns the scale of the last plan in a folder. ok is false if the folder has none.
func Recorded(dir string) (scale Scale, ok bool, err error) {
	r, err := readRecord(filepath.Join(dir, File))
	if r == nil || err != nil {
		return Scale{}, false, err
	}
	return r.Scale, true, nil
}
