// Package history reads, writes and summarises the files of a run directory, except its
// checkpoints:
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

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/train"
	"hgld/train/retrieval"
	"hgld/train/stats"
)

// The names of the files and folders in a run directory.
const (
	SettingsFile      = "run.yaml"
	EventsFile        = "events.jsonl"
	EvaluationFile    = "eval.json"
	CheckpointsFolder = "checkpoints"
	boardFolder       = "tensorboard"
)

// FormatError reports a damaged file in a run directory.
type FormatError struct {
	// Path is the file.
	Path string
	Line int // from 1; 0 for the whole file

	// Err is the cause.
	Err error
}

// Error names the file, the line and the cause.
func (e *FormatError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// SettingsError reports settings of a run that cannot be read, which a user may have edited.
type SettingsError struct {
	Path string // of the file
	Err  error  // the cause
}

// Error names the file.
func (e *SettingsError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *SettingsError) Unwrap() error { return e.Err }

// Run holds the contents of a run directory.
type Run struct {
	// Dir is the run directory.
	Dir string

	// Events holds the events of the log in order.
	Events []train.Event

	// Result is the last evaluation, or nil if there is none.
	Result *retrieval.Result

	// Settings are the settings that the run was made with, or nil if there are none.
	Settings *Settings

	// Changed is the time of the last event, or zero if there are no events.
	Changed time.Time
}

// Read reads a run directory. Files that are missing are not an error. A damaged file is a
// *FormatError.
func Read(dir string) (*Run, error) {
	r := &Run{Dir: dir}
	var err error
	if r.Settings, err = ReadSettings(dir); err != nil {
		return nil, err
	}
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

// ReadEvents reads a log of events. It returns none if the file does not exist. It skips an
// incomplete last line, which a killed process leaves.
func ReadEvents(path string) ([]train.Event, error) {
	f, err := regular.Open(path)
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

// ReadResult reads an evaluation from JSON. It rejects a later format version than this hgld
// writes.
func ReadResult(path string) (*retrieval.Result, error) {
	data, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(retrieval.Result)
	err = json.Unmarshal(data, r)
	if r.Version > retrieval.ResultVersion { // checked first: its fields may have other types
		return nil, fmt.Errorf("%s has format version %d; this hgld reads versions up to %d: use a newer hgld",
			path, r.Version, retrieval.ResultVersion)
	}
	if err == nil && r.Version > 0 { // without a version it is no result, which the caller sees
		err = seal.CheckJSON(data)
	}
	if err != nil {
		return nil, &FormatError{Path: path, Err: err}
	}
	if err := r.Check(); err != nil {
		return nil, &FormatError{Path: path, Err: err}
	}
	return r, nil
}

// WriteJSON replaces the contents of a file with v as indented JSON with a checksum.
func WriteJSON(path string, v any) error {
	text, err := seal.MarshalJSON(v)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, text)
}

// IsDone reports whether a run ended at the given step, according to its last event. It
// returns false if the log cannot be read.
func IsDone(run string, step int) bool {
	f, err := regular.Open(filepath.Join(run, EventsFile))
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	end := make([]byte, min(info.Size(), 1024)) // the final event is a short line
	if _, err := f.ReadAt(end, info.Size()-int64(len(end))); err != nil {
		return false
	}
	line := bytes.TrimSuffix(end, []byte("\n"))
	var e train.Event
	return json.Unmarshal(line[bytes.LastIndexByte(line, '\n')+1:], &e) == nil && e.Kind == train.Done && e.Step == step
}

// State describes the progress of a run with settings: "done", or the steps that it has taken.
func (r *Run) State() string {
	step, done := r.progress()
	switch steps := r.Settings.Steps; {
	case done:
		return "done"
	case steps > 0:
		return fmt.Sprintf("step %d of %d", step, steps)
	}
	return fmt.Sprintf("step %d", step)
}

// progress returns the number of completed steps. done reports whether the run is complete.
func (r *Run) progress() (step int, done bool) {
	c := &r.Settings.Config
	last, stopped := train.Event{}, false
	for _, e := range r.Events {
		step, last = max(step, e.Step), e
		stopped = stopped || e.Kind == train.Stopped
	}
	// A --limit trial also writes a Done event, but before the run's full length.
	done = last.Kind == train.Done && (stopped || c.Steps > 0 && step >= c.Steps ||
		c.Steps == 0 && last.Epoch >= c.Epochs)
	return step, done
}

// Steps returns the events of kind step.
func (r *Run) Steps() []train.Event {
	return slices.DeleteFunc(slices.Clone(r.Events), func(e train.Event) bool { return e.Kind != train.Stepped })
}

// Loss returns the mean loss over the last tenth of the steps that have one, at least one
// step. It is NaN if no step has a loss.
func (r *Run) Loss() retrieval.Number {
	steps := slices.DeleteFunc(r.Steps(), func(e train.Event) bool { return e.Loss == nil })
	sum, n := 0.0, max(1, len(steps)/10)
	if len(steps) == 0 {
		return retrieval.Number(math.NaN())
	}
	for _, e := range steps[len(steps)-n:] {
		sum += *e.Loss
	}
	return retrieval.Number(sum / float64(n))
}

// WithoutLoss returns the number of steps without a loss.
func (r *Run) WithoutLoss() (n int) {
	for _, e := range r.Steps() {
		if e.Loss == nil {
			n++
		}
	}
	return n
}

// Speed returns the images per second over all steps except the first, which allocates memory.
// It is NaN if there are no such steps.
func (r *Run) Speed() retrieval.Number {
	images, seconds := 0, 0.0
	for i, e := range r.Steps() {
		if i > 0 {
			images += e.Images
			seconds += e.Seconds
		}
	}
	if seconds == 0 {
		return retrieval.Number(math.NaN())
	}
	return retrieval.Number(float64(images) / seconds)
}

// Trained returns the total time of all steps in whole seconds, without evaluations.
func (r *Run) Trained() time.Duration {
	seconds := 0.0
	for _, e := range r.Steps() {
		seconds += e.Seconds
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}

// Percent returns a metric of a result in percent. It returns NaN if r is nil or lacks the
// metric. The key is one of Result.Values, or "mean(NAME)" for the mean over the levels.
func Percent(r *retrieval.Result, key string) retrieval.Number {
	if r == nil {
		return retrieval.Number(math.NaN())
	}
	if name, ok := strings.CutPrefix(key, "mean("); ok {
		if v, ok := r.Overall[strings.TrimSuffix(name, ")")]; ok {
			return 100 * v
		}
		return retrieval.Number(math.NaN())
	}
	return retrieval.Number(100 * r.Mean(key))
}

// Keys returns the metrics in any of the results, in the order of the first result. Results
// may be nil.
func Keys(results []*retrieval.Result) []string {
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

// Sample summarises a metric over several runs.
type Sample struct {
	// Mean is the mean of the defined values, or NaN if there are none.
	Mean retrieval.Number `json:"mean"`

	// Deviation is the sample standard deviation, with n−1 in the denominator. It is NaN for
	// fewer than two values.
	Deviation retrieval.Number `json:"deviation"`

	// Low and High are the ends of Student's 95 % interval for the mean, clipped to 0 to 100 %. They
	// are NaN for fewer than two values.
	Low  retrieval.Number `json:"low"`
	High retrieval.Number `json:"high"` // see Low

	// Count is the number of defined values.
	Count int `json:"count"`
}

// SampleOf summarises values in percent. It skips NaN.
func SampleOf(values []retrieval.Number) Sample {
	nan := retrieval.Number(math.NaN())
	s := Sample{Mean: nan, Deviation: nan, Low: nan, High: nan}
	mean, square := 0.0, 0.0
	var defined []float64
	for _, n := range values {
		v := float64(n)
		if math.IsNaN(v) {
			continue
		}
		s.Count++
		defined = append(defined, v)
		d := v - mean
		mean += d / float64(s.Count)
		square += d * (v - mean)
	}
	if s.Count > 0 {
		s.Mean = retrieval.Number(mean)
	}
	if s.Count > 1 {
		s.Deviation = retrieval.Number(math.Sqrt(square / float64(s.Count-1)))
		ends := stats.Paired(defined, seedConfidence).Interval.Clip(0, 100)
		s.Low, s.High = retrieval.Number(ends.Low), retrieval.Number(ends.High)
	}
	return s
}
