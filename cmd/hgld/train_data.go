package main

import (
	"context"
	"errors"
	"io/fs"

	"hgld/labels"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/train/config"
	"hgld/train/index"
	"hgld/train/input"
	"hgld/train/retrieval"
	"hgld/train/selection"
)

// openData opens the images or vectors of a selection. Errors get exit codes and hints.
func openData(ctx context.Context, s *selection.Images) (*selection.Data, error) {
	return openDataOf(ctx, s, nil)
}

// openDataOf is openData with remarks on labels of vectors and on held-out classes.
func openDataOf(ctx context.Context, s *selection.Images, log func(format string, args ...any)) (*selection.Data,
	error) {
	open := func(folder string) (selection.Set, error) {
		set, err := openShards(ctx, folder)
		switch {
		case err == nil:
			return set, nil
		case folder == s.Data && dataset.NotShards(folder) != nil:
			return nil, dataset.NotShards(folder)
		case folder == s.Data && errors.Is(err, fs.ErrNotExist):
			return nil, withHint(err, "name another folder of shards with --data FOLDER")
		}
		return nil, err
	}
	d, err := s.Open(selection.Opener{Vectors: openVectors, Verify: verifyVectors(ctx), Recorded: index.Recorded,
		Shards: open, Log: log})
	if s.Embeddings != "" {
		err = labelsHint(asUsage(err), "hgld train run")
	}
	return d, err
}

// openShards opens a folder of shards.
func openShards(ctx context.Context, folder string) (splitSet, error) {
	set, err := shards.Open(ctx, folder)
	return splitSet{set}, err
}

// splitSet adapts a set of shards to selection.Set.
type splitSet struct{ *shards.Set }

// Split implements selection.Set.
func (s splitSet) Split(name labels.Split) (input.Dataset, error) {
	v, err := s.Set.Split(name)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// selectionAdvice has the exit codes and next steps for errors in the choice of images.
var selectionAdvice = []advice{
	kind[*selection.Error](exitUsage, nil),
	kind(exitUsage, func(*selection.NoSplitsError) string {
		return "--hold-out 0.2 keeps a fifth of the classes for validation"
	}),
	kind[*retrieval.LevelsError](exitUsage, nil),
	kind(exitUsage, func(*config.ShapeError) string { return "--side 0 crops them, as in other evaluations" }),
}
