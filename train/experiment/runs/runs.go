// Package runs reads, writes and summarises the files of a run directory, except its
// checkpoints:
//
//	run.yaml       the settings that the run was made with
//	events.jsonl   one train.Event a line
//	eval.json      the last evaluation, a train.Result
//	before.json    the same before the first step
//	tensorboard/   the same curves for TensorBoard
package runs

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
	"strconv"
	"strings"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/filelock"
	"hgld/internal/regular"
	"hgld/internal/seal"
	"hgld/train"
	"hgld/train/checkpoint"
	"hgld/train/retrieval"
)

// The names of the files and folders in a run directory.
const (
	SettingsFile      = "run.yaml"
	EventsFile        = "events.jsonl"
	EvaluationFile    = "eval.json"
	BeforeFile        = "before.json" // the evaluation before the first step, with the values of every query
	CheckpointsFolder = "checkpoints"
	boardFolder       = "tensorboard"
)

// FormatError reports a damaged file in a run directory.
type FormatError struct {
	Path string // the file
	Line int    // from 1; 0 for the whole file
	Err  error  // the cause
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

// Run holds the contents of a run directory.
type Run struct {
	Dir      string            // the run directory
	Events   []train.Event     // the events of the log in order
	Result   *retrieval.Result // the last evaluation, or nil if there is none
	Before   *retrieval.Result // the evaluation before the first step, or nil if there is none
	Settings *Settings         // the settings that the run was made with, or nil if there are none
	Changed  time.Time         // the time of the last event, or zero if there are no events
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
	for name, to := range map[string]**retrieval.Result{EvaluationFile: &r.Result, BeforeFile: &r.Before} {
		if *to, err = ReadResult(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return r, nil
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

// SecondsLeft predicts how long the steps that a run has not taken need, by its last steps; 0: it cannot.
func (r *Run) SecondsLeft() float64 {
	steps, sum := r.Steps(), 0.0
	steps = steps[max(0, len(steps)-100):]
	for _, e := range steps {
		sum += e.Seconds
	}
	taken, _ := r.progress()
	return sum / float64(max(1, len(steps))) * float64(max(0, r.Settings.Steps-taken))
}

// Worker names the process that trains in a run directory, "" if there is none.
func Worker(dir string) (string, error) {
	lock := filepath.Join(dir, checkpoint.LockFile)
	if _, err := os.Stat(lock); atomicfile.IsMissing(err) {
		return "", nil
	}
	err := filelock.Check(lock)
	if held := (*filelock.LockedError)(nil); errors.As(err, &held) {
		return held.By.String(), nil
	}
	return "", err
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

// MetricName returns the key of a metric as a paper writes it: with the name of its level, unless there is one level
// alone, and without the number.
func MetricName(key string, levels []string) string {
	if name, ok := strings.CutPrefix(key, "mean("); ok {
		return strings.TrimSuffix(name, ")") + ", mean over the levels"
	}
	name, number, found := strings.Cut(key, "_level")
	level, err := strconv.Atoi(number)
	switch {
	case !found || err != nil || level >= len(levels):
		return key
	case len(levels) == 1:
		return name
	}
	return name + " " + levels[level]
}
