package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/classes"
	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/train/config"
	"hgld/train/embeddings"
	"hgld/train/index"
	"hgld/train/losscheck"
)

const lossExamples = "  hgld loss --loss happier --embeddings e.npy --labels l.csv\n" +
	"  hgld loss --loss nsm --embeddings e.npy --labels l.csv --proxies p.npy --gradient g.safetensors\n" +
	"  hgld loss --loss softbin-ap --embeddings e.npy --labels l.csv --per-query scatter.svg\n" +
	"  hgld loss --loss rambo-detection --scores s.npy --labels l.csv\n" +
	"  hgld loss --loss smooth-ap -o loss.preset=released -o loss.settings.tau=0.05 --embeddings e.npy --labels l.csv\n" +
	"\nPrints the value of each term of the loss and its gradient by row, and the same computed from\n" +
	"the definition in float64, to test another implementation against. Every row is a query."

func lossCommand() *cli.Command {
	return withDeviceFlag(&cli.Command{
		Name: "loss", Usage: "value and gradient of a loss on embeddings of any program", Description: lossExamples,
		Flags: append(commonFlags(), overrideFlag(),
			&cli.StringFlag{Name: "loss", Usage: "`NAME` of the loss (hgld train losses)"},
			&cli.StringFlag{Name: "embeddings", Usage: "vectors (.npy, .npz, .safetensors, .parquet, .pt, .pkl)"},
			&cli.StringFlag{Name: "scores", Usage: "instead of embeddings: scores of items, a column for each class; a label " +
				"is the number of a column from 0, or empty"},
			&cli.StringFlag{Name: "labels", Usage: "labels of the vectors: .csv with a column for each level, finest first; " +
				"empty: the .csv or .tsv of their name"},
			&cli.StringSliceFlag{Name: "levels", Usage: "label `COLUMNS`, finest first; empty: those that may be levels"},
			&cli.StringSliceFlag{Name: "na-values", Usage: "`CELLS` without a class, as na_values of hgld eval run"},
			&cli.StringFlag{Name: "partial-labels", Value: classes.RefusePartial,
				Usage: "rows that lack some levels: refuse, or keep (a missing level is unknown)"},
			&cli.StringFlag{Name: "equal-ids", Usage: "whether equal ids denote the same image (same) or not (other)"},
			&cli.StringFlag{Name: "gallery-embeddings", Usage: "vectors to rank, without a gradient (default: the embeddings)"},
			&cli.StringFlag{Name: "gallery-labels", Usage: "labels of the gallery"},
			&cli.StringFlag{Name: "proxies", Usage: ".npy of the proxies, one row per class in the order of the labels, or " +
				".safetensors (default: drawn by --seed)"},
			&cli.StringFlag{Name: "gradient", Usage: "write it to `FILE`: .npy, or .safetensors, also with the proxies"},
			&cli.StringFlag{Name: "per-query", Usage: "write the loss and AP of each query to `FILE`: .csv, or .svg, .png or .pdf to " +
				"draw one by the other"},
			&cli.BoolFlag{Name: "normalize", Value: true, Usage: "scale the vectors to length 1 first, gradient included"},
			&cli.BoolFlag{Name: "definition", Value: true, Usage: "also compute the definition in float64, which is slow"},
			&cli.IntFlag{Name: "repeat", Usage: "also time the loss and its gradient, the median of `N` passes"},
			&cli.Uint64Flag{Name: "seed", Usage: "`SEED` of the proxies, as in a training"},
			replaceFlag()),
		Action: action(func(c *cli.Context, j *job) error {
			l := config.Default().Loss
			if l.Name = c.String("loss"); l.Name == "" || (c.String("embeddings") == "") == (c.String("scores") == "") {
				return withHint(usagef("loss needs --loss, and either --embeddings or --scores"), "hgld loss --help has examples")
			}
			if err := j.project.Section("loss", &l).Assign(j.project.Assignments(c)); err != nil {
				return withCode(exitUsage, err)
			}
			return runLoss(c, j, l)
		}),
	})
}

func runLoss(c *cli.Context, j *job, l config.Loss) error {
	partial, err := classes.KeepsPartial(c.String("partial-labels"))
	if err != nil {
		return withCode(exitUsage, err)
	}
	in := &embeddings.Input{Embeddings: cmp.Or(c.String("scores"), c.String("embeddings")), Labels: c.String("labels"),
		EqualIDs: c.String("equal-ids"), GalleryEmbeddings: c.String("gallery-embeddings"),
		GalleryLabels: c.String("gallery-labels"), Open: openVectors, Verify: verifyVectors(j.ctx),
		Labelling: embeddings.Labelling{Columns: settings.Split(c.StringSlice("levels")),
			Missing: settings.Split(c.StringSlice("na-values")), Partial: partial,
			Recorded: index.Recorded, Log: j.log}}
	if c.Int("repeat") < 0 {
		return usagef("--repeat is %d; want a number of passes, or 0 for none", c.Int("repeat"))
	}
	to := c.String("gradient")
	err = in.Complete()
	if err == nil && to != "" {
		if err = losscheck.CheckFile(to); err != nil {
			err = fmt.Errorf("--gradient: %w", err)
		}
	}
	perQuery := c.String("per-query")
	if err == nil && perQuery != "" {
		if err = losscheck.CheckPerQueryFile(filepath.Ext(perQuery)); err != nil {
			err = fmt.Errorf("--per-query: %w", err)
		}
	}
	err = labelsHint(err, "hgld loss --loss "+word(l.Name))
	if err != nil {
		return asUsage(err)
	}
	files := []string{in.Embeddings, in.Labels, in.GalleryEmbeddings, in.GalleryLabels, c.String("proxies")}
	gradient := pipeline.Output{Path: to, Kind: kindExport}
	if filepath.Ext(to) == ".npy" {
		gradient.Kind = kindForeign
	}
	values := pipeline.Output{Path: perQuery, Kind: kindPlot}
	if filepath.Ext(perQuery) == ".csv" {
		values.Kind = kindForeign
	}
	if err := j.checkOutputs("loss", files, gradient, values); err != nil {
		return err
	}
	b, err := j.openDevice()
	if err != nil {
		return err
	}
	rows, err := in.Load(b)
	if err != nil {
		return asUsage(err)
	}
	scores := c.String("scores") != ""
	if scores {
		if err := losscheck.AsScores(rows); err != nil {
			return withCode(exitUsage, fmt.Errorf("--scores: %w", err))
		}
	}
	r, err := losscheck.Compute(b, &losscheck.Input{Loss: l, Rows: rows, Scores: scores, Unit: c.Bool("normalize"),
		Seed: c.Uint64("seed"), Proxies: c.String("proxies"), Definition: c.Bool("definition"), PerQuery: perQuery != "",
		Repeat: c.Int("repeat")})
	if err != nil {
		return asUsage(err)
	}
	if to != "" {
		if err := atomicfile.Write(to, func(w io.Writer) error { return r.WriteGradient(w, to) }); err != nil {
			return asUsage(err)
		}
	}
	if perQuery != "" {
		err := atomicfile.Write(perQuery, func(w io.Writer) error {
			return r.PerQuery.Write(w, filepath.Ext(perQuery), j.pictures)
		})
		if err != nil {
			return err
		}
	}
	if j.json {
		return writeJSON(j, r)
	}
	return r.Table(j.stdout)
}
