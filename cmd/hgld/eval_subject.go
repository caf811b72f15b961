package main

import (
	"strconv"
	"strings"

	"hgld/internal/classes"
	"hgld/train/evaluation"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
	"hgld/train/selection"
)

// subject describes what evaluateModel evaluates. It also tells the user if the training
// images have changed since training.
func (e *evalRun) subject(j *job, m *evaluation.Model, choice *selection.Images,
	data *selection.Data) (*retrieval.Subject, error) {
	of, err := selection.Trained(m, e.Model.Run, e.Model.Untrained, choice, data)
	if err != nil || e.Model.Untrained {
		return of, err
	}
	settings, err := runs.ReadSettings(e.Model.Run)
	if err != nil || settings == nil {
		return of, err
	}
	open := func(s *selection.Images) (*selection.Data, error) { return openData(j.ctx, s) }
	if of.Changed, err = selection.Changed(m, &settings.Images, open); of.Changed != "" {
		j.log("%s", of.Changed)
	}
	return of, err
}

// measured describes the vectors and labels of an evaluation by their checksums.
func (s *evalFileSettings) measured() (*retrieval.Subject, error) {
	kind, columns := s.levels()
	of := &retrieval.Subject{Settings: map[string]string{"unit": strconv.FormatBool(s.Normalize), "levels": kind}}
	for name, value := range map[string]string{"ignore": s.Ignore, "qrels_usage": s.QrelsUsage,
		"level_columns": strings.Join(columns, ","), "missing": strings.Join(s.NAValues, ","), "equal_ids": s.EqualIDs,
		"uneven": strings.TrimPrefix(s.PartialLabels, classes.RefusePartial)} {
		if value != "" {
			of.Settings[name] = value
		}
	}
	var read []string
	for _, path := range []string{s.Ranking, s.Embeddings, s.Labels, s.GalleryEmbeddings, s.GalleryLabels,
		s.Qrels, s.parents()} {
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
