package main

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"

	"hgld/internal/filehash"
	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/shards"
	"hgld/train/history"
)

// project is a folder with a hgld.yaml, or none.
type project = pipeline.Project

// projectFile is the name of a project's configuration.
const projectFile = pipeline.ProjectFile

// stages returns the pipeline of hgld. Each stage is a section of hgld.yaml.
func stages() *pipeline.Pipeline {
	return &pipeline.Pipeline{
		Stages: []pipeline.Stage{
			scrapeStage().Stage, embedStage().Stage, clusterStage().Stage, curateStage().Stage,
			labelsStage().Stage, shardsStage().Stage, trainStage().Stage, evalStage().Stage,
		},
		Keys: []string{deviceKey}, Words: keysElsewhere, Tool: version,
		Folder: knownFolder, Advice: publishedWeights,
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
	files, err := runFiles(dir)
	if err != nil {
		return pipeline.Folder{}, false, err
	}
	for _, name := range []string{shards.ManifestFile, "SHA256SUMS"} {
		if there, err := isThere(filepath.Join(dir, name)); err != nil {
			return pipeline.Folder{}, false, err
		} else if !there {
			continue
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

// runFiles lists what makes up a run directory: its settings, the sums of its
// checkpoints, and which is the best. The logs beside them grow whenever the run is
// looked at again. It returns none for a folder without checkpoints.
func runFiles(dir string) ([]string, error) {
	checkpoints, err := os.ReadDir(filepath.Join(dir, history.CheckpointsFolder)) // fs.Glob hides errors
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, c := range checkpoints {
		name := path.Join(history.CheckpointsFolder, c.Name(), "SHA256SUMS")
		if there, err := isThere(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return nil, err
		} else if there {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	for _, name := range []string{settingsFile, "best.json"} {
		if there, err := isThere(filepath.Join(dir, name)); err != nil {
			return nil, err
		} else if there {
			files = append(files, name)
		}
	}
	return files, nil
}

// isThere reports whether a path leads to something. If it returns an error, nobody knows.
func isThere(path string) (bool, error) {
	_, err := os.Stat(path)
	if isMissing(err) {
		return false, nil
	}
	return err == nil, err
}

// publishedWeights says where weights are published that a setting names as if they were
// a file, or returns "".
func publishedWeights(f settings.Field, path string) string {
	known, err := knownModels()
	if err != nil || f.Flag() != "weights" {
		return ""
	}
	if !slices.ContainsFunc(known, func(k knownModel) bool { return k.Name == path }) {
		return ""
	}
	return "a file of weights is wanted: hgld models show " + path + " says where they are published"
}

// fingerprint is [pipeline.Pipeline.Fingerprint].
func fingerprint(paths []string) (map[string]string, error) { return stages().Fingerprint(paths) }

// missing is [pipeline.Missing].
func missing(paths []string) []string { return pipeline.Missing(paths) }

// isMissing is [pipeline.IsMissing].
func isMissing(err error) bool { return pipeline.IsMissing(err) }

// sha256File returns the SHA-256 of a file, in hex.
func sha256File(path string) (string, error) {
	sum, _, err := filehash.SHA256(context.Background(), path)
	return sum, err
}
