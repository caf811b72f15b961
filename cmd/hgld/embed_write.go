package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/img"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/labels"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/train/embeddings"
	"hgld/train/evaluation"
	"hgld/train/index"
	"hgld/train/input"
)

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
	open(j *job) (*evaluation.Model, string, error)
	// source is the run, or the file of weights.
	source() string
}

// trainedChoice chooses the model of a run.
type trainedChoice struct {
	evalModelSettings
}

func newTrainedChoice(c *cli.Context, p *pipeline.Project) *trainedChoice {
	return &trainedChoice{evalModelSettings{Run: p.Join(c.String("run")), Best: c.Bool("best")}}
}

func (c *trainedChoice) open(j *job) (*evaluation.Model, string, error) {
	m, err := c.evalModelSettings.open(j)
	if err != nil {
		return nil, "", err
	}
	return m, c.stepsText(m), nil
}

func (c *trainedChoice) source() string { return c.Run }

// embedding holds the flags of `hgld embed-images`.
type embedding struct {
	model      embedder
	trained    bool   // the model is that of a run
	data       string // that is embedded: a path or, without one, the data of the run
	split, out string
	slice      slice
	side       int
	labels     vectorLabels
	missing    float64
}

// newEmbedding reads the flags.
func newEmbedding(c *cli.Context, j *job) (*embedding, error) {
	part, err := sliceOf(c, embedSlices...)
	if err != nil {
		return nil, err
	}
	o := &embedding{split: c.String("split"), out: c.String("out"), side: c.Int("side"), slice: part,
		missing: c.Float64("allow-missing"), trained: c.String("run") != "",
		labels: vectorLabels{file: c.String("labels"), levels: settings.Split(c.StringSlice("levels"))}}
	switch weights := c.String("weights"); {
	case o.trained == (weights != ""):
		return nil, withHint(usagef("embed-images needs one model: a run (--run) or published weights (--weights)"),
			"hgld embed-images --run runs/default photos; hgld models show clip-b32 prints where weights are published")
	case !o.trained:
		o.model = newPublishedChoice(c)
	default:
		o.model = newTrainedChoice(c, j.project)
		for _, text := range j.project.Assignments(c) {
			key, value, _ := strings.Cut(text, "=")
			if key != "na_values" {
				return nil, usagef("-o %s: the settings of a run are fixed; with --run, only na_values can be set", key)
			}
			o.labels.missing = settings.Split([]string{value})
		}
	}
	return o, nil
}

func (o *embedding) check(j *job) error {
	switch {
	case len(j.args) > 1 || len(j.args) == 0 && !o.trained:
		return withHint(usagef("embed-images takes one folder, archive or file; got %d", len(j.args)),
			"hgld embed-images --weights model.safetensors photos; without DATA, --run embeds the images of a run")
	case len(j.args) == 1:
		o.data = j.args[0]
		o.out = cmp.Or(o.out, stemOf(o.data)+".npy")
	default:
		o.split = cmp.Or(o.split, "query")
		o.out = cmp.Or(o.out, o.split+".npy")
	}
	if kinds := []string{".npy", ".parquet"}; !slices.Contains(kinds, filepath.Ext(o.out)) {
		return withCode(exitUsage, fmt.Errorf("--out %s: %w", o.out, registry.Unknown("kind of file", filepath.Ext(o.out),
			kinds)))
	}
	if !(o.missing >= 0 && o.missing <= 1) {
		return usagef("--allow-missing is %v, want a share from 0 to 1", o.missing)
	}
	return j.checkOutputs("embed-images", []string{o.data, o.labels.file, o.model.source()},
		pipeline.Output{Path: o.out, Kind: kindIndex})
}

// items opens what is embedded.
func (o *embedding) items(j *job) (input.Dataset, io.Closer, error) {
	if o.data != "" {
		return openItems(j, o.data, o.split, o.labels)
	}
	part, settings := o.split, new(evalImageSettings)
	if !slices.Contains([]string{"query", "gallery", "train"}, part) { // a split of the run's data
		part, settings.Query = "query", o.split
	}
	choice, err := settings.choice(j.ctx, o.model.source())
	if err != nil {
		return nil, nil, err
	}
	choice.ExtraParents = "" // nothing is judged
	data, err := openData(j.ctx, choice)
	if err != nil {
		return nil, nil, err
	}
	o.data = choice.Files()[0]
	images := map[string]input.Dataset{"query": data.Query, "gallery": data.Gallery, "train": data.Train}[part]
	if images == nil && part == "gallery" {
		images = data.Query // which rank one another
	}
	if images == nil {
		err := withHint(usagef("the run %s has no %s images", o.model.source(), part),
			"--split train embeds its training images")
		return nil, nil, errors.Join(err, data.Close())
	}
	return images, data, nil
}

func (o *embedding) run(j *job) (err error) {
	if o.slice.kind == sliceWhole {
		if err := j.findRanks(); err != nil {
			return err
		}
		if err := j.spread(j.device); err != nil {
			return err
		}
	}
	err = o.embed(j)
	return j.ranks.Leave(err)
}

func (o *embedding) embed(j *job) (err error) {
	if err := o.check(j); err != nil {
		return err
	}
	n, of := o.slice.n, o.slice.of
	if j.ranks != nil {
		j.works("embed-images", o.out)
		if n, of, err = j.shareEmbedding(); err != nil {
			return err
		}
	}
	data, closer, err := o.items(j)
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
	j.log("embedding %s with %s, %s", count(data.Len(), "item"), m.Path, how)
	p := j.progress("embed", data.Len())
	defer p.End()
	w := index.Writer{Path: o.out, Run: o.model.source(), Data: o.data, Skip: skipBroken, MostFailed: o.missing,
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
			return j.ranks.Group.Done()
		}
		if err := j.ranks.Group.Await(j.ctx); err != nil {
			return err
		}
	}
	w.Finish = o.slice.kind == sliceFinish || o.slice.kind == sliceCount || j.ranks != nil
	info, kept, err := w.Write(j.ctx, m, data)
	if err != nil {
		return embedError(j, missingParts(err, of))
	}
	return o.report(j, info, kept)
}

// report says what was written and lists the images that were left out.
func (o *embedding) report(j *job, info *index.Info, kept bool) error {
	if kept {
		j.log("%s is complete: nothing to do", o.out)
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
		return withHint(withCode(exitSomeFailed, fmt.Errorf("embed-images: %s left out", count(n, "image"))),
			"%s lists them under failed; all other images have vectors", index.InfoFile(o.out))
	}
	return nil
}

// listBroken shows the first images that were left out.
func listBroken(j *job, failed []index.Failure) {
	const few = 10
	for _, f := range failed[:min(few, len(failed))] {
		j.log("%s: %s", f.ID, f.Error)
	}
	if n := len(failed) - few; n > 0 {
		j.log("and %d more", n)
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
		d, err := embeddings.ReadFrozen(&embeddings.Input{Embeddings: path, Labels: l.file, Open: openVectors,
			Verify: verifyVectors(j.ctx), Labelling: embeddings.Labelling{Columns: l.levels, Missing: l.missing,
				Recorded: index.Recorded, Log: j.log}})
		return d, io.NopCloser(nil), asUsage(err)
	case !of:
		return openSplits(j.ctx, path, split)
	}
	d, err := openImages(j, path)
	if err != nil {
		return nil, nil, err
	}
	if d.Levels() == nil {
		j.log("the images of %s get ids, but no classes: they are not all in folders of one depth", path)
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
	j.logAll("note: %s", d.Notes())
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
