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
	"hgld/internal/usage"
	"hgld/labels"
	"hgld/shards"
	"hgld/train/backbone"
	"hgld/train/embeddings"
	"hgld/train/experiment/runs"
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
		Top: defaultMachine, Words: runs.Synonyms, Former: runs.FormerKeys, Tool: version,
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
		Name: name, Usage: usage, Description: examples, UsageText: settingsOnly(s),
		Flags:  flags,
		Action: stageAction(s),
	}
}

// settingsOnly is the last line of a stage's help: the settings and the groups of settings that have no flag.
func settingsOnly(s pipeline.Stage) string {
	var names []string
	for _, f := range settings.Fields(s.Settings()) {
		if !f.HasFlag() && !slices.Contains(names, f.Path[0]) {
			names = append(names, f.Path[0])
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("Settings only (-o): %s; `hgld config show %s` explains them", strings.Join(names, ", "), s.Name)
}

// overrideOnly is the last line of the help of a command that has no flags for the settings of a stage.
func overrideOnly(section string) string {
	return fmt.Sprintf("All settings by -o KEY=VALUE; `hgld config show %s` explains them", section)
}

// identifyFolder returns the files that identify a data set or a run directory.
func identifyFolder(dir string) (pipeline.Folder, bool, error) {
	files, err := runs.Files(dir)
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

// projectAdvice has the exit codes and next steps for errors of a project and its stages.
var projectAdvice = []advice{
	kind[*usage.Error](exitUsage, nil),
	kind(exitOK, func(*pipeline.StagesError) string {
		return "hgld config show --origin says where a value comes from"
	}),
	kind(exitNoProject, func(e *pipeline.NoProjectError) string {
		if e.Dir == "" {
			return "`hgld init my-project` starts a project; `hgld demo` shows one"
		}
		return fmt.Sprintf("`hgld init %s` starts a project there", word(e.Dir))
	}),
	kind(exitUsage, func(*pipeline.LiteralTildeError) string { return homeHint }),
	kind(exitUsage, occupiedOutput),
	kind(exitUsage, func(e *pipeline.StoreError) string {
		return fmt.Sprintf("read what the project would send there; `%s` then allows it, and remembers that outside the project",
			typed(e.Project, "status --allow-store"))
	}),
	kind(exitUsage, func(e *pipeline.StageDisabledError) string { return fmt.Sprintf("add %s to that list", e.Stage) }),
	kind(exitIntegrity, changedInput),
	kind(exitIntegrity, func(e *pipeline.StampError) string {
		return fmt.Sprintf("delete it, and `hgld %s` writes it again", e.Command)
	}),
	kind(exitOK, missingInput),
	kind(exitSomeFailed, stoppedRun),
}

// occupiedOutput is the hint for an output that is not free.
func occupiedOutput(e *pipeline.OutputError) string {
	switch {
	case e.Folder:
		return "name a new or empty folder"
	case e.Edited && e.Command == "curate apply":
		return fmt.Sprintf("`hgld curate import --log LOG %s` makes edits of the changes; `hgld %s --replace` overwrites the file",
			word(filepath.Base(e.Path)), e.Command)
	case e.Replaceable:
		return fmt.Sprintf("name another file, or overwrite this one: `hgld %s --replace`", e.Command)
	}
	return "name another file"
}

// stoppedRun is the hint for a run that ended before its last stage.
func stoppedRun(e *pipeline.StoppedError) string {
	again := typed(e.Project, "run")
	if e.Retryable {
		return fmt.Sprintf("`%s` tries them again first; `%s` goes on without them", again, typed(e.Project, e.Next))
	}
	return fmt.Sprintf("`%s` goes on without them", again)
}

// changedInput is the hint for an input that was changed after a stage wrote it.
func changedInput(e *pipeline.ChangedError) string {
	again := typed(e.Project, e.Writer)
	way := "`%s` writes it again"
	switch {
	case e.Writer == e.Reader:
		way = "delete it, and `%s` makes it again"
	case e.Kept:
		again += " --replace"
	}
	return fmt.Sprintf(way+"; if it was changed on purpose, --accept-changed accepts it and records that", again)
}

const homeHint = "only a shell replaces ~ by your home folder, and only at the start of a word: write the folder out"

// missingInput is the hint for an input that does not exist.
func missingInput(e *pipeline.MissingInputError) string {
	switch {
	case e.Writer != "":
		return fmt.Sprintf("`%s` writes it", typed(e.Project, e.Writer))
	case e.Setting != nil && e.Setting.Key() == "logs" && e.Project.Origin("curate.logs") == "default":
		return fmt.Sprintf("`%s` writes it", typed(e.Project, byHand["curate"]))
	case e.Setting == nil:
		return fmt.Sprintf("name another file: hgld %s --help", e.Command)
	case slices.Contains(strings.Split(filepath.ToSlash(e.Path), "/"), "~"):
		return homeHint
	}
	if meant := fileAdvice(*e.Setting, e.Path); meant != "" {
		return meant
	}
	if now := labels.NameNow(e.Path); now != "" {
		return "its name is now " + now
	}
	if !e.Setting.HasFlag() {
		return fmt.Sprintf("name another one: -o %s=…", e.Setting.Key())
	}
	return fmt.Sprintf("name another one: --%s …", e.Setting.Flag())
}
