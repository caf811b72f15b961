package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hgld/labels"
	"hgld/shards"
	"hgld/train/evaluation"
	"hgld/train/experiment/runs"
	"hgld/train/input"
	"hgld/train/landmarks"
	"hgld/train/selection"
)

// openTrainingData opens the images or vectors of a run, and the benchmarks of landmarks that it is measured on.
func openTrainingData(j *job, s *trainSettings) (*selection.Data, error) {
	data, err := openDataOf(j.ctx, &s.Images, j.log)
	if err != nil {
		return nil, err
	}
	if err := openLandmarks(j, &s.Landmarks, data); err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return data, nil
}

// openLandmarks adds benchmarks of landmarks to the data of a run.
func openLandmarks(j *job, l *runs.Landmarks, data *selection.Data) error {
	if len(l.Truth) != len(l.Images) {
		return usagef("landmarks.truth names %s and landmarks.images %s, want a folder for each truth",
			count(len(l.Truth), "file"), count(len(l.Images), "folder"))
	}
	for i, truth := range l.Truth {
		open := openRevisited
		if filepath.Ext(truth) == ".csv" {
			open = openSolution
		}
		of, err := open(j, truth, l.Images[i], data)
		if err != nil {
			return err
		}
		name := filepath.Base(truth)
		of.Name, of.Side = strings.TrimSuffix(name, filepath.Ext(name)), l.Side
		data.Landmarks = append(data.Landmarks, *of)
	}
	return nil
}

// openRevisited opens Revisited Oxford or Paris: its truth and the folder of its images, which data closes.
func openRevisited(j *job, truth, path string, data *selection.Data) (*evaluation.Landmarks, error) {
	benchmark, err := landmarks.Read(truth)
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	folder, err := openImages(j, path)
	if err != nil {
		return nil, err
	}
	data.Also = append(data.Also, folder)
	images, err := findLandmarks(benchmark, path, folder)
	if err != nil {
		return nil, err
	}
	return &evaluation.Landmarks{Queries: images.Queries, Gallery: images.Gallery,
		Measure: landmarks.Revisited(benchmark.Truths)}, nil
}

// openSolution opens Google Landmarks v2 retrieval: its solution and the shards of its images, which data closes.
func openSolution(j *job, truth, path string, data *selection.Data) (*evaluation.Landmarks, error) {
	if !shards.IsDataSet(j.ctx, path) {
		return nil, withHint(usagef("%s is not a folder of shards; want those of the splits test and index for %s", path,
			truth), "hgld shards build --dataset gldv2 makes them")
	}
	var sets [2]input.Dataset
	for i, split := range []labels.Split{labels.Test, labels.Index} {
		set, closer, err := openSplits(j.ctx, path, string(split))
		if err != nil {
			return nil, err
		}
		sets[i], data.Also = set, append(data.Also, closer)
	}
	solution, err := landmarks.ReadSolution(truth, sets[0], sets[1])
	if err != nil {
		return nil, asUsage(err)
	}
	j.logAll("%s", solution.Notes)
	return &evaluation.Landmarks{Queries: solution.Queries, Gallery: sets[1], Measure: solution.Measure()}, nil
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
