// Package history reads and writes what a run leaves in its directory beside its
// checkpoints, and sums up what it says:
//
//	run.yaml       the settings that the run was made with
//	events.jsonl   one train.Event a line
//	eval.json      the last evaluation, a train.Result
//	tensorboard/   the same curves for TensorBoard
package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"hgld/internal/atomicfile"
	"hgld/train"
)

// The names of the files and folders in a run directory.
const (
	SettingsFile      = "run.yaml"
	EventsFile        = "events.jsonl"
	EvaluationFile    = "eval.json"
	CheckpointsFolder = "checkpoints"
	boardFolder       = "tensorboard"
)

// FormatError says that a file of a run directory is damaged.
type FormatError struct {
	// Path is the file, and Line the line at fault, from 1; 0 for the whole file.
	Path string
	Line int // from 1; 0 for the whole file

	// Err is what is wrong with it.
	Err error
}

// Error names the file, the line and the mistake.
func (e *FormatError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
}

// Unwrap returns what is wrong with the file.
func (e *FormatError) Unwrap() error { return e.Err }

// Run is what the files of a run directory say of a training.
type Run struct {
	// Dir is the run directory.
	Dir string

	// Events are those of the log, in order.
	Events []train.Event

	// Result is the last evaluation, nil if there was none.
	Result *train.Result

	// Settings are those that the run was made with, a pointer to a struct. Read leaves
	// them nil: the caller knows their type, see ReadSettings.
	Settings any

	// Changed is the time of the last event, zero without any.
	Changed time.Time
}

// Read reads a run directory. A missing log or evaluation is no error; a damaged one is
// a *FormatError.
func Read(dir string) (*Run, error) {
	r := &Run{Dir: dir}
	var err error
	if r.Events, err = ReadEvents(filepath.Join(dir, EventsFile)); err != nil {
		return nil, err
	}
	if info, err := os.Stat(filepath.Join(dir, EventsFile)); err == nil {
		r.Changed = info.ModTime()
	}
	r.Result, err = ReadResult(filepath.Join(dir, EvaluationFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	return r, err
}

// ReadEvents reads a log of events, none if there is no log. It skips an incomplete
// line at the end, which a killed process leaves.
func ReadEvents(path string) ([]train.Event, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []train.Event
	lines := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		var e train.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, &FormatError{path, n, err}
		}
		list = append(list, e)
	}
}

// ReadResult reads the JSON of an evaluation. It does not check its version.
func ReadResult(path string) (*train.Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(train.Result)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, &FormatError{Path: path, Err: err}
	}
	return r, nil
}

// WriteJSON replaces a file by v as indented JSON.
func WriteJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, append(text, '\n'))
}

// WriteSettings writes the settings of a run as YAML. It reports same if the file had
// the same content before.
func WriteSettings(dir string, settings any) (same bool, err error) {
	text, err := yaml.Marshal(settings)
	if err != nil {
		return false, err
	}
	path := filepath.Join(dir, SettingsFile)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return true, nil
	}
	return false, atomicfile.WriteFile(path, text)
}

// ReadSettings reads the settings of a run into a struct. It takes the run directory or
// one of its checkpoints, and returns the run directory, or "" if there are no
// settings. Settings that are no YAML are a *FormatError.
func ReadSettings(run string, into any) (dir string, err error) {
	text, err := os.ReadFile(filepath.Join(run, SettingsFile))
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(filepath.Dir(filepath.Clean(run))) == CheckpointsFolder {
		run = filepath.Join(run, "..", "..")
		text, err = os.ReadFile(filepath.Join(run, SettingsFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return "", &FormatError{Path: filepath.Join(run, SettingsFile), Err: err}
	}
	return run, nil
}

// Relative returns the path of a folder as seen from the run directory, so that both
// can be moved together. An absolute path stays as it is, unless run is absolute too.
func Relative(run, folder string) (string, error) {
	if filepath.IsAbs(folder) && !filepath.IsAbs(run) {
		return folder, nil
	}
	base, err := filepath.Abs(run)
	if err != nil {
		return "", err
	}
	whole, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(base, whole)
	if err != nil {
		return whole, nil // on another drive of Windows
	}
	return filepath.ToSlash(rel), nil
}

// Resolve returns the folder that Relative has named.
func Resolve(run, folder string) string {
	if filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(run, filepath.FromSlash(folder))
}

// IsDone reports whether the last event of a run is its end, at the given step. It
// returns false if the log cannot be read.
func IsDone(run string, step int) bool {
	f, err := os.Open(filepath.Join(run, EventsFile))
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	end := make([]byte, min(info.Size(), 1024)) // the event of the end is a short line
	if _, err := f.ReadAt(end, info.Size()-int64(len(end))); err != nil {
		return false
	}
	line := bytes.TrimSuffix(end, []byte("\n"))
	var e train.Event
	return json.Unmarshal(line[bytes.LastIndexByte(line, '\n')+1:], &e) == nil && e.Kind == train.Done && e.Step == step
}

// Progress returns the number of steps taken, and whether a run with these settings is
// complete.
func (r *Run) Progress(c *train.Config) (step int, done bool) {
	last := train.Event{}
	for _, e := range r.Events {
		step, last = max(step, e.Step), e
	}
	// A trial by --limit also ends with Done, but before the run's own end.
	done = last.Kind == train.Done && (c.Steps > 0 && step >= c.Steps || c.Steps == 0 && last.Epoch >= c.Epochs)
	return step, done
}

// Steps returns the events of steps.
func (r *Run) Steps() []train.Event {
	return slices.DeleteFunc(slices.Clone(r.Events), func(e train.Event) bool { return e.Kind != train.Stepped })
}

// Loss returns the mean over the last tenth of the steps that have a loss, at least
// one. It is NaN if no step has one.
func (r *Run) Loss() train.Number {
	steps := slices.DeleteFunc(r.Steps(), func(e train.Event) bool { return e.Loss == nil })
	sum, n := 0.0, max(1, len(steps)/10)
	if len(steps) == 0 {
		return train.Number(math.NaN())
	}
	for _, e := range steps[len(steps)-n:] {
		sum += *e.Loss
	}
	return train.Number(sum / float64(n))
}

// WithoutLoss returns the number of steps that have no loss.
func (r *Run) WithoutLoss() (n int) {
	for _, e := range r.Steps() {
		if e.Loss == nil {
			n++
		}
	}
	return n
}

// Speed returns the images a second over all steps but the first, which allocates. It
// is NaN if there are none.
func (r *Run) Speed() train.Number {
	images, seconds := 0, 0.0
	for i, e := range r.Steps() {
		if i > 0 {
			images += e.Images
			seconds += e.Seconds
		}
	}
	if seconds == 0 {
		return train.Number(math.NaN())
	}
	return train.Number(float64(images) / seconds)
}

// Trained returns the time of all steps in whole seconds, without evaluations.
func (r *Run) Trained() time.Duration {
	seconds := 0.0
	for _, e := range r.Steps() {
		seconds += e.Seconds
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}

// Percent returns a metric of a result in percent, NaN if r is nil or lacks it. The key
// is one of Result.Values, or "mean(NAME)" for the mean over the levels.
func Percent(r *train.Result, key string) train.Number {
	if r == nil {
		return train.Number(math.NaN())
	}
	if name, ok := strings.CutPrefix(key, "mean("); ok {
		if v, ok := r.Overall[strings.TrimSuffix(name, ")")]; ok {
			return 100 * v
		}
		return train.Number(math.NaN())
	}
	return train.Number(100 * r.Mean(key))
}

// Keys lists the metrics that any of the results has, in the order of the first. A
// result may be nil.
func Keys(results []*train.Result) []string {
	var keys []string
	for _, r := range results {
		if r == nil {
			continue
		}
		for _, v := range r.Values {
			if !slices.Contains(keys, v.Key) {
				keys = append(keys, v.Key)
			}
		}
	}
	return keys
}

// Sample sums up a metric over several runs.
type Sample struct {
	// Mean is that of the defined values, NaN if there are none.
	Mean train.Number `json:"mean"`

	// Deviation is the sample's standard deviation, with n−1 in the denominator; NaN
	// for fewer than two values.
	Deviation train.Number `json:"deviation"`

	// Count is the number of defined values.
	Count int `json:"count"`
}

// SampleOf sums up values. It skips those that are NaN.
func SampleOf(values []train.Number) Sample {
	nan := train.Number(math.NaN())
	s := Sample{Mean: nan, Deviation: nan}
	mean, square := 0.0, 0.0
	for _, n := range values {
		v := float64(n)
		if math.IsNaN(v) {
			continue
		}
		s.Count++
		d := v - mean
		mean += d / float64(s.Count)
		square += d * (v - mean)
	}
	if s.Count > 0 {
		s.Mean = train.Number(mean)
	}
	if s.Count > 1 {
		s.Deviation = train.Number(math.Sqrt(square / float64(s.Count-1)))
	}
	return s
}
