package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"hgld/internal/pipeline"
	"hgld/shards"
	"hgld/train"
)

// subject describes what evalModel measures. It also reports whether the images of the
// training have changed since.
func (s *evalSettings) subject(j *job, m *train.Model, choice *retrievalData, data *openData) (*train.Subject, error) {
	of := &train.Subject{Run: s.Run, Data: choice.measured()}
	if !s.Untrained {
		of.Checkpoint, of.Step = m.Path, m.Step
		sum, err := m.WeightsSum()
		if err != nil {
			return nil, trainError(err)
		}
		of.Weights = sum
		if of.Changed, err = changedSince(m, s.Run); err != nil {
			return nil, err
		}
		if of.Changed != "" {
			j.say("%s", of.Changed)
		}
	}
	var err error
	of.Images, err = train.Fingerprint(data.measured()...)
	return of, err
}

// changedSince describes how the training's images differ from those that a model was
// trained on, "" if they do not. Without the settings of the run it returns "".
func changedSince(m *train.Model, run string) (string, error) {
	settings, err := readRunSettings(run)
	if err != nil || settings == nil {
		return "", err
	}
	data, err := settings.Images.open()
	if pipeline.IsMissing(err) {
		return "", nil // a model is moved without its images
	}
	if errors.As(err, new(syscall.Errno)) { // they could not be read, which says nothing of them
		return "", err
	}
	if err != nil {
		return fmt.Sprintf("the images of the training cannot be compared with %s: %v", settings.Images.files()[0], err), nil
	}
	defer data.close()
	same, err := m.TrainedOn(data.Train)
	if err != nil || same {
		return "", err
	}
	return fmt.Sprintf("%s has changed since the training: the model was trained on other images or labels",
		settings.Images.files()[0]), nil
}

// measured describes the evaluated images.
func (r *retrievalData) measured() string {
	switch {
	case len(r.Benchmarks) > 0:
		return strings.Join(r.Benchmarks, ", ")
	case r.Query == "" && r.HoldOut > 0:
		return fmt.Sprintf("%s, %v of the classes of %s held out by seed %d", r.files()[0], r.HoldOut,
			strings.Join(r.Splits, " and "), r.HoldOutSeed)
	case r.Gallery != "" && r.Gallery != r.Query:
		return fmt.Sprintf("%s, query %s, gallery %s", r.Data, r.Query, r.Gallery)
	}
	return fmt.Sprintf("%s, query %s", r.Data, r.Query)
}

// measured returns the evaluated data sets.
func (d *openData) measured() []train.Dataset {
	if len(d.Benchmarks) == 0 {
		return []train.Dataset{d.Query, d.Gallery}
	}
	var list []train.Dataset
	for _, b := range d.Benchmarks {
		list = append(list, b.Query, b.Gallery)
	}
	return list
}

// filesMeasured describes the vectors and labels of an evaluation by their checksums.
func (s *evalSettings) filesMeasured() (*train.Subject, error) {
	of := &train.Subject{Settings: map[string]string{"unit": strconv.FormatBool(s.Unit), "levels": s.Levels}}
	for name, value := range map[string]string{"ignore": s.Ignore, "qrels_usage": s.QrelsUsage} {
		if value != "" {
			of.Settings[name] = value
		}
	}
	var read []string
	for _, path := range []string{s.Ranking, s.Embeddings, s.Labels, s.GalleryEmbeddings, s.GalleryLabels, s.Qrels} {
		if path == "" || len(read) > 0 && path == read[len(read)-1] {
			continue // labels in the file of the vectors
		}
		read = append(read, path)
		sum, err := sha256File(path)
		if err != nil {
			return nil, err
		}
		of.Files = append(of.Files, train.HashedFile{Path: path, SHA256: sum})
	}
	return of, nil
}

// ofRun describes what a run has measured of itself.
func ofRun(r *train.Run, s *trainSettings, data *openData, e train.Event) (*train.Subject, error) {
	folder, sum, err := r.Saved()
	if err != nil {
		return nil, trainError(err)
	}
	of := &train.Subject{Run: s.Out, Checkpoint: folder, Weights: sum, Step: e.Step}
	choice, measured := s.Images, data.measured()
	if e.On == "validation" {
		choice.Query, choice.Gallery, choice.Benchmarks, measured = "", "", nil, []train.Dataset{data.Validation}
	}
	of.Data = choice.measured()
	of.Images, err = train.Fingerprint(measured...)
	return of, err
}

// isShards reports whether a folder holds a data set.
func isShards(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, shards.ManifestFile))
	return err == nil
}
