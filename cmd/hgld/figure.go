package main

import (
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/report"
	"hgld/internal/settings"
	"hgld/internal/texttable"
	"hgld/train/config"
	"hgld/train/figure"
)

// figureSettings are the settings of all figures. A figure uses those that its row of [figures] names.
type figureSettings struct {
	Embeddings        []string `yaml:"embeddings" usage:"files of vectors (.npy, .npz, .safetensors, .parquet, .pt, .pkl)"`
	Labels            string   `yaml:"labels" usage:"labels of the vectors; empty: the .csv or .tsv of the same name"`
	Levels            []string `yaml:"levels" usage:"label columns, finest first; empty: those that may be levels"`
	GalleryEmbeddings string   `yaml:"gallery_embeddings" usage:"vectors to rank; empty: the queries themselves"`
	GalleryLabels     string   `yaml:"gallery_labels" usage:"labels of the gallery; empty: the .csv or .tsv of the same name"`
	Qrels             string   `yaml:"qrels" usage:"judgements in place of labels, as in hgld eval run"`
	Images            string   `yaml:"images" usage:"folder, archive or shards with the images named by the ids of the vectors"`
	Data              string   `yaml:"data" usage:"folder, archive or shards of labelled images"`
	Query             []string `yaml:"query" usage:"ids of the queries, or their rows from 0"`
	Level             string   `yaml:"level" usage:"level of the classes or positives; all: every level (curves)"`
	Sizes             []int    `yaml:"sizes" usage:"batch sizes, such as 32,64,128"`
	PerClass          int      `yaml:"per_class" range:"0 65536" usage:"items of each finest class in a batch; 0: any items"`
	Seed              uint64   `yaml:"seed" usage:"seed of batches and images"`
	Metric            string   `yaml:"metric" usage:"metric of the finest level, or with its level: AP_level1, H-AP"`
	TopK              int      `yaml:"top_k" range:"1 1000" usage:"number of ranked images to draw"`

	QrelsUsage   string      `yaml:"qrels_usage" flag:"-" usage:"part of the judgements: public, private, easy, medium or hard"`
	ExtraParents string      `yaml:"extra_parents" flag:"-" usage:"extra parents of classes, as in hgld eval run"`
	EqualIDs     string      `yaml:"equal_ids" flag:"-" usage:"equal ids denote the same image (same) or two images (other)"`
	Junk         bool        `yaml:"junk" flag:"-" usage:"draw junk images, greyed out"`
	Side         float64     `yaml:"side" flag:"-" range:"2 200" usage:"longer side of an image, in millimetres"`
	Split        string      `yaml:"split" flag:"-" usage:"split of shards; empty: all of them"`
	Class        []string    `yaml:"class" flag:"-" usage:"classes to draw; empty: all"`
	Each         int         `yaml:"each" flag:"-" range:"1 1000" usage:"images of each class"`
	Reach        float64     `yaml:"reach" flag:"-" usage:"steps: from -T to T; landscape: lengths of the vectors each way"`
	Slopes       bool        `yaml:"slopes" flag:"-" usage:"draw the slopes of the steps"`
	Tau          float64     `yaml:"tau" flag:"-" usage:"temperature of the sigmoid"`
	Slope        float64     `yaml:"slope" flag:"-" usage:"smallest slope of the operating region"`
	Batches      int         `yaml:"batches" flag:"-" usage:"batches of each size at most, 0: one pass; bounds: 1, 2, 4 … up to this many"`
	Column       string      `yaml:"column" flag:"-" usage:"column of the classes, such as supercategory"`
	Colour       string      `yaml:"colour" flag:"-" usage:"level that gives the colour; empty: the coarsest"`
	Method       string      `yaml:"method" flag:"-" usage:"tsne or pca"`
	Cells        int         `yaml:"cells" flag:"-" usage:"cells each way"`
	Positives    int         `yaml:"positives" flag:"-" usage:"positives of the query in a batch"`
	Negatives    int         `yaml:"negatives" flag:"-" usage:"negatives in a batch"`
	Violations   float64     `yaml:"violations" flag:"-" usage:"share of each kind on the wrong side of β, 0 to 1"`
	Batch        []string    `yaml:"batch" flag:"-" usage:"batches of scores, + for a positive and - for a negative"`
	Loss         config.Loss `yaml:"loss"` // of landscape: -o loss.settings.tau=0.1

	losses []string // --loss
}

// newFigureSettings returns the defaults that all figures share.
func newFigureSettings() *figureSettings {
	return &figureSettings{TopK: 10, Side: 18, Each: 8, Junk: true, Metric: "AP", Method: "tsne", Cells: 41, Tau: 0.01,
		Slope: 0.005, Reach: 0.1, Positives: 3, Negatives: 60, Violations: 0.1, Batch: toyBatches,
		Loss: config.Default().Loss}
}

// picture is what a figure draws.
type picture interface {
	Draw(w io.Writer, path string) error
	Points() *texttable.Table
}

// drawing is a row of [figures].
type drawing struct {
	uses     string                // keys of its settings, between spaces
	examples string                // command lines
	defaults func(*figureSettings) // those that differ from [newFigureSettings]; nil: none

	// draw returns the picture and the files that it read.
	draw func(j *job, s *figureSettings) (p picture, inputs []string, err error)
}

// keysOf returns the keys of the settings that the figure uses.
func (d *drawing) keysOf() []string { return strings.Fields(d.uses) }

func figureCommand() *cli.Command {
	flags := append(commonFlags(), flagsOf(newFigureSettings())...)
	return &cli.Command{Name: "figure", Usage: "draw a figure of the papers; without a name, list the figures",
		ArgsUsage: "[NAME]",
		Description: "  hgld figure                             all figures\n" +
			"  hgld figure NAME --help                 examples and settings of one\n" +
			"  hgld figure steps --loss smooth-ap --loss sup-ap --out steps.svg\n" +
			"\nEach figure is a picture, .svg, .png or .pdf, and its points as .csv beside it.",
		Flags: append(flags,
			&cli.StringSliceFlag{Name: "loss", Usage: "`NAMES` of losses (hgld train losses)"},
			&cli.StringFlag{Name: "out", Usage: "`FILE` to write, .svg, .png or .pdf (default: NAME.svg)"},
			overrideFlag(), replaceFlag(), deviceFlag()),
		Action: actionWithArgs(0, 1, "the name of a figure", func(c *cli.Context, j *job) error {
			if len(j.args) == 0 {
				return listFigures(j)
			}
			d, err := figures().Get("figure", j.args[0])
			if err != nil {
				return withHint(withCode(exitUsage, err), "hgld figure lists them")
			}
			return drawFigure(c, j, j.args[0], &d)
		})}
}

// listFigures prints name, meaning and settings of each figure.
func listFigures(j *job) error {
	var list []map[string]any
	var rows [][]string
	for _, e := range figures() {
		list = append(list, map[string]any{"name": e.Name, "about": e.About, "settings": e.Value.keysOf()})
		rows = append(rows, []string{e.Name, e.About})
	}
	return j.show(list, texttable.Format("%-10s %s", rows...))
}

// helpOf returns the help of a command. That of a figure, which is its argument, shows the examples and the settings of
// this figure alone.
func helpOf(c *cli.Command, args []string) *cli.Command {
	if c.Name != "figure" {
		return c
	}
	i := slices.IndexFunc(figures(), func(e registry.Entry[drawing]) bool { return slices.Contains(args, e.Name) })
	if i < 0 {
		return c
	}
	one, row := *c, figures()[i]
	own, s := row.Value.keysOf(), row.Value.settings()
	var only [][]string
	for _, f := range settings.Fields(s) {
		if slices.Contains(own, f.Key()) && !f.HasFlag() {
			only = append(only, []string{"  -o", f.Key() + "=",
				fmt.Sprintf("%s (default: %s)", f.Usage(), settings.Text(f.Value))})
		}
	}
	flags := slices.DeleteFunc(slices.Clone(c.Flags), func(f cli.Flag) bool {
		key := strings.ReplaceAll(f.Names()[0], "-", "_")
		return !isShared(f) && key != "out" && !slices.Contains(own, key)
	})
	one.HelpName, one.Usage, one.Description = c.HelpName+" "+row.Name, row.About, row.Value.examples
	one.ArgsUsage = ""
	one.CustomHelpTemplate = commandHelp + texttable.Format("%s %-23s %s", only...) + flagHelp(flags, "")
	return &one
}

// settings returns the defaults of a figure.
func (d *drawing) settings() *figureSettings {
	s := newFigureSettings()
	if d.defaults != nil {
		d.defaults(s)
	}
	return s
}

// drawFigure draws a figure and writes it with its points.
func drawFigure(c *cli.Context, j *job, name string, d *drawing) error {
	s, err := d.load(c, j, name)
	if err != nil {
		return err
	}
	out := c.String("out")
	if out == "" {
		out = name + ".svg"
	}
	if err := report.CheckFile(out); err != nil {
		return withCode(exitUsage, fmt.Errorf("--out: %w", err))
	}
	p, inputs, err := d.draw(j, s)
	if err != nil {
		return asUsage(err)
	}
	switch of := p.(type) {
	case *figure.Figure:
		of.Plot.Style = j.pictures
	case *figure.Pictures:
		of.Sheet.Style = j.pictures
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
}

// load returns the settings of the figure: its defaults, -o and flags. It returns a usage error for a setting that the
// figure does not use.
func (d *drawing) load(c *cli.Context, j *job, name string) (*figureSettings, error) {
	s := d.settings()
	section, own := j.project.Section("figure", s), d.keysOf()
	note := section.Origin
	var surplus error
	section.Origin = func(key, from string) {
		if group, _, _ := strings.Cut(key, "."); surplus == nil && !slices.Contains(own, group) {
			surplus = usagef("%s: figure %s has no setting %s; it has %s", from, name, key, strings.Join(own, ", "))
		}
		note(key, from)
	}
	if err := section.Assign(joined(s, j.project.Assignments(c))); err != nil {
		return nil, withCode(exitUsage, err)
	}
	if err := section.Flags(c); err != nil {
		return nil, withCode(exitUsage, err)
	}
	if s.losses = settings.Split(c.StringSlice("loss")); len(s.losses) > 0 {
		section.Origin("loss", "--loss")
	}
	if surplus != nil {
		return nil, surplus
	}
	return s, withCode(exitUsage, section.Check(func(key string) string { return j.project.Origin("figure." + key) }))
}

// joined merges assignments to one list, so that a list may be assigned value by value.
func joined(s *figureSettings, assignments []string) (list []string) {
	fields, at := settings.Fields(s), map[string]int{}
	for _, a := range assignments {
		key, value, _ := strings.Cut(a, "=")
		i, _ := settings.Find(fields, key)
		n, again := at[key]
		if i < 0 || fields[i].Value.Kind() != reflect.Slice || !again {
			at[key], list = len(list), append(list, a)
			continue
		}
		list[n] += "," + value
	}
	return list
}

// sayLacking tells which letters of texts the font of their picture lacks.
func sayLacking(j *job, picture string, texts []string) {
	kind := filepath.Ext(picture)
	if letters := report.Lacking(texts...); letters != "" && kind != ".svg" {
		j.log("warning: the font of a %s has no letters %.80q, so the picture lacks them; an .svg has all letters", kind,
			letters)
	}
}

// pictureOutputs are a picture and its points.
func pictureOutputs(picture string) []pipeline.Output {
	return []pipeline.Output{{Path: picture, Kind: kindPlot}, {Path: figure.PointsFile(picture), Kind: kindPoints}}
}

// figures returns the table of the figures, in the order of their names in help texts.
func figures() registry.Table[drawing] {
	const vectors = "embeddings labels levels "
	const deals = vectors + "sizes per_class batches seed "
	return registry.Table[drawing]{
		{Name: "steps", About: "the surrogate step functions of ranking losses, or their slopes", Value: drawing{
			uses: "loss reach slopes", draw: drawSteps,
			examples: "  hgld figure steps --out steps.svg\n" +
				"  hgld figure steps --loss happier -o slopes=true --out slopes.png"}},
		{Name: "region", About: "the share of score differences in the operating region of a sigmoid, by batch size",
			Value: drawing{uses: deals + "tau slope", draw: drawRegion,
				examples: "  hgld figure region --embeddings e.npy --labels l.csv --sizes 32,64,128 --per-class 4"}},
		{Name: "gap", About: "a metric of mini-batches and of all items, by batch size", Value: drawing{
			uses: deals + "metric extra_parents", draw: drawGap,
			examples: "  hgld figure gap --embeddings e.npy --labels l.csv --sizes 32,64,128 --metric AP --out gap.svg"}},
		{Name: "curves", About: "precision and recall of one query for several models", Value: drawing{
			uses: vectors + "query level extra_parents", draw: drawCurves,
			examples: "  hgld figure curves --embeddings before.npy --embeddings after.npy --labels l.csv --query img7\n" +
				"  hgld figure curves --embeddings e.npy --labels l.csv --query 12 --level all --out pr.png"}},
		{Name: "scores", About: "the distributions of the scores of positives and negatives", Value: drawing{
			uses: vectors + "level", draw: drawScores,
			examples: "  hgld figure scores --embeddings e.npy --labels l.csv --out scores.svg"}},
		{Name: "classes", About: "the sizes of the classes of a table", Value: drawing{
			uses: "labels column", draw: drawClasses,
			examples: "  hgld figure classes --labels train_label_to_hierarchical.csv -o column=supercategory"}},
		{Name: "means", About: "the mean vectors of classes in a plane, coloured by a coarser level", Value: drawing{
			uses: vectors + "level colour method", draw: drawMeans,
			examples: "  hgld figure means --embeddings e.npy --labels l.csv --out means.svg\n" +
				"  hgld figure means --embeddings e.npy --labels l.csv -o method=pca -o colour=order"}},
		{Name: "landscape", About: "a loss and its interpolations on a plane through vectors of a batch", Value: drawing{
			uses: deals + "loss reach cells", draw: drawLandscape,
			defaults: func(s *figureSettings) { s.Reach = 1 },
			examples: "  hgld figure landscape --loss blackbox-ap --embeddings e.npy --labels l.csv --sizes 64 --per-class 4\n" +
				"  hgld figure landscape --loss happier -o loss.settings.tau=0.1 --embeddings e.npy --labels l.csv --sizes 64\n" +
				"\n--seed draws the two directions; a cell at 1 has moved each vector by its own length."}},
		{Name: "retrieved", About: "the images that queries retrieve, framed by their relevance", Value: drawing{
			uses: vectors + "gallery_embeddings gallery_labels qrels qrels_usage extra_parents equal_ids images query top_k " +
				"junk side",
			draw: drawRetrieved, examples: retrievedExamples}},
		{Name: "examples", About: "some images of each class", Value: drawing{
			uses: "data split level class each seed side", draw: drawExamples,
			examples: "  hgld figure examples --data shards --level supercategory -o class=church,bridge,castle\n" +
				"  hgld figure examples --data photos -o each=12 --out examples.png"}},
		{Name: "bounds", About: "the upper bounds of the decomposability gap of batches with an AP of 1", Value: drawing{
			uses: "positives negatives batches violations", draw: drawBounds,
			defaults: func(s *figureSettings) { s.Batches = 256 },
			examples: "  hgld figure bounds -o positives=3 -o negatives=60 -o violations=0.1 --out bounds.svg"}},
		{Name: "toy", About: "the decomposability gap of AP on a few items in batches", Value: drawing{
			uses: "batch", draw: drawToy,
			examples: "  hgld figure toy --out toy.svg\n" +
				"  hgld figure toy -o batch='0.9+ 0.8+ 0.3- 0.2-' -o batch='0.8+ 0.7+ 0.4- 0.1-' --out calibrated.svg"}},
	}
}

const retrievedExamples = "  hgld figure retrieved --embeddings e.npy --labels l.csv --images photos " +
	"--query img7,img12 --top-k 20\n" +
	"  hgld figure retrieved --embeddings e.npy --labels ids.csv --qrels judged.qrels --images photos --query img7\n" +
	"  hgld figure retrieved --embeddings landmarks/gnd_roxford5k/queries.npy \\\n" +
	"    --gallery-embeddings landmarks/gnd_roxford5k/gallery.npy --qrels gnd_roxford5k.pkl -o qrels_usage=medium \\\n" +
	"    --images oxford/jpg --query all_souls_000013\n" +
	"\nGreen: the finest class, or a positive. Blue and yellow: more, or fewer, than half of the levels or of the\n" +
	"greatest relevance. Red: no level, or a negative. Grey: junk, which is not ranked."
