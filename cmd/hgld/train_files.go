package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"

	"hgld/internal/atomicfile"
	"hgld/internal/tensorboard"
	"hgld/train"
)

// The files of a run directory beside its checkpoints.
const (
	settingsFile   = "run.yaml"     // what the run was made with, as the section train of hgld.yaml
	eventsFile     = "events.jsonl" // one line for every step, evaluation and checkpoint
	evaluationFile = "eval.json"    // the last evaluation
	boardFolder    = "tensorboard"  // the same curves for TensorBoard

	checkpointsFolder = "checkpoints"
)

// runLog is what a run leaves of its events.
type runLog struct {
	events *eventLog
	board  *tensorboard.Writer
}

// openRunLog opens the logs of a run that has taken some steps.
func openRunLog(run string, step int) (*runLog, error) {
	events, err := openEvents(filepath.Join(run, eventsFile), step)
	if err != nil {
		return nil, err
	}
	board, err := tensorboard.Create(filepath.Join(run, boardFolder), step, time.Now())
	if err != nil {
		return nil, errors.Join(err, events.close())
	}
	return &runLog{events, board}, nil
}

func (l *runLog) add(e train.Event) error {
	if err := l.events.add(e); err != nil {
		return err
	}
	if curves := curvesOf(e); len(curves) > 0 {
		return l.board.Add(time.Now(), e.Step, curves...)
	}
	return nil
}

func (l *runLog) close() error { return errors.Join(l.events.close(), l.board.Close()) }

// curvesOf are the points that an event adds to the curves of TensorBoard.
func curvesOf(e train.Event) []tensorboard.Scalar {
	switch e.Kind {
	case train.Stepped:
		list := []tensorboard.Scalar{
			{Tag: "train/lr", Value: e.Rate},
			{Tag: "train/images_per_second", Value: float64(e.Images) / e.Seconds},
			{Tag: "train/share_waiting", Value: e.Waited / e.Seconds},
		}
		if e.Loss != nil {
			list = append(list, tensorboard.Scalar{Tag: "train/loss", Value: *e.Loss})
		}
		if e.Norm != nil {
			list = append(list, tensorboard.Scalar{Tag: "train/grad_norm", Value: *e.Norm})
		}
		return list
	case train.Skipped:
		return []tensorboard.Scalar{{Tag: "train/skipped", Value: 1}}
	case train.Evaluated:
		var list []tensorboard.Scalar
		for _, v := range e.Result.Values {
			list = append(list, tensorboard.Scalar{Tag: e.On + "/" + v.Key, Value: float64(v.Mean)})
		}
		return list
	}
	return nil
}

// writeRunSettings records the resolved settings; hgld eval finds the data there.
// Folders are named from the run directory, so that all can be moved together. same
// says that they stood there already.
func writeRunSettings(s *trainSettings) (same bool, err error) {
	copied := *s
	copied.Out = "."
	if copied.Images.Data, err = fromRun(s.Out, s.Images.Data); err != nil {
		return false, err
	}
	copied.Images.Benchmarks = nil
	for _, folder := range s.Images.Benchmarks {
		from, err := fromRun(s.Out, folder)
		if err != nil {
			return false, err
		}
		copied.Images.Benchmarks = append(copied.Images.Benchmarks, from)
	}
	text, err := yaml.Marshal(copied)
	if err != nil {
		return false, err
	}
	path := filepath.Join(s.Out, settingsFile)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return true, nil
	}
	return false, atomicfile.WriteFile(path, text)
}

// fromRun names a folder from the run directory; one that was named from the root
// stays so, unless the run was too.
func fromRun(run, folder string) (string, error) {
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

// isDone reports whether the last event of a run is its end, at the given step. Where
// that cannot be read, it is not.
func isDone(run string, step int) bool {
	f, err := os.Open(filepath.Join(run, eventsFile))
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	end := make([]byte, min(info.Size(), 1024)) // the end of a run is a short line
	if _, err := f.ReadAt(end, info.Size()-int64(len(end))); err != nil {
		return false
	}
	line := bytes.TrimSuffix(end, []byte("\n"))
	var e train.Event
	return json.Unmarshal(line[bytes.LastIndexByte(line, '\n')+1:], &e) == nil && e.Kind == train.Done && e.Step == step
}

// readRunSettings reads them back, given a run directory or one of its
// checkpoints. A run without them is no error.
func readRunSettings(run string) (*trainSettings, error) {
	text, err := os.ReadFile(filepath.Join(run, settingsFile))
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(filepath.Dir(filepath.Clean(run))) == checkpointsFolder {
		run = filepath.Join(run, "..", "..")
		text, err = os.ReadFile(filepath.Join(run, settingsFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &trainSettings{Images: defaultData(), Config: train.Default()} // for what a newer hgld has added
	if err := yaml.Unmarshal(text, s); err != nil {
		return nil, usagef("%s: %w", filepath.Join(run, settingsFile), err)
	}
	s.Images.Data = atRun(run, s.Images.Data)
	for i, folder := range s.Images.Benchmarks {
		at := atRun(run, folder)
		if _, err := os.Stat(at); !isMissing(err) { // runs of before name them from where the command was given
			s.Images.Benchmarks[i] = at
		}
	}
	return s, nil
}

// atRun is the folder that fromRun has named.
func atRun(run, folder string) string {
	if filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(run, filepath.FromSlash(folder))
}

// eventLog is events.jsonl, written line by line.
type eventLog struct {
	path string
	file *os.File
}

// openEvents opens the log of a run that has taken some steps. What it says of
// later ones, which were taken after the checkpoint and are taken again, goes; so
// does its end, which is to come again: what is measured anew may be interrupted.
func openEvents(path string, step int) (*eventLog, error) {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var kept bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(old))
	lines.Buffer(nil, 64<<20) // an evaluation with many levels is a long line
	for lines.Scan() {
		var e struct {
			Kind train.Kind `json:"event"`
			Step int        `json:"step"`
		}
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Step <= step && e.Kind != train.Done {
			kept.Write(append(lines.Bytes(), '\n'))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if err := atomicfile.WriteFile(path, kept.Bytes()); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	return &eventLog{path: path, file: file}, err
}

// add appends an event in one write, so that a killed process leaves at most one
// half line, the last.
func (l *eventLog) add(e train.Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

func (l *eventLog) close() error { return l.file.Close() }

// saveJSON replaces path by v as indented JSON.
func saveJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, append(text, '\n'))
}
