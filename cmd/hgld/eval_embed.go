package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/internal/img"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/labels"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/train"
	"hgld/train/embeddings"
	"hgld/train/index"
	"hgld/train/input"
)

const evalEmbedExamples = "  hgld eval embed photos                  photos.npy of a folder of images; " +
	"photos.csv has ids and classes\n" +
	"  hgld eval embed --run runs/happier --best --out photos.parquet photos.zip\n" +
	"  hgld eval embed --split test shards     a split of shards, as hgld eval run measures it\n" +
	"  hgld eval embed --slice 2/8 shards      the second of every eight parts; machines may share the folder\n" +
	"  hgld eval embed --slice finish shards   the files of the parts that slices have left\n" +
	"  hgld eval embed --run runs/head --labels l.csv e.npy\n" +
	"                                          vectors of another model, through a head trained on its vectors\n\n" +
	"  An interrupted command continues where it stopped. hgld eval run --embeddings measures the vectors,\n" +
	"  and hgld search finds the nearest of them."

func evalEmbedCommand() *cli.Command {
	return &cli.Command{
		Name: "embed", Usage: "embed images, shards or vectors with a trained model", ArgsUsage: "DATA",
		Description: evalEmbedExamples,
		Flags: slices.Concat(commonFlags(), trainedFlags(), []cli.Flag{
			&cli.StringFlag{Name: "labels", Usage: "`FILE` with the labels of vectors"},
			&cli.StringSliceFlag{Name: "levels", Usage: "label `COLUMNS` of vectors, finest first; empty: those that may be levels"},
			&cli.StringSliceFlag{Name: "missing", Usage: "`CELLS` of the labels that mean no class, as in hgld eval run"},
		}, embedFlags()),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			o := newEmbedChoice(c, newTrainedChoice(c, j.project))
			o.command, o.example = "eval embed", "hgld eval embed --run runs/default photos"
			o.labels = vectorLabels{c.String("labels"), settings.Split(c.StringSlice("levels")),
				settings.Split(c.StringSlice("missing"))}
			return errors.Join(o.run(j), j.Close())
		},
	}
}

// trainedFlags are the flags of a trainedChoice.
func trainedFlags() []cli.Flag { return []cli.Flag{runFlag(), bestFlag()} }

// runFlag and bestFlag choose the checkpoint of a run.
func runFlag() cli.Flag {
	return &cli.StringFlag{Name: "run", Value: "runs/default", Usage: "run directory `DIR`, or one of its checkpoints"}
}

func bestFlag() cli.Flag {
	return &cli.BoolFlag{Name: "best", Usage: "use the best checkpoint of the run, not the newest"}
}

// sideFlag is the flag of index.Writer's Side.
func sideFlag(value int) cli.Flag {
	return &cli.IntFlag{Name: "side", Value: value, Usage: "embed each image in its own shape, with a longer side of at " +
		"most `PIXELS`; 0: cropped as in an evaluation"}
}

// embedder opens the model of an embedding.
type embedder interface {
	// open returns the model and a description of its weights.
	open(j *job) (*train.Model, string, error)
	// source is the run, or the file of weights.
	source() string
}

// trainedChoice chooses the model of a run.
type trainedChoice struct {
	evalModelSettings
	threads int
}

func newTrainedChoice(c *cli.Context, p *pipeline.Project) *trainedChoice {
	return &trainedChoice{evalModelSettings{Run: p.Join(c.String("run")), Best: c.Bool("best")}, c.Int("threads")}
}

func (c *trainedChoice) open(j *job) (*train.Model, string, error) {
	m, err := c.evalModelSettings.open(j, c.threads)
	if err != nil {
		return nil, "", err
	}
	return m, c.stepsText(m), nil
}

func (c *trainedChoice) source() string { return c.Run }

// embedChoice holds the flags of `hgld eval embed` and `hgld embed-images`.
type embedChoice struct {
	command, example string
	model            embedder
	split, out       string
	slice            string // --slice
	side             int
	labels           vectorLabels
	missing          float64
}

// embedFlags are the flags of an embedChoice.
func embedFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "split", Usage: "`SPLIT` of shards; empty: all"},
		&cli.StringFlag{Name: "out", Usage: "`FILE` to write, .npy or .parquet; empty: DATA.npy in the current folder"},
		sliceFlag(), sideFlag(0),
		&cli.Float64Flag{Name: "allow-missing", Value: 0.01, Usage: "`SHARE` of images that may be broken, 0 to 1"},
		&cli.IntFlag{Name: "limit", Usage: "trial: only the first `N` items"},
		threadsFlag(), replaceFlag(), deviceFlag(),
	}
}

func newEmbedChoice(c *cli.Context, model embedder) *embedChoice {
	return &embedChoice{model: model, split: c.String("split"), out: c.String("out"), side: c.Int("side"),
		missing: c.Float64("allow-missing"), slice: c.String("slice")}
}

func (o *embedChoice) check(j *job) error {
	if len(j.args) != 1 {
		return withHint(usagef("%s takes one folder, archive or file; got %d", o.command, len(j.args)), "%s",
			o.example)
	}
	if o.out == "" {
		o.out = stemOf(j.args[0]) + ".npy"
	}
	if kinds := []string{".npy", ".parquet"}; !slices.Contains(kinds, filepath.Ext(o.out)) {
		return withCode(exitUsage, fmt.Errorf("--out %s: %w", o.out, registry.Unknown("kind of file", filepath.Ext(o.out),
			kinds)))
	}
	if !(o.missing >= 0 && o.missing <= 1) {
		return usagef("--allow-missing is %v, want a share from 0 to 1", o.missing)
	}
	return j.checkOutputs(o.command, []string{j.args[0], o.labels.file, o.model.source()},
		pipeline.Output{Path: o.out, Kind: kindIndex})
}

func (o *embedChoice) run(j *job) (err error) {
	if o.slice == "" {
		if err := j.findRanks(); err != nil {
			return err
		}
		if err := j.spread(j.device); err != nil {
			return err
		}
	}
	err = o.embed(j)
	return j.ranks.leave(err)
}

func (o *embedChoice) embed(j *job) (err error) {
	if err := o.check(j); err != nil {
		return err
	}
	n, of, err := o.sliceOf()
	if err != nil {
		return err
	}
	if j.ranks != nil {
		if n, of, err = j.shareEmbedding(); err != nil {
			return err
		}
	}
	data, closer, err := openItems(j, j.args[0], o.split, o.labels)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closer.Close()) }()
	if j.limit > 0 {
		data = input.First(data, j.limit)
	}
	m, how, err := o.model.open(j)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	j.say("embedding %s with %s, %s", count(data.Len(), "item"), m.Path, how)
	p := j.progress("embed", data.Len())
	defer p.End()
	w := index.Writer{Path: o.out, Run: o.model.source(), Data: j.args[0], Skip: skipBroken, MostFailed: o.missing,
		Side: o.side, Progress: func(done, _ int) { p.Set(done, "") }}
	if n > 0 {
		s, err := w.WriteSlice(j.ctx, m, data, n, of)
		p.End()
		if err != nil {
			return embedError(j, err)
		}
		if j.ranks == nil {
			return o.reportSlice(j, s, n, of)
		}
		if j.follows() {
			return j.ranks.group.Done()
		}
		if err := j.ranks.group.Await(j.ctx); err != nil {
			return err
		}
	}
	w.Finish = o.finish() || j.ranks != nil
	info, kept, err := w.Write(j.ctx, m, data)
	if err != nil {
		return embedError(j, missingParts(err, of))
	}
	return o.report(j, info, kept)
}

// report says what was written and lists the images that were left out.
func (o *embedChoice) report(j *job, info *index.Info, kept bool) error {
	if kept {
		j.say("%s is complete: nothing to do", o.out)
	}
	listBroken(j, info.Failed)
	if j.json {
		if err := writeJSON(j, info); err != nil {
			return err
		}
	} else {
		j.print("%s: %d vectors of %d numbers\n", o.out, info.Rows, info.Width)
	}
	if n := len(info.Failed); n > 0 {
		return withHint(withCode(exitSomeFailed, fmt.Errorf("%s: %s left out", o.command, count(n, "image"))),
			"%s lists them under failed; all other images have vectors", index.InfoFile(o.out))
	}
	return nil
}

// listBroken shows the first images that were left out.
func listBroken(j *job, failed []index.Failure) {
	const few = 10
	for _, f := range failed[:min(few, len(failed))] {
		j.say("%s: %s", f.ID, f.Error)
	}
	if n := len(failed) - few; n > 0 {
		j.say("and %d more", n)
	}
}

// embedError adds the exit code and the next step.
func embedError(j *job, err error) error {
	var refused *index.FailedError
	if errors.As(err, &refused) {
		listBroken(j, refused.Failed)
		return withHint(withCode(exitSomeFailed, err),
			"repair or remove these images, or allow a larger share with --allow-missing")
	}
	return err
}

// skipBroken leaves out files that cannot be read or decoded as images.
func skipBroken(err *input.ImageError) bool { return err.Decoding || dataset.Unreadable(err.Err) }

// vectorLabels names the labels of vectors, as the settings of eval do.
type vectorLabels struct {
	file            string
	levels, missing []string
}

// openItems opens the items to embed or show: shards, images in a folder or archive, or vectors.
func openItems(j *job, path, split string, l vectorLabels) (input.Dataset, io.Closer, error) {
	of := !shards.IsDataSet(j.ctx, path)
	switch vectored := embeddings.IsKind(path); {
	case split != "" && of:
		return nil, nil, usagef("--split %s applies to shards, and %s is not a folder of shards", split, path)
	case l.file != "" && !vectored:
		return nil, nil, usagef("--labels %s applies to vectors, and %s is not a file of vectors", l.file, path)
	case vectored:
		d, err := embeddings.ReadFrozen(&embeddings.Input{Embeddings: path, Labels: l.file, Columns: l.levels,
			Missing: l.missing, Open: openVectors, Verify: verifyVectors(j.ctx),
			Recorded: index.Recorded, Say: j.say})
		return d, io.NopCloser(nil), asUsage(err)
	case !of:
		return openSplits(j.ctx, path, split)
	}
	d, err := openImages(j, path)
	if err != nil {
		return nil, nil, err
	}
	if d.Levels() == nil {
		j.say("the images of %s get ids, but no classes: they are not all in folders of one depth", path)
	}
	return d, d, nil
}

// openImages opens the images in a folder or archive.
func openImages(j *job, path string) (*dataset.Images, error) {
	decoder, _, err := imageDecoder()
	if err != nil {
		return nil, err
	}
	d, err := dataset.OpenImages(j.ctx, path, img.HEIFExtensions(decoder.HEIF)...)
	if err != nil {
		return nil, asUsage(err)
	}
	j.sayAll("note: %s", d.Notes())
	return d, nil
}

// openSplits opens one split of shards, or all of them concatenated.
func openSplits(ctx context.Context, folder, split string) (input.Dataset, io.Closer, error) {
	set, err := openShards(ctx, folder)
	if err != nil {
		return nil, nil, err
	}
	names := []labels.Split{labels.Split(split)}
	if split == "" {
		names = set.Manifest().Splits()
	}
	var parts []input.Dataset
	for _, name := range names {
		v, err := set.Split(name)
		if err != nil {
			return nil, nil, errors.Join(withCode(exitUsage, err), set.Close())
		}
		parts = append(parts, v)
	}
	if len(parts) == 1 {
		return parts[0], set, nil
	}
	return input.Join(parts...), set, nil
}
