package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"hgld/internal/pipeline"
	"hgld/shards/dataset"
	"hgld/train"
	"hgld/train/history"
	"hgld/train/input"
	"hgld/train/retrieval"
	"hgld/train/selection"
)

// subject describes what evaluateModel evaluates. It also tells the user if the training
// images have changed since training.
func (e *evaluation) subject(j *job, m *train.Model, choice *selection.Images,
	data *selection.Data) (*retrieval.Subject, error) {
	of := &retrieval.Subject{Run: e.Model.Run, Data: choice.Evaluated()}
	if !e.Model.Untrained {
		of.Checkpoint, of.Step = m.Path, m.Step
		sum, err := m.WeightsSum()
		if err != nil {
			return nil, err
		}
		of.Weights = sum
		if of.Changed, err = changedSince(j.ctx, m, e.Model.Run); err != nil {
			return nil, err
		}
		if of.Changed != "" {
			j.say("%s", of.Changed)
		}
	}
	var err error
	of.Images, err = input.Fingerprint(data.Evaluated()...)
	return of, err
}

// changedSince says how the training images differ from those that a model was trained
// on. It returns "" if they are the same, or if the settings of the run are missing.
func changedSince(ctx context.Context, m *train.Model, run string) (string, error) {
	settings, err := history.ReadSettings(run)
	if err != nil || settings == nil {
		return "", err
	}
	data, err := openData(ctx, &settings.Images)
	if pipeline.IsMissing(err) {
		return "", nil // the model was moved without its images
	}
	if errors.As(err, new(syscall.Errno)) { // an I/O error does not mean that they changed
		return "", err
	}
	if err != nil {
		return fmt.Sprintf("%s cannot be compared with the images of the training: %v", settings.Images.Files()[0], err), nil
	}
	defer data.Close()
	same, err := m.TrainedOn(&data.Data)
	if err != nil || same {
		return "", err
	}
	return fmt.Sprintf("%s has changed since the training: the model was trained on other images or labels",
		settings.Images.Files()[0]), nil
}

// measured describes the vectors and labels of an evaluation by their checksums.
func (s *evalFileSettings) measured() (*retrieval.Subject, error) {
	kind, columns := s.levels()
	of := &retrieval.Subject{Settings: map[string]string{"unit": strconv.FormatBool(s.Unit), "levels": kind}}
	for name, value := range map[string]string{"ignore": s.Ignore, "qrels_usage": s.QrelsUsage,
		"level_columns": strings.Join(columns, ","), "missing": strings.Join(s.Missing, ","), "equal_ids": s.EqualIDs,
		"uneven": strings.TrimPrefix(s.Uneven, dataset.RefuseUneven)} {
		if value != "" {
			of.Settings[name] = value
		}
	}
	var read []string
	for _, path := range []string{s.Ranking, s.Embeddings, s.Labels, s.GalleryEmbeddings, s.GalleryLabels,
		s.Qrels, s.Also} {
		if path == "" || len(read) > 0 && path == read[len(read)-1] {
			continue // labels are in the file of the vectors
		}
		read = append(read, path)
		sum, err := sha256File(path)
		if err != nil {
			return nil, err
		}
		of.Files = append(of.Files, retrieval.HashedFile{Path: path, SHA256: sum})
	}
	return of, nil
}

// runSubject describes the evaluation that a run made of itself.
func runSubject(r *train.Run, s *trainSettings, data *selection.Data, e train.Event) (*retrieval.Subject, error) {
	folder, sum, err := r.Saved()
	if err != nil {
		return nil, err
	}
	of := &retrieval.Subject{Run: s.Out, Checkpoint: folder, Weights: sum, Step: e.Step}
	choice, measured := s.Images, data.Evaluated()
	if e.On == "validation" {
		choice.Query, choice.Gallery, choice.Benchmarks, measured = "", "", nil, []input.Dataset{data.Validation}
	}
	if e.On == "landmarks" {
		of.Data, measured = strings.Join(s.Landmarks.Truth, ", "), nil
		for _, l := range data.Landmarks {
			measured = append(measured, l.Sets()...)
		}
		of.Images, err = input.Fingerprint(measured...)
		return of, err
	}
	of.Data = choice.Evaluated()
	of.Images, err = input.Fingerprint(measured...)
	return of, err
}
