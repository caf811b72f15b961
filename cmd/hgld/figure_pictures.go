package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/cluster"
	"hgld/internal/blas"
	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/train"
	"hgld/train/figure"
	"hgld/train/losscheck"
)

// pictureSideFlag is the size of pictures on a sheet.
func pictureSideFlag() cli.Flag {
	return &cli.Float64Flag{Name: "side", Value: 18, Usage: "longer side of a picture, in `MILLIMETRES`"}
}

// checkSide returns an error for a size that no sheet has.
func checkSide(c *cli.Context) error {
	if side := c.Float64("side"); !(side >= 2 && side <= 200) {
		return usagef("--side is %v; want 2 to 200 millimetres", side)
	}
	return nil
}

// levelNamed returns the number of a level, or otherwise that of an empty name.
func levelNamed(levels []string, name string, otherwise int) (int, error) {
	if name == "" {
		return otherwise, nil
	}
	level := slices.Index(levels, name)
	if level < 0 {
		return 0, registry.Unknown("level", name, levels)
	}
	return level, nil
}

func figureMeansCommand() *cli.Command {
	flags := append(vectorFlags(),
		&cli.StringFlag{Name: "level", Usage: "`LEVEL` whose classes are drawn (default: the finest)"},
		&cli.StringFlag{Name: "colour", Usage: "`LEVEL` that gives the colour (default: the coarsest)"},
		&cli.StringFlag{Name: "method", Value: "tsne", Usage: "tsne or pca"})
	return figureCommandOf("means", "draw the mean vectors of classes in a plane, coloured by a coarser level",
		"  hgld figure means --embeddings e.npy --labels l.csv --out means.svg\n"+
			"  hgld figure means --embeddings e.npy --labels l.csv --method pca --colour order --out means.png", flags,
		func(c *cli.Context, j *job) (picture, []string, error) {
			method := c.String("method")
			if method != "tsne" && method != "pca" {
				return nil, nil, usagef("--method is %.80q; want tsne or pca", method)
			}
			list, inputs, _, err := figureInputs(c, j, 1)
			if err != nil {
				return nil, nil, err
			}
			of := list[0]
			level, err := levelNamed(of.levels, c.String("level"), 0)
			if err != nil {
				return nil, nil, err
			}
			colour, err := levelNamed(of.levels, c.String("colour"), len(of.levels)-1)
			if err != nil {
				return nil, nil, err
			}
			m, err := figure.ClassMeans(of.Items, level, colour)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", of.levels[level], err)
			}
			places, axes, err := planeOf(j, m, method)
			if err != nil {
				return nil, nil, err
			}
			return m.Draw(places, of.names(level), of.names(colour), axes), inputs, nil
		})
}

// planeOf places the means in a plane.
func planeOf(j *job, m *figure.Means, method string) (places []float32, axes [2]string, err error) {
	x := cluster.NewMatrix(len(m.Vectors), len(m.Vectors[0]))
	for i, row := range m.Vectors {
		for k, v := range row {
			x.Row(i)[k] = float32(v)
		}
	}
	if method == "pca" {
		p, err := cluster.FitPCA(x, 2)
		if err != nil {
			return nil, axes, err
		}
		for i := range axes {
			axes[i] = fmt.Sprintf("component %d (%.1f %% of the variance)", i+1, 100*p.Ratio[i])
		}
		return p.Project(x, false).Data, axes, nil
	}
	lib, err := blas.Default()
	if err != nil {
		return nil, axes, withCode(exitUsage, err)
	}
	drawn, err := cluster.TSNE{Seed: 1, BLAS: lib}.Run(j.ctx, x)
	if err != nil {
		return nil, axes, err
	}
	return drawn.Y.Data, [2]string{"t-SNE 1", "t-SNE 2"}, nil
}

func figureLandscapeCommand() *cli.Command {
	flags := append(append(vectorFlags(), dealFlags()...),
		&cli.StringFlag{Name: "loss", Value: "happier", Usage: "`NAME` of the loss (hgld train losses)"}, overrideFlag(),
		&cli.Float64Flag{Name: "reach", Value: 1, Usage: "go `R` lengths of the vectors each way"},
		&cli.IntFlag{Name: "cells", Value: 41, Usage: "`N` cells each way"})
	return figureCommandOf("landscape", "draw a loss on a plane through the vectors of a batch",
		"  hgld figure landscape --loss blackbox-ap --embeddings e.npy --labels l.csv --sizes 64 --per-class 4\n"+
			"  hgld figure landscape --loss happier -o loss.settings.tau=0.1 --embeddings e.npy --labels l.csv --sizes 64\n"+
			"\nThe two directions are drawn by --seed, and a cell at 1 moved each vector by its own length.", flags,
		func(c *cli.Context, j *job) (picture, []string, error) {
			l := train.Default().Loss
			l.Name = c.String("loss")
			if err := j.project.Section("loss", &l).Assign(c.StringSlice("override")); err != nil {
				return nil, nil, withCode(exitUsage, err)
			}
			list, inputs, d, err := figureInputs(c, j, 1)
			if err != nil {
				return nil, nil, err
			}
			rows, err := d.Batch(list[0].Items)
			if err != nil {
				return nil, nil, err
			}
			b, err := j.openDevice(0)
			if err != nil {
				return nil, nil, err
			}
			of := list[0]
			batch, err := losscheck.BatchOf(b, of.Vectors, of.Labels, rows, of.levels, of.classes)
			if err != nil {
				return nil, nil, err
			}
			s, err := losscheck.SectionOf(b, &losscheck.Input{Loss: l, Rows: batch, Unit: true, Seed: d.Seed},
				c.Float64("reach"), c.Int("cells"))
			if err != nil {
				return nil, nil, err
			}
			return figure.Landscape(s.Steps, s.Values), inputs, nil
		})
}

func figureExamplesCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "data", Usage: "folder, archive or shards of labelled images"},
		&cli.StringFlag{Name: "split", Usage: "`SPLIT` of shards; empty: all of them"},
		&cli.StringFlag{Name: "level", Usage: "`LEVEL` of the classes (default: the coarsest)"},
		&cli.StringSliceFlag{Name: "class", Usage: "`NAMES` of classes to draw (default: all)"},
		&cli.IntFlag{Name: "each", Value: 8, Usage: "draw `N` images of each class"},
		&cli.Uint64Flag{Name: "seed", Usage: "`SEED` that draws the images"}, pictureSideFlag()}
	return figureCommandOf("examples", "draw some images of each class",
		"  hgld figure examples --data shards --level supercategory --class church,bridge,castle --out examples.png\n"+
			"  hgld figure examples --data photos --each 12", flags,
		func(c *cli.Context, j *job) (picture, []string, error) {
			data, each := c.String("data"), c.Int("each")
			if err := checkSide(c); err != nil || data == "" || each < 1 || each > 1000 {
				return nil, nil, firstError(err, usagef("figure examples needs --data, and --each from 1 to 1000"))
			}
			d, closer, err := openItems(j, data, c.String("split"), vectorLabels{})
			if err != nil {
				return nil, nil, err
			}
			defer closer.Close()
			level, err := levelNamed(d.Levels(), c.String("level"), len(d.Levels())-1)
			if err != nil {
				return nil, nil, err
			}
			if level < 0 {
				return nil, nil, usagef("%s has no classes", data)
			}
			all := d.Classes(level)
			names := settings.Split(c.StringSlice("class"))
			for _, name := range names {
				if !slices.Contains(all, name) {
					return nil, nil, registry.Unknown("class", name, all)
				}
			}
			if len(names) == 0 {
				names = presentClasses(d, level, all)
			}
			p, err := figure.Examples(j.ctx, d, level, all, names, each, c.Float64("side"), c.Uint64("seed"))
			return p, []string{data}, err
		})
}

func figureBoundsCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.IntFlag{Name: "positives", Value: 3, Usage: "`N` positives of the query in a batch"},
		&cli.IntFlag{Name: "negatives", Value: 60, Usage: "`N` negatives in a batch"},
		&cli.IntFlag{Name: "batches", Value: 256, Usage: "draw 1, 2, 4 … up to `K` batches"},
		&cli.Float64Flag{Name: "violations", Value: 0.1, Usage: "`SHARE` of each kind on the wrong side of β, 0 to 1"}}
	return figureCommandOf("bounds", "draw the upper bounds of the decomposability gap of batches with an AP of 1",
		"  hgld figure bounds --positives 3 --negatives 60 --violations 0.1 --out bounds.svg", flags,
		func(c *cli.Context, _ *job) (picture, []string, error) {
			share := c.Float64("violations")
			if !(share >= 0 && share <= 1) {
				return nil, nil, usagef("--violations is %v; want 0 to 1", share)
			}
			f, err := figure.Bounds(figure.NewBatch(c.Int("positives"), c.Int("negatives"), share), c.Int("batches"))
			return f, nil, err
		})
}

// toyBatches are two batches that are each ranked without a mistake: in the second, all scores are lower.
var toyBatches = []string{"0.9+ 0.8+ 0.7- 0.6-", "0.5+ 0.4+ 0.3- 0.2-"}

func figureToyCommand() *cli.Command {
	flags := []cli.Flag{&cli.StringSliceFlag{Name: "batch", Usage: "`ITEMS` of a batch by score, + for a positive and - for a " +
		"negative (default: \"" + toyBatches[0] + "\" and \"" + toyBatches[1] + "\")"}}
	return figureCommandOf("toy", "draw the decomposability gap of AP on a few items in batches",
		"  hgld figure toy --out toy.svg\n"+
			"  hgld figure toy --batch '0.9+ 0.8+ 0.3- 0.2-' --batch '0.8+ 0.7+ 0.4- 0.1-' --out calibrated.svg", flags,
		func(c *cli.Context, _ *job) (picture, []string, error) {
			texts := c.StringSlice("batch")
			if len(texts) == 0 {
				texts = toyBatches
			}
			var batches [][]figure.Scored
			for _, text := range texts {
				items, err := figure.ParseScored(text)
				if err != nil {
					return nil, nil, fmt.Errorf("--batch: %w", err)
				}
				batches = append(batches, items)
			}
			f, err := figure.Toy(batches)
			return f, nil, err
		})
}

// presentClasses returns the names of the classes that items have.
func presentClasses(d figure.Source, level int, all []string) (names []string) {
	has := make([]bool, len(all))
	for i := range d.Len() {
		if class := d.Labels(i)[level]; class >= 0 {
			has[class] = true
		}
	}
	for class, name := range all {
		if has[class] {
			names = append(names, name)
		}
	}
	return names
}

// firstError returns err, or otherwise.
func firstError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
