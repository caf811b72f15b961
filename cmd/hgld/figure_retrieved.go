package main

import (
	"image"

	"github.com/urfave/cli/v2"

	"hgld/internal/settings"
	"hgld/train/figure"
	"hgld/train/input"
	"hgld/train/landmarks"
	"hgld/train/qrels"
	"hgld/train/report"
	"hgld/train/retrieval"
)

const figureRetrievedExamples = "  hgld figure retrieved --embeddings e.npy --labels l.csv --images photos " +
	"--query img7,img12 --places 20\n" +
	"  hgld figure retrieved --embeddings e.npy --labels ids.csv --qrels judged.qrels --images photos --query img7\n" +
	"  hgld figure retrieved --embeddings landmarks/gnd_roxford5k/queries.npy \\\n" +
	"    --gallery-embeddings landmarks/gnd_roxford5k/gallery.npy --qrels gnd_roxford5k.pkl --qrels-usage medium \\\n" +
	"    --images oxford/jpg --query all_souls_000013\n" +
	"\nGreen: the finest class, or a positive. Blue and yellow: more, or fewer, than half of the levels or of the\n" +
	"greatest relevance. Red: no level, or a negative. Grey: junk, which has no place in the ranking."

func figureRetrievedCommand() *cli.Command {
	flags := append(vectorFlags(),
		&cli.StringFlag{Name: "gallery-embeddings", Usage: "vectors to rank; empty: the queries themselves"},
		&cli.StringFlag{Name: "gallery-labels", Usage: "labels of the gallery; empty: the .csv or .tsv of its name"},
		&cli.StringFlag{Name: "qrels", Usage: "judgements `FILE` in place of labels, as in hgld eval run"},
		&cli.StringFlag{Name: "qrels-usage", Usage: "`PART` of it: public or private; of Revisited Oxford and Paris easy, " +
			"medium or hard"},
		alsoFlag(),
		&cli.StringFlag{Name: "equal-ids", Usage: "a query and an item of one id are the same image (same), or not (other)"},
		&cli.BoolFlag{Name: "junk", Value: true, Usage: "draw junk, too, greyed among the first items"},
		&cli.StringFlag{Name: "images", Usage: "folder, archive or shards with the images named by the ids of the vectors"},
		&cli.StringSliceFlag{Name: "query", Usage: "`IDS` of the queries, or their rows from 0"},
		&cli.IntFlag{Name: "places", Value: 10, Usage: "draw the first `N` items"}, pictureSideFlag())
	return figureCommandOf("retrieved", "draw the images that queries retrieve, framed by what they are to the query",
		figureRetrievedExamples, flags, drawRetrieved)
}

func drawRetrieved(c *cli.Context, j *job) (picture, []string, error) {
	places := c.Int("places")
	if places < 1 || places > 1000 {
		return nil, nil, usagef("--places is %d; want 1 to 1000", places)
	}
	queries := settings.Split(c.StringSlice("query"))
	if err := checkSide(c); err != nil || c.String("images") == "" || len(queries) == 0 {
		return nil, nil, firstError(err, usagef("figure retrieved needs --images and --query"))
	}
	r, inputs, err := retrievalOf(c, j)
	if err != nil {
		return nil, nil, err
	}
	var rows []int
	for _, name := range queries {
		row, err := rowOf(r.Queries.IDs, len(r.Queries.IDs), name)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, row)
	}
	d, closer, err := openItems(&job{ctx: j.ctx, quiet: true}, c.String("images"), "", vectorLabels{})
	if err != nil {
		return nil, nil, err
	}
	defer closer.Close()
	a := &figure.Album{Image: report.ImagesByID(d), Side: c.Float64("side")}
	p, err := figure.Retrieved(j.ctx, r, a, rows, places)
	return p, append(inputs, c.String("images")), err
}

// retrievalOf reads the vectors of both sides, and what decides.
func retrievalOf(c *cli.Context, j *job) (*figure.Retrieval, []string, error) {
	files, err := figureFiles(c, 1)
	if err != nil {
		return nil, nil, err
	}
	in := figureInput(c, j, files[0])
	in.GalleryEmbeddings, in.GalleryLabels = c.String("gallery-embeddings"), c.String("gallery-labels")
	in.EqualIDs = c.String("equal-ids")
	in.Qrels, in.Usage = c.String("qrels"), c.String("qrels-usage")
	if in.Usage != "" && in.Qrels == "" {
		return nil, nil, usagef("--qrels-usage is the part of a file of judgements; add --qrels")
	}
	also := evalFileSettings{Also: c.String("also")}
	if also.Also != "" && in.Qrels != "" {
		return nil, nil, usagef("--also gives classes further parents, and --qrels takes the place of classes: leave one out")
	}
	b, err := j.openDevice(0)
	if err != nil {
		return nil, nil, err
	}
	if err := in.Complete(); err != nil {
		return nil, nil, err
	}
	e, err := in.Load(b)
	if err != nil {
		return nil, nil, err
	}
	defer e.Close()
	if err := also.bindFurther(j, e); err != nil {
		return nil, nil, err
	}
	r := &figure.Retrieval{Self: e.Self, Levels: len(e.Levels), Junk: c.Bool("junk")}
	if in.Qrels == "" {
		r.Names = e.Classes.Names
	}
	if e.Truth != nil {
		r.Truth = e.Truth
	}
	for _, side := range []struct {
		to   *figure.Side
		from *retrieval.Side
		file string
	}{{&r.Queries, &e.Query, in.Embeddings}, {&r.Gallery, &e.Gallery, in.GalleryEmbeddings}} {
		if side.from.IDs == nil {
			return nil, nil, usagef("%s has no ids, by which images are found: add a column id to the labels", side.file)
		}
		side.to.IDs = side.from.IDs
		if side.to.Items, err = itemsOf(b, side.from); err != nil {
			return nil, nil, err
		}
	}
	if qrels.IsRevisited(in.Usage) {
		if r.Box, err = boxesOf(in.Qrels); err != nil {
			return nil, nil, err
		}
	}
	var inputs []string
	for _, file := range []string{in.Embeddings, in.Labels, in.GalleryEmbeddings, in.GalleryLabels, in.Qrels, also.Also} {
		if file != "" {
			inputs = append(inputs, file)
		}
	}
	return r, inputs, nil
}

// boxesOf returns a function that finds the box of a query of Revisited Oxford or Paris.
func boxesOf(truth string) (func(id string) image.Rectangle, error) {
	benchmark, err := landmarks.Read(truth)
	if err != nil {
		return nil, err
	}
	boxes := map[string]image.Rectangle{}
	for i, name := range benchmark.Queries {
		boxes[qrels.Stem(name)] = input.WholePixels(benchmark.Boxes[i])
	}
	return func(id string) image.Rectangle { return boxes[qrels.Stem(id)] }, nil
}
