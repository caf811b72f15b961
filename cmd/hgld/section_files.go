package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/shards/dataset"
	"hgld/train"
	"hgld/train/history"
)

// imageFolders returns the folders beside a CSV that hold its images.
func (s *shardsSettings) imageFolders() ([]string, error) {
	if s.Dataset != "csv" || s.Images != "" {
		return nil, nil
	}
	return dataset.ImageFolders(s.Input, s.Columns.Path)
}

// startOf returns the file or the run that a training starts from. A run that has a
// checkpoint continues from that and needs no such file: then startOf returns "" for a
// file that is gone.
func startOf(s *trainSettings) string {
	path := cmp.Or(s.Model.Weights, s.From)
	if files, err := history.Files(s.Out); err == nil && len(files) > 0 && len(pipeline.Missing([]string{path})) > 0 {
		return ""
	}
	return path
}

// outInInput returns an error if the output lies inside class folders: the next build
// would read it. Other data sets name their images.
func (s *shardsSettings) outInInput() error {
	if s.Dataset != "folder" {
		return nil
	}
	for key, in := range map[string]string{"input": s.Input, "images": s.Images} {
		if inside, err := dataset.Within(in, s.Out); err != nil {
			return err
		} else if inside {
			return withHint(usagef("out is %s, which is inside %s, %s: the data set would be among its own images",
				s.Out, key, in), "name a folder next to it: --out %s", filepath.Base(filepath.Clean(in))+"-shards")
		}
	}
	return nil
}

// sourceError gives errors of an importer their exit codes.
func sourceError(err error) error {
	if errors.As(err, new(*registry.UnknownError)) {
		return withCode(exitUsage, err)
	}
	if errors.As(err, new(*dataset.OrderError)) {
		return withHint(withCode(exitUsage, err),
			"the first of --levels is the finest, the last the coarsest; if they stand right, give one of two "+
				"equal names another")
	}
	return err
}

// importer returns the importer of the data set. A folder in the place of a table is an
// error.
func (s *shardsSettings) importer() (dataset.Importer, error) {
	importer, err := dataset.Find(s.Dataset)
	if info, other := os.Stat(s.Input); err == nil && s.Dataset == "csv" && other == nil && info.IsDir() {
		err = withHint(fmt.Errorf("input is %s, a folder, and the data set csv reads a table", s.Input),
			"--dataset %s reads what it holds; a published data set is read by its name", dataset.Kind(s.Input))
	}
	return importer, err
}

// checkLevelCount returns an error for more levels than training and evaluation take.
func checkLevelCount(levels []string) error {
	if n := len(levels); n > train.MostLevels {
		return usagef("there are %d levels, want at most %d: name fewer by --levels", n, train.MostLevels)
	}
	return nil
}
