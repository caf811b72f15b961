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
		Folder: knownFolder, Ended: ended,
	}
}

// sections lists the stages in order.
func sections() []pipeline.Stage { return stages().Stages }

// stageNames lists the names of the stages in order.
func stageNames() []string { return stages().Names() }

// onJob adapts a function that takes a *job to the pipeline, which passes its job through.
func onJob[S any](run func(*job, *S) error) func(pipeline.Job, *S) error {
	return func(j pipeline.Job, s *S) error { return run(j.(*job), s) }
}

// knownFolder returns the files that identify a data set or a run directory.
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

// meantFile handles a file that does not exist. It says which file was probably meant, or
// returns "".
func meantFile(f settings.Field, path string) string {
	if meant := embeddings.Meant(path); strings.HasSuffix(f.Flag(), "embeddings") && meant != "" {
		return fmt.Sprintf("did you mean --%s %s?", f.Flag(), meant)
	}
	return publishedWeights(f, path)
}

// publishedWeights handles a network name in place of a file of weights. It says how to
// find the published weights, or returns "" if path is not such a name.
func publishedWeights(f settings.Field, path string) string {
	known, err := backbone.KnownNetworks()
	if err != nil || f.Flag() != "weights" {
		return ""
	}
	if !slices.ContainsFunc(known, func(k backbone.Known) bool { return k.Name == path }) {
		return ""
	}
	return "want a file of weights: hgld models show " + path + " says where they are published"
}

// sha256File returns the SHA-256 of a file, in hex.
func sha256File(path string) (string, error) {
	sum, _, err := filehash.SHA256(context.Background(), path)
	return sum, err
}
