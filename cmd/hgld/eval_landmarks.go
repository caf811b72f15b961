package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/pipeline"
	"hgld/train/embeddings"
	"hgld/train/evaluation"
	"hgld/train/index"
	"hgld/train/input"
	"hgld/train/landmarks"
	"hgld/train/retrieval"
)

const evalLandmarksExamples = "  hgld eval landmarks --run runs/happier gnd_roxford5k.pkl oxford/jpg\n" +
	"  hgld eval landmarks --weights resnet50-0676ba61.pth --backbone resnet50 -o model.pooling=gem \\\n" +
	"    gnd_rparis6k.pkl paris/jpg\n" +
	"  hgld eval landmarks --run runs/happier --distractors revisitop1m --whiten shards gnd_roxford5k.pkl oxford/jpg\n\n" +
	"  It embeds the images that the ground truth names, each in its own shape, and the queries cut to their\n" +
	"  boxes. --weights takes published weights instead of a run, as hgld embed-images does. The vectors are kept\n" +
	"  in --out, where an interrupted command continues. Embeddings of several scales are averaged as the model's\n" +
	"  input.scales says. A whitening is learned on the images of --whiten."

func evalLandmarksCommand() *cli.Command {
	return &cli.Command{
		Name: "landmarks", Usage: "Revisited Oxford and Paris, from their ground truth and images", ArgsUsage: "TRUTH IMAGES",
		Description: evalLandmarksExamples,
		Flags: slices.Concat(commonFlags(), trainedFlags(), publishedFlags(), []cli.Flag{
			&cli.StringFlag{Name: "distractors", Usage: "rank the images of the folder `DIR`, too"},
			&cli.StringFlag{Name: "whiten", Usage: "learn a whitening on the images of `DATA`: a folder, an archive or shards"},
			&cli.IntFlag{Name: "dims", Usage: "keep the `N` directions of largest variance of the whitening; 0: all"},
			sideFlag(1024),
			&cli.StringFlag{Name: "out", Usage: "`FOLDER` of the vectors and of per-query.csv (default: landmarks/TRUTH)"},
			replaceFlag(), deviceFlag(),
		}),
		Action: func(c *cli.Context) error {
			j, err := newJobWithArgs(c, 2, 2, "the ground truth and the folder of its images")
			if err != nil {
				return err
			}
			l := &landmarkEval{job: j, side: c.Int("side"), dims: c.Int("dims"),
				distractors: c.String("distractors"), whiten: c.String("whiten"), out: c.String("out")}
			l.model = newTrainedChoice(c, j.project)
			if c.String("weights") != "" {
				l.model = newPublishedChoice(c)
			}
			if l.out == "" {
				name := filepath.Base(j.args[0])
				l.out = j.project.Join(filepath.Join("landmarks", strings.TrimSuffix(name, filepath.Ext(name))))
			}
			return errors.Join(l.run(), j.Close())
		},
	}
}

// landmarkEval is an evaluation of a landmark benchmark.
type landmarkEval struct {
	*job
	model                    embedder
	net                      *evaluation.Model
	side, dims               int
	distractors, whiten, out string
	opened                   []interface{ Close() error }
}

// The files of vectors in the folder of an evaluation.
const (
	landmarkGallery     = "gallery.npy"
	landmarkQueries     = "queries.npy"
	landmarkDistractors = "distractors.npy"
	landmarkWhiten      = "whiten.npy"
	landmarkQueryValues = "per-query.csv" // of the last ranking
)

func (l *landmarkEval) run() (err error) {
	if l.dims > 0 && l.whiten == "" {
		return usagef("--dims applies to a whitening; add --whiten")
	}
	benchmark, err := landmarks.Read(l.args[0])
	if err != nil {
		return withCode(exitUsage, err)
	}
	var out []pipeline.Output
	for _, name := range []string{landmarkGallery, landmarkQueries, landmarkDistractors, landmarkWhiten} {
		out = append(out, pipeline.Output{Path: filepath.Join(l.out, name), Kind: kindIndex})
	}
	values := filepath.Join(l.out, landmarkQueryValues)
	out = append(out, pipeline.Output{Path: values, Kind: kindRevisited})
	in := []string{l.args[0], l.args[1], l.distractors, l.whiten, l.model.source()}
	if err := l.checkOutputs("eval landmarks", in, out...); err != nil {
		return err
	}
	defer func() {
		for _, o := range l.opened {
			err = errors.Join(err, o.Close())
		}
	}()
	rows, err := l.measure(benchmark)
	if err != nil {
		return err
	}
	if err := writeRevisited(values, rows, benchmark.Queries); err != nil {
		return err
	}
	l.log("%s has the values of every query, the worst first", values)
	return l.printRevisited(rows)
}

// measure embeds and ranks.
func (l *landmarkEval) measure(benchmark *landmarks.Benchmark) ([]revisitedRow, error) {
	folder, err := openImages(l.job, l.args[1])
	if err != nil {
		return nil, err
	}
	l.opened = append(l.opened, folder)
	images, err := findLandmarks(benchmark, l.args[1], folder)
	if err != nil {
		return nil, err
	}
	var how string
	if l.net, how, err = l.model.open(l.job); err != nil {
		return nil, err
	}
	l.opened = append(l.opened, l.net)
	l.log("embedding %d images and %d queries with %s, %s", len(benchmark.Gallery), len(benchmark.Queries), l.net.Path,
		how)
	gallery, err := l.vectors(landmarkGallery, l.args[1], images.Gallery)
	if err != nil {
		return nil, err
	}
	queries, err := l.vectors(landmarkQueries, l.args[1], images.Queries)
	if err != nil {
		return nil, err
	}
	if l.distractors != "" {
		more, err := l.folder(landmarkDistractors, l.distractors, 0)
		if err != nil {
			return nil, err
		}
		gallery.Values = append(gallery.Values, more.Values...)
	}
	if l.whiten != "" {
		of, err := l.folder(landmarkWhiten, l.whiten, mostToWhiten)
		if err != nil {
			return nil, err
		}
		w, err := landmarks.Learn(of.Values, of.Cols, l.dims)
		if err != nil {
			return nil, withCode(exitUsage, fmt.Errorf("%s: %w", l.whiten, err))
		}
		gallery = &retrieval.Matrix{Cols: w.Cols(), Values: w.Apply(gallery.Values)}
		queries = &retrieval.Matrix{Cols: w.Cols(), Values: w.Apply(queries.Values)}
	}
	return l.rank(benchmark, queries, gallery)
}

// rank ranks the gallery for the queries.
func (l *landmarkEval) rank(benchmark *landmarks.Benchmark, queries, gallery *retrieval.Matrix) ([]revisitedRow,
	error) {
	b, err := l.openDevice()
	if err != nil {
		return nil, err
	}
	var e retrieval.Evaluation
	for _, side := range []struct {
		v  *retrieval.Matrix
		to *retrieval.Side
	}{{queries, &e.Query}, {gallery, &e.Gallery}} {
		if *side.to, err = revisitedSide(b, side.v, true); err != nil {
			return nil, err
		}
	}
	return l.rankRevisited(b, &e, benchmark.Truths)
}

// mostToWhiten is the number of images that a whitening is learned from: many times the width of a vector.
const mostToWhiten = 20000

// folder returns the vectors of a folder, an archive or shards: of all images, or of most of them, evenly spread.
func (l *landmarkEval) folder(name, path string, most int) (*retrieval.Matrix, error) {
	d, closer, err := openItems(l.job, path, "", vectorLabels{})
	if err != nil {
		return nil, err
	}
	l.opened = append(l.opened, closer)
	if n := d.Len(); most > 0 && n > most {
		some := &input.Subset{Of: d}
		for i := range most {
			some.Rows = append(some.Rows, i*n/most)
		}
		d = some
	}
	return l.vectors(name, path, d)
}

// vectors embeds a data set into a file, and reads it.
func (l *landmarkEval) vectors(name, of string, d input.Dataset) (*retrieval.Matrix, error) {
	p := l.progress(strings.TrimSuffix(name, ".npy"), d.Len())
	defer p.End()
	path := filepath.Join(l.out, name)
	w := index.Writer{Path: path, Run: l.model.source(), Data: of, Side: l.side,
		Progress: func(done, _ int) { p.Set(done, "") }}
	if _, _, err := w.Write(l.ctx, l.net, d); err != nil {
		return nil, err
	}
	v, err := embeddings.Open(path)
	if err != nil {
		return nil, err
	}
	rows, cols := v.Rows()
	m := &retrieval.Matrix{Cols: cols, Values: make([]float32, rows*cols)}
	return m, errors.Join(v.ReadRows(m.Values, 0), v.Close())
}
