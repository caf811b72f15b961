package main

import (
	"errors"
	"os"

	"hgld/internal/pipeline"
	"hgld/train"
	"hgld/train/history"
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
	if copied.Images.Data, err = history.Relative(s.Out, s.Images.Data); err != nil {
		return false, err
	}
	copied.Images.Benchmarks = nil
	for _, folder := range s.Images.Benchmarks {
		from, err := history.Relative(s.Out, folder)
		if err != nil {
			return false, err
		}
		copied.Images.Benchmarks = append(copied.Images.Benchmarks, from)
	}
	return history.WriteSettings(s.Out, copied)
}

// readRunSettings reads the settings of a run, given its directory or one of its
// checkpoints. It returns nil if there are none.
func readRunSettings(run string) (*trainSettings, error) {
	s := &trainSettings{Images: defaultData(), Config: train.Default()} // for settings that a newer hgld has added
	dir, err := history.ReadSettings(run, s)
	switch {
	case errors.As(err, new(*history.FormatError)):
		return nil, withCode(exitUsage, err)
	case err != nil: // of reading, which says nothing of the settings
		return nil, err
	case dir == "":
		return nil, nil
	}
	s.Images.Data = history.Resolve(dir, s.Images.Data)
	for i, folder := range s.Images.Benchmarks {
		at := history.Resolve(dir, folder)
		if _, err := os.Stat(at); !pipeline.IsMissing(err) { // older runs name them relative to the working directory
			s.Images.Benchmarks[i] = at
		}
	}
	return s, nil
}
