package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/settings"
	"hgld/train"
	"hgld/train/embeddings"
	"hgld/train/index"
	"hgld/train/losscheck"
)

const lossExamples = "  hgld loss --loss happier --embeddings e.npy --labels l.csv\n" +
	"  hgld loss --loss nsm --embeddings e.npy --labels l.csv --proxies p.npy --gradient g.safetensors\n" +
	"  hgld loss --loss smooth-ap -o loss.preset=released -o loss.settings.tau=0.05 --embeddings e.npy --labels l.csv\n" +
	"\nPrints the value of each term of the loss and its gradient by row, and the same computed from\n" +
	"the definition in float64, to test another implementation against. Every row is a query."

func lossCommand() *cli.Command {
	return withDeviceFlag(&cli.Command{
		Name: "loss", Usage: "value and gradient of a loss on embeddings of any program", Description: lossExamples,
		Flags: append(commonFlags(), overrideFlag(),
			&cli.StringFlag{Name: "loss", Usage: "`NAME` of the loss (hgld train losses)"},
			&cli.StringFlag{Name: "embeddings", Usage: "vectors (.npy, .npz, .safetensors, .parquet, .pt, .pkl)"},
			&cli.StringFlag{Name: "labels", Usage: "labels of the vectors: .csv with a column for each level, finest first; " +
				"empty: the .csv or .tsv of their name"},
			&cli.StringSliceFlag{Name: "levels", Usage: "label `COLUMNS`, finest first; empty: those that may be levels"},
			&cli.StringSliceFlag{Name: "missing", Usage: "`CELLS` that mean no class, as in hgld eval run"},
			&cli.StringFlag{Name: "equal-ids", Usage: "what a row of both sides with the same id is: same (image) or other"},
			&cli.StringFlag{Name: "gallery", Usage: "vectors to compare with, without a gradient (default: the embeddings)"},
			&cli.StringFlag{Name: "gallery-labels", Usage: "labels of the gallery"},
			&cli.StringFlag{Name: "proxies", Usage: ".npy of the proxies, one row per class in the order of the labels, or " +
				".safetensors (default: drawn by --seed)"},
			&cli.StringFlag{Name: "gradient", Usage: "write it to `FILE`: .npy, or .safetensors, also with the proxies"},
			&cli.BoolFlag{Name: "unit", Value: true, Usage: "scale the vectors to length 1 first, with a gradient through it"},
			&cli.BoolFlag{Name: "definition", Value: true, Usage: "also compute the definition in float64, which is slow"},
			&cli.Uint64Flag{Name: "seed", Usage: "`SEED` of the proxies, as in a training"},
			&cli.IntFlag{Name: "threads", Usage: "0: all processors"}, replaceFlag()),
		Action: action(func(c *cli.Context, j *job) error {
			l := train.Default().Loss
			if l.Name = c.String("loss"); l.Name == "" || c.String("embeddings") == "" {
				return withHint(usagef("loss needs --loss and --embeddings"), "hgld loss --help has examples")
			}
			if err := j.project.Section("loss", &l).Assign(c.StringSlice("override")); err != nil {
				return withCode(exitUsage, err)
			}
			return runLoss(c, j, l)
		}),
	})
}

func runLoss(c *cli.Context, j *job, l train.Loss) error {
	in := &embeddings.Input{Embeddings: c.String("embeddings"), Labels: c.String("labels"),
		Columns: settings.Split(c.StringSlice("levels")), Missing: settings.Split(c.StringSlice("missing")),
		EqualIDs:          c.String("equal-ids"),
		GalleryEmbeddings: c.String("gallery"), GalleryLabels: c.String("gallery-labels"), Open: openVectors,
		Verify: verifyVectors, Recorded: index.Recorded, Say: j.say}
	to := c.String("gradient")
	err := in.Complete()
	if err == nil && to != "" {
		if err = losscheck.CheckFile(to); err != nil {
			err = fmt.Errorf("--gradient: %w", err)
		}
	}
	err = labelsHint(err, "hgld loss --loss "+word(l.Name))
	if err != nil {
		return withCode(exitUsage, err)
	}
	files := []string{in.Embeddings, in.Labels, in.GalleryEmbeddings, in.GalleryLabels, c.String("proxies")}
	gradient := pipeline.Output{Path: to, Kind: kindExport}
	if filepath.Ext(to) == ".npy" {
		gradient.Kind = kindForeign
	}
	if err := j.checkOutputs("loss", files, gradient); err != nil {
		return err
	}
	b, err := j.openDevice(c.Int("threads"))
	if err != nil {
		return err
	}
	rows, err := in.Load(b)
	if err != nil {
		return asUsage(err)
	}
	r, err := losscheck.Compute(b, &losscheck.Input{Loss: l, Rows: rows, Unit: c.Bool("unit"), Seed: c.Uint64("seed"),
		Proxies: c.String("proxies"), Definition: c.Bool("definition")})
	if err != nil {
		return asUsage(err)
	}
	if to != "" {
		if err := atomicfile.Write(to, func(w io.Writer) error { return r.WriteGradient(w, to) }); err != nil {
			return asUsage(err)
		}
	}
	if j.json {
		return writeJSON(j, r)
	}
	return r.Table(j.stdout)
}
