package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

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

// stages returns the pipeline of hgld: a table with a row for each stage, in order. The file of
// its command declares the row: name, command, settings, inputs, outputs and checks.
func stages() *pipeline.Pipeline { return stagesUntil(context.Background()) }

// stagesUntil returns the pipeline. Reads of data sets in an object store end with the context.
func stagesUntil(ctx context.Context) *pipeline.Pipeline {
	return &pipeline.Pipeline{
		Stages: []pipeline.Stage{
			scrapeStage().Stage, embedStage().Stage, clusterStage().Stage, curateStage().Stage,
			labelsStage().Stage, shardsStage().Stage, trainStage().Stage, evalStage().Stage,
		},
		Keys: []string{deviceKey}, Words: history.Synonyms, Tool: version,
		Folder: identifyFolder, Address: identifyAddress(ctx), Ended: ended, Kinds: outputKinds(),
	}
}

// onJob adapts a function that takes a *job to the pipeline, which passes its job through.
func onJob[S any](run func(*job, *S) error) func(pipeline.Job, *S) error {
	return func(j pipeline.Job, s *S) error { return run(j.(*job), s) }
}

// stageAction makes the command-line action of a stage.
func stageAction(s pipeline.Stage) cli.ActionFunc {
	return func(c *cli.Context) error {
		j, err := newJob(c)
		if err != nil {
			return err
		}
		own := s.Settings()
		if err := j.project.Load(c, s.Name, own); err != nil {
			return err
		}
		return s.Execute(j, own)
	}
}

// stageCommand makes the command of a stage: its flags come from the settings.
func stageCommand(s pipeline.Stage, name, usage, examples string) *cli.Command {
	flags := append(flagsOf(s.Settings()), stageFlags()...)
	if s.Name != trainStage().Name { // it writes no file that it could replace
		flags = append(flags, replaceFlag())
	}
	return &cli.Command{
		Name: name, Usage: usage, Description: examples,
		Flags:  flags,
		Action: stageAction(s),
	}
}

// identifyFolder returns the files that identify a data set or a run directory.
func identifyFolder(dir string) (pipeline.Folder, bool, error) {
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
		if errors.As(shards.CheckSizes(context.Background(), dir), &damage) && damage.File != shards.ManifestFile {
			known.Damage = damage.Error() // a damaged manifest has another hash, or is not ours
		}
		return known, true, nil
	}
	return pipeline.Folder{Files: files}, len(files) > 0, nil
}

// identifyAddress returns a function that identifies the data set at an address by its manifest.
func identifyAddress(ctx context.Context) func(place string) (string, error) {
	return func(place string) (string, error) {
		text, err := shards.ReadFile(ctx, place, shards.ManifestFile)
		if err != nil {
			return "", err
		}
		return filehash.Text(text), nil
	}
}

// fileAdvice handles a file that does not exist. It says which file was probably meant, or
// returns "".
func fileAdvice(f settings.Field, path string) string {
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
	return "want a file of weights: hgld models show " + word(path) + " says where they are published"
}
