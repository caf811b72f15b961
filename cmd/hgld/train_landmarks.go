package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hgld/train"
	"hgld/train/history"
	"hgld/train/input"
	"hgld/train/landmarks"
	"hgld/train/selection"
)

// openTrainingData opens the images or vectors of a run, and the benchmarks of landmarks that it is measured on.
func openTrainingData(j *job, s *trainSettings) (*selection.Data, error) {
	data, err := openDataOf(j.ctx, &s.Images, j.say)
	if err != nil {
		return nil, err
	}
	if err := openLandmarks(j, &s.Landmarks, data); err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return data, nil
}

// openLandmarks adds benchmarks of landmarks to the data of a run.
func openLandmarks(j *job, l *history.Landmarks, data *selection.Data) error {
	if len(l.Truth) != len(l.Images) {
		return usagef("landmarks.truth names %s and landmarks.images %s, want a folder for each truth",
			count(len(l.Truth), "file"), count(len(l.Images), "folder"))
	}
	for i, truth := range l.Truth {
		benchmark, err := landmarks.Read(truth)
		if err != nil {
			return withCode(exitUsage, err)
		}
		folder, err := openImages(j, l.Images[i])
		if err != nil {
			return err
		}
		data.Also = append(data.Also, folder)
		images, err := findLandmarks(benchmark, l.Images[i], folder)
		if err != nil {
			return err
		}
		name := filepath.Base(truth)
		data.Landmarks = append(data.Landmarks, train.Landmarks{Name: strings.TrimSuffix(name, filepath.Ext(name)),
			Images: images, Truths: benchmark.Truths, Side: l.Side})
	}
	return nil
}

// findLandmarks finds the images of a benchmark in a folder.
func findLandmarks(b *landmarks.Benchmark, path string, folder input.Dataset) (*landmarks.Images, error) {
	images, err := b.In(folder)
	if err == nil {
		return images, nil
	}
	missing := errors.As(err, new(*landmarks.MissingError))
	err = withCode(exitUsage, fmt.Errorf("%s: %w", path, err))
	if missing {
		err = withHint(err, "name the folder with the images that the benchmark publishes, such as oxbuild_images")
	}
	return nil, err
}
