package runs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/regular"
	"hgld/internal/tensorboard"
	"hgld/train"
)

// Log writes the events of a run to events.jsonl and to TensorBoard's format.
type Log struct {
	path  string
	file  *os.File
	board *tensorboard.Writer
}

// OpenLog opens the log of a run that has completed step steps. It drops the events of later
// steps, since the run repeats them after loading its checkpoint. It also drops the events that
// ended the run.
func OpenLog(run string, step int) (*Log, error) {
	path := filepath.Join(run, EventsFile)
	if err := cutEvents(path, step); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, err
	}
	board, err := tensorboard.Create(filepath.Join(run, boardFolder), step, time.Now())
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Log{path, file, board}, nil
}

// cutEvents drops the events after a step and those that ended the run.
func cutEvents(path string, step int) error {
	old, err := regular.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var kept bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(old))
	lines.Buffer(nil, 64<<20) // an evaluation with many levels makes a long line
	for lines.Scan() {
		var e struct {
			Kind train.Kind `json:"event"`
			Step int        `json:"step"`
		}
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Step <= step && e.Kind != train.Done && e.Kind != train.Stopped {
			kept.Write(append(lines.Bytes(), '\n'))
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return atomicfile.WriteFile(path, kept.Bytes())
}

// Path returns the name of events.jsonl.
func (l *Log) Path() string { return l.path }

// Add appends an event in a single write. A killed process therefore leaves at most one
// incomplete line, the last.
func (l *Log) Add(e train.Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return err
	}
	if points := scalars(e); len(points) > 0 {
		return l.board.Add(time.Now(), e.Step, points...)
	}
	return nil
}

// Close closes the files.
func (l *Log) Close() error { return errors.Join(l.file.Close(), l.board.Close()) }

// scalars returns the points that an event adds to TensorBoard's curves.
func scalars(e train.Event) []tensorboard.Scalar {
	switch e.Kind {
	case train.Stepped:
		list := []tensorboard.Scalar{
			{Tag: "train/lr", Value: e.Rate},
			{Tag: "train/epoch", Value: float64(e.Epoch)},
			{Tag: "train/images_per_second", Value: float64(e.Images) / e.Seconds},
			{Tag: "train/share_waiting", Value: e.Waited / e.Seconds},
		}
		for tag, rate := range map[string]float64{"train/lr_head": e.HeadRate, "train/lr_proxies": e.ProxyRate} {
			if rate > 0 {
				list = append(list, tensorboard.Scalar{Tag: tag, Value: rate})
			}
		}
		for _, term := range e.Terms {
			list = append(list, tensorboard.Scalar{Tag: "train/" + termCurve + term.Name, Value: float64(term.Value)})
		}
		if e.Loss != nil {
			list = append(list, tensorboard.Scalar{Tag: "train/loss", Value: *e.Loss})
		}
		if e.Region != nil {
			list = append(list, tensorboard.Scalar{Tag: "train/region", Value: *e.Region})
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
