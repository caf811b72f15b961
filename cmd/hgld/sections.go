package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hgld/internal/filehash"
	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/shards"
	"hgld/train/backbone"
	"hgld/train/embeddings"
	"hgld/train/history"
)

// projectFile is the name of a project's configuration.
const projectFile = pipeline.ProjectFile

// stages returns the pipeline of hgld. Each stage is a section of hgld.yaml.
func stages() *pipeline.Pipeline {
	return &pipeline.Pipeline{
		Stages: []pipeline.Stage{
			scrapeStage().Stage, embedStage().Stage, clusterStage().Stage, curateStage().Stage,
			labelsStage().Stage, shardsStage().Stage, trainStage().Stage, evalStage().Stage,
		},
		Keys: []string{deviceKey}, Words: history.Synonyms, Tool: version,
		Folder: knownFolder, Advice: meantFile,
	}
}

// sections lists the stages in order.
func sections() []pipeline.Stage { return stages().Stages }

// stageNames lists the names of the stages in order.
func stageNames() []string { return stages().Names() }

// onJob makes the function that runs a stage from one that takes this command's job. The
// engine hands back the job that it was given.
func onJob[S any](run func(*job, *S) error) func(pipeline.Job, *S) error {
	return func(j pipeline.Job, s *S) error { return run(j.(*job), s) }
}

// knownFolder returns what identifies a data set and a run directory.
func knownFolder(dir string) (pipeline.Folder, bool, error) {
	files, err := history.Files(dir)
	if err != nil {
		return pipeline.Folder{}, false, err
	}
	for _, name := range []string{shards.ManifestFile, "SHA256SUMS"} {
		if _, err := os.Stat(filepath.Join(dir, name)); pipeline.IsMissing(err) {
			continue
		} else if err != nil {
			return pipeline.Folder{}, false, err
		}
		known := pipeline.Folder{Manifest: name, Files: files}
		var damage *shards.DamageError
		if errors.As(shards.Glance(dir), &damage) && damage.File != shards.ManifestFile {
			known.Damage = damage.Error() // a damaged manifest has another hash, or is not ours
		}
		return known, true, nil
	}
	return pipeline.Folder{Files: files}, len(files) > 0, nil
}

// meantFile says which file someone may mean who names one that is not there, or returns "".
func meantFile(f settings.Field, path string) string {
	if meant := embeddings.Meant(path); strings.HasSuffix(f.Flag(), "embeddings") && meant != "" {
		return fmt.Sprintf("--%s %s is there", f.Flag(), meant)
	}
	return publishedWeights(f, path)
}

// publishedWeights says where weights are published that a setting names as if they were
// a file, or returns "".
func publishedWeights(f settings.Field, path string) string {
	known, err := backbone.KnownNetworks()
	if err != nil || f.Flag() != "weights" {
		return ""
	}
	if !slices.ContainsFunc(known, func(k backbone.Known) bool { return k.Name == path }) {
		return ""
	}
	return "a file of weights is wanted: hgld models show " + path + " says where they are published"
}

// sha256File returns the SHA-256 of a file, in hex.
func sha256File(path string) (string, error) {
	sum, _, err := filehash.SHA256(context.Background(), path)
	return sum, err
}
