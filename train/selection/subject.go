package selection

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"hgld/internal/pipeline"
	"hgld/train"
	"hgld/train/evaluation"
	"hgld/train/input"
	"hgld/train/retrieval"
)

// Other are the images of an evaluation where they differ from the images of its run. Zero values leave the choice to
// the run.
type Other struct {
	Data           string   // the folder of shards
	Splits         []string // splits whose classes are held out
	HoldOut        float64  // share of the classes to evaluate
	HoldOutSeed    uint64   // which classes these are
	Query, Gallery string   // splits; without a query, the gallery of the run
}

// With returns the images to evaluate: the images of the run, with what o names in their place. A folder or a split
// that o names replaces the benchmarks of the run, and an evaluation of splits needs no training images.
func (s Images) With(o Other) Images {
	if o.Data != "" {
		s.Data, s.Benchmarks = o.Data, nil
	}
	if len(o.Splits) > 0 {
		s.Splits = o.Splits
	}
	if o.HoldOut != 0 {
		s.HoldOut, s.HoldOutSeed, s.Query, s.Gallery, s.Benchmarks = o.HoldOut, o.HoldOutSeed, "", "", nil
	}
	if o.Query != "" {
		s.HoldOut, s.Query, s.Gallery, s.Benchmarks = 0, o.Query, o.Gallery, nil
	}
	if s.HoldOut == 0 && s.Query != "" {
		s.Splits = []string{s.Query}
	}
	return s
}

// Trained describes an evaluation of a model on images. An untrained one has no checkpoint.
func Trained(m *evaluation.Model, run string, untrained bool, choice *Images, data *Data) (*retrieval.Subject, error) {
	of := &retrieval.Subject{Run: run, Data: choice.Evaluated()}
	var err error
	if !untrained {
		of.Checkpoint, of.Step = m.Path, m.Step
		if of.Weights, err = m.WeightsSum(); err != nil {
			return nil, err
		}
	}
	of.Images, err = input.Fingerprint(data.Evaluated()...)
	return of, err
}

// Changed says how the images of a training differ from the images that a model was trained on. It returns "" if they
// are the same, or are not here. open opens a selection.
func Changed(m *evaluation.Model, trained *Images, open func(*Images) (*Data, error)) (string, error) {
	data, err := open(trained)
	if pipeline.IsMissing(err) {
		return "", nil // the model was moved without its images
	}
	if errors.As(err, new(syscall.Errno)) { // an I/O error does not mean that they changed
		return "", err
	}
	if err != nil {
		return fmt.Sprintf("%s cannot be compared with the images of the training: %v", trained.Files()[0], err), nil
	}
	defer data.Close()
	same, err := m.TrainedOn(data.Data.Train, data.Data.ExtraParents)
	if err != nil || same {
		return "", err
	}
	return fmt.Sprintf("%s has changed since the training: the model was trained on other images or labels",
		trained.Files()[0]), nil
}

// OwnSubject describes the evaluation e that the run in a directory made of itself. truth lists the files of ground
// truth of an evaluation on landmarks.
func OwnSubject(r *train.Run, dir string, choice Images, truth []string, data *Data, e train.Event) (*retrieval.Subject,
	error) {
	folder, sum, err := r.Saved()
	if err != nil {
		return nil, err
	}
	of := &retrieval.Subject{Run: dir, Checkpoint: folder, Weights: sum, Step: e.Step}
	measured := data.Evaluated()
	switch e.On {
	case "validation":
		choice.Query, choice.Gallery, choice.Benchmarks, measured = "", "", nil, []input.Dataset{data.Validation}
		of.Data = choice.Evaluated()
	case "landmarks":
		of.Data, measured = strings.Join(truth, ", "), nil
		for _, l := range data.Landmarks {
			measured = append(measured, l.Sets()...)
		}
	default:
		of.Data = choice.Evaluated()
	}
	of.Images, err = input.Fingerprint(measured...)
	return of, err
}
