package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/csvfile"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/regular"
	"hgld/internal/report"
	"hgld/internal/settings"
	"hgld/internal/texttable"
	"hgld/train/device"
	"hgld/train/embeddings"
	"hgld/train/figure"
	"hgld/train/index"
	"hgld/train/loss"
	"hgld/train/metric"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

const figureExamples = "  hgld figure steps --loss smooth-ap --loss sup-ap --out steps.svg\n" +
	"  hgld figure region --embeddings e.npy --labels l.csv --sizes 32,64,128 --out region.svg\n" +
	"  hgld figure gap --embeddings e.npy --labels l.csv --sizes 32,64,128 --metric AP --out gap.svg\n" +
	"  hgld figure curves --embeddings before.npy --embeddings after.npy --labels l.csv --query img7 --out pr.svg\n" +
	"  hgld figure scores --embeddings e.npy --labels l.csv --out scores.svg\n" +
	"  hgld figure classes --labels l.csv --column coarse --out classes.svg\n" +
	"  hgld figure means --embeddings e.npy --labels l.csv --out means.svg\n" +
	"  hgld figure landscape --loss smooth-ap --embeddings e.npy --labels l.csv --sizes 64 --out landscape.svg\n" +
	"  hgld figure retrieved --embeddings e.npy --labels l.csv --images photos --query img7 --out retrieved.png\n" +
	"  hgld figure examples --data photos --out examples.png\n" +
	"  hgld figure bounds --positives 3 --negatives 60 --violations 0.1 --out bounds.svg\n" +
	"  hgld figure toy --out toy.svg\n" +
	"\nEach writes a picture, .svg, .png or .pdf, and its points as .csv beside it."

func figureCommand() *cli.Command {
	return group("figure", "draw the papers' figures that need no training", figureExamples, figureStepsCommand(),
		figureRegionCommand(), figureGapCommand(), figureCurvesCommand(), figureScoresCommand(), figureClassesCommand(),
		figureMeansCommand(), figureLandscapeCommand(), figureRetrievedCommand(), figureExamplesCommand(),
		figureBoundsCommand(), figureToyCommand())
}

// figureOut names the picture.
func figureOut(name string) []cli.Flag {
	return []cli.Flag{&cli.StringFlag{Name: "out", Value: name + ".svg", Usage: "`FILE` to write, .svg, .png or .pdf"}, replaceFlag()}
}

// vectorFlags name vectors and labels.
func vectorFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "embeddings", Usage: "vectors `FILE` (.npy, .npz, .safetensors, .parquet, .pt, .pkl)"},
		&cli.StringFlag{Name: "labels", Usage: "labels of the vectors; empty: the .csv or .tsv of their name"},
		&cli.StringSliceFlag{Name: "levels", Usage: "label `COLUMNS`, finest first; empty: those that may be levels"},
		deviceFlag(),
	}
}

// alsoFlag names further parents, for figures of rankings.
func alsoFlag() cli.Flag {
	return &cli.StringFlag{Name: "also", Usage: "further parents of classes `FILE`, as in hgld eval run"}
}

// dealFlags say how mini-batches are made.
func dealFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "sizes", Usage: "batch `SIZES`, such as 32,64,128"},
		&cli.IntFlag{Name: "per-class", Usage: "`N` items of each finest class in a batch; 0: any items"},
		&cli.IntFlag{Name: "batches", Usage: "at most `N` batches of each size; 0: those of one pass over the items"},
		&cli.Uint64Flag{Name: "seed", Usage: "`SEED` of the batches"},
	}
}

// picture is what a command of figure draws.
type picture interface {
	Draw(w io.Writer, path string) error
	Points() *texttable.Table
}

// figureCommandOf makes a command that draws a figure.
func figureCommandOf(name, usage, examples string, flags []cli.Flag,
	draw func(c *cli.Context, j *job) (p picture, inputs []string, err error)) *cli.Command {
	return &cli.Command{Name: name, Usage: usage, Description: examples,
		Flags: append(append(commonFlags(), flags...), figureOut(name)...),
		Action: actionWithArgs(0, 0, "no argument", func(c *cli.Context, j *job) error {
			out := c.String("out")
			if err := report.CheckFile(out); err != nil {
				return withCode(exitUsage, fmt.Errorf("--out: %w", err))
			}
			p, inputs, err := draw(c, j)
			if err != nil {
				return asUsage(err)
			}
			points := figure.PointsFile(out)
			if err := j.checkOutputs("figure "+name, inputs, pictureOutputs(out)...); err != nil {
				return err
			}
			if err := atomicfile.Write(out, func(w io.Writer) error { return p.Draw(w, out) }); err != nil {
				return asUsage(err)
			}
			if err := atomicfile.Write(points, func(w io.Writer) error { return p.Points().Write(w, "csv") }); err != nil {
				return err
			}
			sayLacking(j, out, slices.Concat(p.Points().Rows...))
			result := map[string]any{"file": out, "points": points}
			if f, ok := p.(*figure.Figure); ok {
				result["curves"] = f.Plot.Curves
			}
			return j.show(result, fmt.Sprintf("%s, %s\n", out, points))
		})}
}

// sayLacking tells which letters of texts the font of their picture lacks.
func sayLacking(j *job, picture string, texts []string) {
	kind := filepath.Ext(picture)
	if letters := report.Lacking(texts...); letters != "" && kind != ".svg" {
		j.say("careful: the font of a %s has no letters %.80q, so the picture lacks them; an .svg has all letters", kind,
			letters)
	}
}

// pictureOutputs are a picture and its points.
func pictureOutputs(picture string) []pipeline.Output {
	return []pipeline.Output{{Path: picture, Kind: kindPlot}, {Path: figure.PointsFile(picture), Kind: kindPoints}}
}

func figureStepsCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringSliceFlag{Name: "loss", Usage: "`NAME` of a loss whose step is drawn in both presets (default: smooth-ap, sup-ap)"},
		&cli.Float64Flag{Name: "reach", Value: 0.1, Usage: "draw from −`T` to T"},
		&cli.BoolFlag{Name: "slopes", Usage: "draw the slopes of the steps"},
	}
	return figureCommandOf("steps", "draw the steps by which losses count an item ahead of a positive",
		"  hgld figure steps --out steps.svg\n"+
			"  hgld figure steps --loss happier --slopes --out slopes.png", flags,
		func(c *cli.Context, j *job) (picture, []string, error) {
			names := settings.Split(c.StringSlice("loss"))
			if len(names) == 0 {
				names = []string{"smooth-ap", "sup-ap"}
			}
			list := []figure.NamedStep{{Name: "exact step", Step: device.Step{Kind: device.Heaviside}}}
			for _, name := range names {
				for _, preset := range loss.Presets {
					kind, err := preset.Value.Get("loss", name)
					if err != nil {
						return nil, nil, withCode(exitUsage, err)
					}
					step, ok := loss.LowerStep(kind)
					if !ok {
						return nil, nil, usagef("%s has no step: want a ranking loss, such as smooth-ap or sup-ap", name)
					}
					if slices.ContainsFunc(list, func(s figure.NamedStep) bool { return s.Step == step }) {
						continue // the presets agree
					}
					list = append(list, figure.NamedStep{Name: name + " (" + preset.Name + ")", Step: step})
				}
			}
			f, err := figure.Steps(list, c.Float64("reach"), c.Bool("slopes"))
			return f, nil, err
		})
}

func figureRegionCommand() *cli.Command {
	flags := append(append(vectorFlags(), dealFlags()...),
		&cli.Float64Flag{Name: "tau", Value: 0.01, Usage: "temperature `T` of the sigmoid"},
		&cli.Float64Flag{Name: "slope", Value: 0.005, Usage: "least `SLOPE` of the operating region"})
	return figureCommandOf("region", "draw the share of differences in the operating region of a sigmoid by batch size",
		"  hgld figure region --embeddings e.npy --labels l.csv --sizes 32,64,128 --per-class 4 --out region.svg", flags,
		func(c *cli.Context, j *job) (picture, []string, error) {
			list, inputs, d, err := figureInputs(c, j, 1)
			if err != nil {
				return nil, nil, err
			}
			f, err := figure.Operating(list[0].Items, d, c.Float64("tau"), c.Float64("slope"))
			return f, inputs, err
		})
}

func figureGapCommand() *cli.Command {
	flags := append(append(append(vectorFlags(), alsoFlag()), dealFlags()...),
		&cli.StringFlag{Name: "metric", Value: "AP", Usage: "`METRIC` of the finest level, or with its level: AP_level1, H-AP"})
	return figureCommandOf("gap", "draw a metric of mini-batches, and of all items, by batch size",
		"  hgld figure gap --embeddings e.npy --labels l.csv --sizes 32,64,128 --metric AP --out gap.svg", flags,
		func(c *cli.Context, j *job) (picture, []string, error) {
			list, inputs, d, err := figureInputs(c, j, 1)
			if err != nil {
				return nil, nil, err
			}
			name, _, _ := strings.Cut(c.String("metric"), "_level")
			set, err := metric.ParseSet([]string{name})
			if err != nil {
				return nil, nil, err
			}
			keys := set.Keys(len(list[0].Labels[0]))
			key := c.String("metric")
			if !slices.Contains(keys, key) && key == name {
				key += "_level0"
			}
			if !slices.Contains(keys, key) {
				return nil, nil, fmt.Errorf("--metric: %w", registry.Unknown("metric", key, keys))
			}
			f, err := figure.Gap(list[0].Items, d, key, set)
			return f, inputs, err
		})
}

func figureCurvesCommand() *cli.Command {
	flags := append(vectorFlags(), alsoFlag(),
		&cli.StringFlag{Name: "query", Usage: "`ID` of the query, or its row from 0"},
		&cli.StringFlag{Name: "level", Usage: "`LEVEL` of the positives, or all for the hierarchical curve (default: the finest)"})
	return figureCommandOf("curves", "draw precision and recall of one query for several models",
		"  hgld figure curves --embeddings before.npy --embeddings after.npy --labels l.csv --query img7 --out pr.svg\n"+
			"  hgld figure curves --embeddings e.npy --labels l.csv --query 12 --level all --out pr.png", flags,
		func(c *cli.Context, j *job) (picture, []string, error) {
			list, inputs, _, err := figureInputs(c, j, 0)
			if err != nil {
				return nil, nil, err
			}
			row, err := rowOf(list[0].ids, len(list[0].Labels), c.String("query"))
			if err != nil {
				return nil, nil, err
			}
			level := slices.Index(list[0].levels, c.String("level"))
			switch name := c.String("level"); {
			case name == "":
				level = 0
			case name == "all":
				level = figure.AllLevels
			case level < 0:
				return nil, nil, registry.Unknown("level", name, append(slices.Clone(list[0].levels), "all"))
			}
			var models []figure.NamedItems
			for _, m := range list {
				if len(m.Labels) != len(list[0].Labels) {
					return nil, nil, fmt.Errorf("%s has %d vectors, and %s %d: want the same items", m.file,
						len(m.Labels), list[0].file, len(list[0].Labels))
				}
				short := func(path string) string { return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) }
				name := short(m.file)
				if slices.ContainsFunc(list, func(o figureItems) bool { return o.file != m.file && short(o.file) == name }) {
					name = m.file
				}
				models = append(models, figure.NamedItems{Name: name, Items: m.Items})
			}
			f, err := figure.Curves(models, row, level)
			return f, inputs, err
		})
}

func figureScoresCommand() *cli.Command {
	flags := append(vectorFlags(), &cli.StringFlag{Name: "level", Usage: "`LEVEL` of the positives (default: the finest)"})
	return figureCommandOf("scores", "draw how the scores of positives and negatives are distributed",
		"  hgld figure scores --embeddings e.npy --labels l.csv --out scores.svg", flags,
		func(c *cli.Context, j *job) (picture, []string, error) {
			list, inputs, _, err := figureInputs(c, j, 1)
			if err != nil {
				return nil, nil, err
			}
			level, err := levelNamed(list[0].levels, c.String("level"), 0)
			if err != nil {
				return nil, nil, err
			}
			f, err := figure.Scores(list[0].Items, level)
			return f, inputs, err
		})
}

func figureClassesCommand() *cli.Command {
	flags := []cli.Flag{&cli.StringFlag{Name: "labels", Usage: "table `FILE`, .csv"},
		&cli.StringFlag{Name: "column", Usage: "`COLUMN` of the classes, such as supercategory"}}
	return figureCommandOf("classes", "draw the sizes of the classes of a table",
		"  hgld figure classes --labels train_label_to_hierarchical.csv --column supercategory --out classes.svg", flags,
		func(c *cli.Context, j *job) (picture, []string, error) {
			path, column := c.String("labels"), c.String("column")
			if path == "" || column == "" {
				return nil, nil, usagef("figure classes needs --labels and --column")
			}
			count, err := countColumn(path, column)
			if err != nil {
				return nil, nil, err
			}
			f, err := figure.Classes(count, "rows")
			return f, []string{path}, err
		})
}

// countColumn counts the values of a column of a table; empty cells are no class.
func countColumn(path, column string) (map[string]int, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := csvfile.NewReader(file)
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	at := slices.Index(head, column)
	if at < 0 {
		return nil, fmt.Errorf("%s: %w", path, registry.Unknown("column", column, head))
	}
	count := map[string]int{}
	for {
		row, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return count, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		case row[at] != "":
			count[row[at]]++
		}
	}
}

// figureItems are the items of a file of vectors.
type figureItems struct {
	*figure.Items
	file   string
	ids    []string // nil: none
	levels []string

	classes *embeddings.Classes
}

// names returns the names of the classes of a level.
func (f *figureItems) names(level int) []string { return f.classes.Names(level) }

// rowOf finds one of n items by its id, by its number, or by the name of its image. ids may be nil.
func rowOf(ids []string, n int, name string) (int, error) {
	if i := slices.Index(ids, name); i >= 0 {
		return i, nil
	}
	i, err := strconv.Atoi(name)
	if err != nil {
		i = slices.IndexFunc(ids, func(id string) bool { return qrels.Stem(id) == name })
	}
	if i < 0 || i >= n {
		return 0, usagef("--query is %.80q; want the id of an item, or its row from 0 to %d", name, n-1)
	}
	return i, nil
}

// figureInputs reads the vectors and how to deal them. want is their number of files; 0: any.
func figureInputs(c *cli.Context, j *job, want int) (list []figureItems, files []string, d figure.Dealing, err error) {
	if files, err = figureFiles(c, want); err != nil {
		return nil, nil, d, err
	}
	for _, text := range settings.Split(c.StringSlice("sizes")) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, nil, d, usagef("--sizes has %.80q; want numbers of items, such as 32,64,128", text)
		}
		d.Sizes = append(d.Sizes, n)
	}
	d.PerClass, d.Batches, d.Seed = c.Int("per-class"), c.Int("batches"), c.Uint64("seed")
	b, err := j.openDevice(0)
	if err != nil {
		return nil, nil, d, err
	}
	for _, file := range files {
		in := figureInput(c, j, file)
		if err := in.Complete(); err != nil {
			return nil, nil, d, err
		}
		items, err := readItems(b, in, func(e *embeddings.Evaluation) error {
			return (&evalFileSettings{Also: c.String("also")}).bindFurther(j, e)
		})
		if err != nil {
			return nil, nil, d, err
		}
		list = append(list, *items)
	}
	for _, file := range []string{c.String("labels"), c.String("also")} {
		if file != "" {
			files = append(slices.Clone(files), file)
		}
	}
	return list, files, d, nil
}

// figureFiles returns the files of --embeddings. want is their number; 0: any.
func figureFiles(c *cli.Context, want int) ([]string, error) {
	files := c.StringSlice("embeddings")
	if len(files) == 0 {
		return nil, usagef("--embeddings is missing: want the file of the vectors")
	}
	if want > 0 && len(files) != want {
		return nil, usagef("--embeddings names %d files, want %d", len(files), want)
	}
	return files, nil
}

// figureInput says how to read a file of vectors and its labels.
func figureInput(c *cli.Context, j *job, file string) *embeddings.Input {
	return &embeddings.Input{Embeddings: file, Labels: c.String("labels"),
		Columns: settings.Split(c.StringSlice("levels")), Open: openVectors, Verify: verifyVectors(j.ctx),
		Recorded: index.Recorded, Say: j.say}
}

// readItems reads vectors with their labels. bind may set what decides.
func readItems(b device.Backend, in *embeddings.Input, bind func(*embeddings.Evaluation) error) (*figureItems, error) {
	e, err := in.Load(b)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if err := bind(e); err != nil {
		return nil, err
	}
	items, err := itemsOf(b, &e.Query)
	if err == nil && e.Truth != nil {
		items.Truth = e.Truth
	}
	return &figureItems{Items: items, file: in.Embeddings, ids: e.Query.IDs, levels: e.Levels, classes: e.Classes}, err
}

// itemsOf downloads the vectors of a side.
func itemsOf(b device.Backend, s *retrieval.Side) (*figure.Items, error) {
	data := make([]byte, 4*s.Vectors.Len())
	if err := b.Wait(b.Download(data, s.Vectors)); err != nil {
		return nil, err
	}
	return figure.NewItems(data, s.Vectors.Cols(), s.Labels), nil
}
