package main

import (
	"errors"
	"os"
	"slices"

	"hgld/internal/pipeline"
	"hgld/train"
	"hgld/train/history"
	"hgld/train/selection"
)

// The names of files in a run directory.
const (
	settingsFile   = history.SettingsFile
	evaluationFile = history.EvaluationFile
)

// writeRunSettings writes the resolved settings to the run directory, where hgld eval
// finds the data. Folders are relative to the run directory, so that all can be moved
// together. It reports same if the file did not change.
func writeRunSettings(s *trainSettings) (same bool, err error) {
	copied := *s
	copied.Out = "."
	copied.Images.Benchmarks = slices.Clone(s.Images.Benchmarks)
	paths := []*string{&copied.Images.Data, &copied.Images.Embeddings, &copied.Images.Labels}
	for i := range copied.Images.Benchmarks {
		paths = append(paths, &copied.Images.Benchmarks[i])
	}
	for _, path := range paths {
		if *path == "" {
			continue
		}
		if *path, err = history.Relative(s.Out, *path); err != nil {
			return false, err
		}
	}
	return history.WriteSettings(s.Out, copied)
}

// readRunSettings reads the settings of a run, given its directory or one of its
// checkpoints. It returns nil if there are none.
func readRunSettings(run string) (*trainSettings, error) {
	s := &trainSettings{Images: selection.Default(), Config: train.Default()} // for settings that a newer hgld has added
	dir, err := history.ReadSettings(run, s)
	switch {
	case errors.As(err, new(*history.FormatError)):
		return nil, withCode(exitUsage, err)
	case err != nil: // of reading, which says nothing of the settings
		return nil, err
	case dir == "":
		return nil, nil
	}
	for _, path := range []*string{&s.Images.Data, &s.Images.Embeddings, &s.Images.Labels} {
		if *path != "" {
			*path = history.Resolve(dir, *path)
		}
	}
	for i, folder := range s.Images.Benchmarks {
		at := history.Resolve(dir, folder)
		if _, err := os.Stat(at); !pipeline.IsMissing(err) { // older runs name them relative to the working directory
			s.Images.Benchmarks[i] = at
		}
	}
	return s, nil
}
