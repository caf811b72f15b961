package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/regular"
	"hgld/internal/terminal"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/shards/provenance"
)

// shardsBuild holds the flags of `hgld shards build` that apply to one invocation, and therefore are not settings.
type shardsBuild struct {
	slice   slice
	replace bool   // a data set that others depend on
	scratch string // folder for shards that are being written; "": their own
}

// shardsBuildCommand builds a data set, or one slice of it, joins the slices, or prints what is left to do.
func shardsBuildCommand() *cli.Command {
	cmd := stageCommand(shardsStage().Stage, "build",
		"write images and classes as Parquet, whole or by slices; run it again to resume", shardsBuildExamples())
	cmd.Flags = append(cmd.Flags, dryRunFlag(), storeFlag(), sliceFlag("", sliceFinish, sliceMissing),
		&cli.StringFlag{Name: "memory",
			Usage: "free memory early, to stay below this `SIZE`, such as 500MB, if the data fits; empty: no limit"},
		&cli.StringFlag{Name: "scratch", Usage: "`DIR` on a fast local disk for shards that are being written; empty: " +
			"beside their final names, or in the cache of the object store"})
	cmd.Action = func(c *cli.Context) error {
		part, err := sliceOf(c, sliceFinish, sliceMissing)
		if err := errors.Join(err, limitMemory(c)); err != nil {
			return err
		}
		b, plan := shardsBuild{part, c.Bool("replace"), c.String("scratch")}, c.Bool("dry-run")
		if part.kind == sliceWhole && !plan {
			return stageAction(shardsStageOf(b).Stage)(c)
		}
		j, err := newJob(c)
		if err != nil {
			return err
		}
		s, err := shardsStage().Load(j.project, c)
		if err != nil {
			return err
		}
		if part.kind == sliceFinish && !plan {
			return b.finish(j, s)
		}
		if err := shardsStage().TrustInputs(j, s); err != nil {
			return err
		}
		if plan || part.kind == sliceMissing {
			return b.plan(j, s)
		}
		if err := shardsStage().CheckOutputs(j, s); err != nil {
			return err
		}
		return b.run(j, s)
	}
	return cmd
}

func shardsBuildExamples() string {
	text := "  hgld shards build --dataset folder --input photos               photos/fruit/apple/1.jpg: two levels\n" +
		"  hgld shards build --input photos.csv --levels fine,coarse       paths and label columns\n" +
		"  hgld shards build --input photos.csv --images photos.zip …      read the images from the archive\n" +
		"  hgld shards build --input images.csv --labels labels.csv        landmarks with the labels of stage 3\n" +
		"  hgld shards build --dataset sop --input Stanford_Online_Products\n" +
		"  hgld shards build --dataset inaturalist --input inat2018 --levels species,group\n" +
		"  hgld shards build --short-side 0                                keep every file unchanged\n" +
		"  hgld shards build --allow-missing 0.05                          accept up to 5 % missing or broken images\n" +
		"  hgld shards build … --dry-run                                   list the shards, and which exist\n" +
		"  hgld shards build … --slice 3/8                                 shards 3, 11, 19 …\n" +
		"  sbatch --array=1-8 --wrap 'hgld shards build … --slice auto/8'  task N of the array builds slice N\n" +
		"  sbatch --array=$(hgld shards build … --slice missing/8) …       only the missing slices, same --wrap\n" +
		"  hgld shards build … --slice finish                              join the slices\n" +
		"\nDATA SETS:\n"
	for _, e := range dataset.All {
		text += fmt.Sprintf("  %-12s %s\n", e.Name, e.About)
	}
	return strings.TrimSuffix(text, "\n")
}

// limitMemory sets the limit of --memory. Close to it, the command is slower.
func limitMemory(c *cli.Context) error {
	text := c.String("memory")
	if text == "" {
		return nil
	}
	size, err := shards.ParseSize(text)
	if err != nil {
		return usagef("--memory: %w", err)
	}
	debug.SetMemoryLimit(size)
	return nil
}

// checkScratch returns a usage error unless dir is empty or a local folder outside of the data set.
func checkScratch(dir, out string) error {
	if dir == "" {
		return nil
	}
	if err := regular.CheckPath(dir); err != nil {
		return usagef("--scratch: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return withHint(usagef("--scratch: %s is not a directory", dir), "create it, or name one that exists")
	}
	inside, err := dataset.Within(out, dir)
	if inside {
		err = withHint(usagef("--scratch: %s is inside the data set %s", dir, out),
			"name a folder on a local disk, such as $TMPDIR")
	}
	return err
}

// run builds the data set or a slice of it.
func (b *shardsBuild) run(j *job, s *shardsSettings) error {
	if err := checkScratch(b.scratch, s.Out); err != nil {
		return err
	}
	n, of := b.slice.n, b.slice.of
	part := b.slice.kind == slicePart
	var wanted func(int) bool
	if part {
		wanted = shards.OfSlice(n, of)
	}
	src, o, err := s.openSource(j, wanted)
	if err != nil {
		return err
	}
	o.Replace, o.Scratch = b.replace, b.scratch
	if o.Made, err = provenance.Of(j.ctx, projectRecords{j.project}, s.source()); err != nil {
		return errors.Join(err, src.Close())
	}
	end := showImages(j, o)
	var whole *shards.Result
	var made *shards.Slice
	if part {
		made, err = shards.BuildSlice(j.ctx, src, s.Out, n, of, *o)
	} else {
		whole, err = shards.Build(j.ctx, src, s.Out, *o)
	}
	end()
	if err := errors.Join(err, src.Close()); err != nil {
		return s.refused(j, err)
	}
	if w, is := src.(*dataset.Excluding); is && w.Unknown() > 0 {
		j.log("note: %s of %s without an image in the data set", count(w.Unknown(), "line"), s.Exclude)
	}
	if !part {
		return s.report(j, whole, "run the same command again")
	}
	if j.json {
		err = writeJSON(j, map[string]any{"slice": n, "of": of, "shards": made.Shards, "kept": made.Kept,
			"images": made.Images, "failures": len(made.Failures)})
	} else {
		j.print("slice %d of %d: %s in %s, %d already built\n", n, of, count(made.Images, "image"),
			count(made.Shards, "shard"), made.Kept)
	}
	return errors.Join(err, failureError(made.Failures, "`hgld shards build --slice finish` lists them in "+shards.FailuresFile))
}

// refused lists the images that kept a data set from being published: all of them as JSON, or the first few as text. It
// returns the error with the next step.
func (s *shardsSettings) refused(j *job, err error) error {
	var refused *shards.RefusedError
	switch {
	case !errors.As(err, &refused):
	case j.json:
		refused.WriteJSON(j.stdout)
	case len(refused.Failures) > 1: // if there is only one, the error names it
		j.log("%s", refused.List(10, "--json prints all"))
	}
	return shardsError(err)
}

// report prints a finished data set. It returns an error for images that were left out; again is how to try them again.
func (s *shardsSettings) report(j *job, r *shards.Result, again string) (err error) {
	switch {
	case j.json:
		err = writeJSON(j, r.Manifest.Summary())
	case r.Before:
		j.print("%s is already finished; `hgld shards check` compares it with its hashes\n", s.Out)
	default:
		j.logAll("note: %s", r.Notes)
		j.print("%s", r.Manifest.BuiltText())
		if r.Kept > 0 {
			j.log("%s already built", count(r.Kept, "shard"))
		}
		j.print("%s written\n", s.Out)
	}
	return errors.Join(err, failureError(r.Failures, s.Out+"/"+shards.FailuresFile+" lists them; repair them, and "+again))
}

// failureError returns an error that counts the missing images by reason, nil for none.
func failureError(failures []shards.Failure, hint string) error {
	if len(failures) == 0 {
		return nil
	}
	err := fmt.Errorf("shards build: %s left out (%s)", count(len(failures), "image"), shards.CountFailures(failures))
	return withHint(withCode(exitSomeFailed, err), "%s", hint)
}

// showImages shows the number of finished images.
func showImages(j *job, o *shards.Options) (end func()) {
	var bar *terminal.Progress
	o.Progress = func(done, total int, shard string) {
		if bar == nil {
			bar = j.progress("images", total)
		}
		bar.Set(done, shard)
	}
	return func() {
		if bar != nil {
			bar.End()
		}
	}
}

// plan lists the shards of a build, or the slices that must still run.
func (b *shardsBuild) plan(j *job, s *shardsSettings) error {
	if b.slice.kind == slicePart || b.slice.kind == sliceFinish {
		return usagef("--dry-run lists the shards of all slices; leave --slice out, or use --slice missing/T")
	}
	src, o, err := s.openSource(j, func(int) bool { return false })
	if err != nil {
		return err
	}
	p, err := shards.Plan(j.ctx, src, s.Out, *o)
	if err := errors.Join(err, src.Close()); err != nil {
		return shardsError(err)
	}
	j.log("%s", p.CostText())
	if b.slice.kind == sliceMissing {
		list, err := p.Slices(b.slice.of)
		if err != nil {
			return shardsError(err)
		}
		var missing []string
		for _, s := range list {
			if !s.Done {
				missing = append(missing, strconv.Itoa(s.Slice))
			}
		}
		j.log("%s", strings.TrimSuffix(shards.SlicesText(list), "\n"))
		return j.show(list, strings.Join(missing, ",")+"\n")
	}
	return j.show(p.Shards, shards.PlanText(p.Shards))
}

// finish joins the slices. In a project, the stage is then done, as after a build of the whole.
func (b *shardsBuild) finish(j *job, s *shardsSettings) error {
	o, err := s.options(j)
	if err != nil {
		return err
	}
	o.Replace = b.replace
	result, err := shards.Finish(j.ctx, s.Out, o)
	if err != nil {
		return s.refused(j, err)
	}
	err = s.report(j, result, "build the slices again")
	_, again := ended(err)
	return errors.Join(err, recordFinished(j, s, o.Settings, result.Manifest, again))
}

// recordFinished records a data set made of slices as the result of the stage, if the slices were built with these
// settings. An input that was changed after the slices had read it is recorded as they read it.
func recordFinished(j *job, s *shardsSettings, own shards.Settings, m *shards.Manifest, again bool) error {
	if j.project.File == "" {
		return nil
	}
	configured, err := shardsStage().Load(j.project, nil)
	if err != nil || !atomicfile.Same(s.Out, configured.Out) {
		return err // the project does not use this data set
	}
	build, err := shards.ReadFile(j.ctx, s.Out, shards.BuildFile)
	if err != nil {
		return err
	}
	same, err := s.source().MadeBy(build)
	if err != nil {
		return fmt.Errorf("%s/%s: %w", s.Out, shards.BuildFile, err)
	}
	if !same || m.Settings != own {
		j.log("note: %s was built with other settings than these, so `hgld status` does not count it as done", s.Out)
		return nil
	}
	before, err := shardsStage().InputPrints(j.project, s)
	if err != nil {
		return err
	}
	for path, print := range before {
		read := slices.IndexFunc(m.Inputs, func(in shards.Input) bool { return in.Name == filepath.Base(path) })
		if read < 0 || print == "" {
			continue
		}
		info, err := os.Stat(path)
		if err == nil && info.Mode().IsRegular() && info.Size() <= pipeline.WholeFile { // its print is its SHA-256
			before[path] = m.Inputs[read].SHA256.String()
		}
	}
	_, out := shardsStage().Files(s)
	return shardsStage().Record(j, s, before, out, again)
}

// slicesAdvice has the exit codes and next steps for errors of a data set that is built in slices.
var slicesAdvice = []advice{
	kind(exitUsage, func(e *shards.MissingSlicesError) string {
		if len(e.Missing) == 0 {
			return "`hgld shards build --slice N/T` builds one; `hgld shards build` builds everything"
		}
		return fmt.Sprintf("build them: hgld shards build … --slice %d/%d", e.Missing[0], e.Of)
	}),
	kind(exitUsage, func(*shards.SettingsError) string {
		return "repeat the flags of the slices with --slice finish: the settings must be equal"
	}),
}
