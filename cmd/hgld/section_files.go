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
	"hgld/train/history"
	"hgld/train/retrieval"
)

// imageFolders returns the folders next to a CSV that contain its images.
func (s *shardsSettings) imageFolders() ([]string, error) {
	if s.Dataset != "csv" || s.Images != "" {
		return nil, nil
	}
	return dataset.ImageFolders(s.Input, s.Columns.Path)
}

// startOf returns the file or run that a training starts from. If the run already has a
// checkpoint it no longer needs that file, so startOf returns "" if the file is gone.
func startOf(s *trainSettings) string {
	path := cmp.Or(s.Model.Weights, s.From)
	if files, err := history.Files(s.Out); err == nil && len(files) > 0 && len(pipeline.Missing([]string{path})) > 0 {
		return ""
	}
	return path
}

// outInInput returns an error if the output is inside the class folders, because the next
// build would read it as images. Other data sets list their images by name.
func (s *shardsSettings) outInInput() error {
	if s.Dataset != "folder" {
		return nil
	}
	for key, in := range map[string]string{"input": s.Input, "images": s.Images} {
		if inside, err := dataset.Within(in, s.Out); err != nil {
			return err
		} else if inside {
			return withHint(usagef("out is %s, which is inside %s, %s: the next build would read the data set as images",
				s.Out, key, in), "name a folder next to it: --out %s", filepath.Base(filepath.Clean(in))+"-shards")
		}
	}
	return nil
}

// sourceError adds exit codes to the errors of an importer.
func sourceError(err error) error {
	if errors.As(err, new(*registry.UnknownError)) {
		return withCode(exitUsage, err)
	}
	return err
}

// importer returns the importer of the data set. It returns a usage error if the data set
// is csv and the input is a folder.
func (s *shardsSettings) importer() (dataset.Importer, error) {
	importer, err := dataset.Find(s.Dataset)
	if info, other := os.Stat(s.Input); err == nil && s.Dataset == "csv" && other == nil && info.IsDir() {
		err = withHint(fmt.Errorf("input is the folder %s, but the data set csv reads a table", s.Input),
			"use --dataset %s to read it; read a published data set by its own name", dataset.Kind(s.Input))
	}
	return importer, err
}

// checkLevelCount returns an error for more levels than training and evaluation support.
func checkLevelCount(levels []string) error {
	if n := len(levels); n > retrieval.MostLevels {
		return usagef("there are %d levels; want at most %d: name fewer with --levels", n, retrieval.MostLevels)
	}
	return nil
}
