package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/regular"
	"hgld/internal/texttable"
	"hgld/labels"
	"hgld/train/index"
	"hgld/train/propagate"
)

const propagateExamples = "  hgld embed-images --weights clip-vit-base-patch32 --out clip.npy images\n" +
	"  hgld labels build --include-unlabelled --to json --out all.json\n" +
	"  hgld labels propagate --vectors clip.npy --images images.csv all.json propagated.json\n\n" +
	"  A landmark without a label receives the label of the landmarks with the nearest images, if at least --min-vote\n" +
	"  of the votes agree. Labelled landmarks are held out as a test: a table shows how often the votes are right.\n" +
	"  Existing labels are kept, and landmarks whose tag curation dropped stay unlabelled. The label_source of new\n" +
	"  labels is propagated. --review writes the votes for all unlabelled landmarks, --suggest the votes for tags that\n" +
	"  curation has not assigned."

func labelsPropagateCommand() *cli.Command {
	return &cli.Command{
		Name: "propagate", Usage: "label untagged landmarks from visually similar ones",
		ArgsUsage: "LABELS OUT", Description: propagateExamples,
		Flags: labelFlags(
			&cli.StringFlag{Name: "vectors", Usage: "`FILE` of the images' vectors, with their ids"},
			&cli.StringFlag{Name: "images", Usage: "`TABLE` of the images: id or path, landmark_id, and perhaps split"},
			&cli.Float64Flag{Name: "min-vote", Value: 0.9, Usage: "`SHARE` of the votes that a label needs, 0 to 1"},
			&cli.IntFlag{Name: "neighbours", Value: 20, Usage: "images that vote for an image"},
			&cli.Float64Flag{Name: "temperature", Value: 0.07, Usage: "a neighbour of cosine s votes with exp(s/`T`)"},
			&cli.IntFlag{Name: "per-landmark", Value: 20, Usage: "at most `N` images of a landmark count; 0: all"},
			&cli.IntFlag{Name: "eval-landmarks", Value: 10000, Usage: "labelled landmarks held out to estimate the accuracy"},
			&cli.StringFlag{Name: "review", Usage: "write the votes for all landmarks without a label to `FILE` (.csv)"},
			&cli.StringFlag{Name: "suggest", Usage: "write groups for unassigned tags to `FILE`, for hgld curate import"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed for choosing the held-out landmarks"},
			replaceFlag(), deviceFlag(),
		),
		Action: actionWithArgs(2, 2, "the labels to read and those to write", func(c *cli.Context, j *job) error {
			p := &propagation{job: j, least: c.Float64("min-vote"), vectors: c.String("vectors"), images: c.String("images"),
				review: c.String("review"), suggest: c.String("suggest"), to: j.args[1],
				options: propagate.Options{K: c.Int("neighbours"), Heat: c.Float64("temperature"), PerOwner: c.Int("per-landmark"),
					Estimate: c.Int("eval-landmarks"), Seed: c.Uint64("seed"), Threads: j.threads}}
			return p.run(c)
		}),
	}
}

// propagation is one `hgld labels propagate`.
type propagation struct {
	*job
	vectors, images, review, suggest, to string
	least                                float64
	options                              propagate.Options

	table     *labels.Table
	landmarks *propagate.Landmarks
	input     propagate.Input
}

func (p *propagation) check() error {
	for flag, value := range map[string]string{"vectors": p.vectors, "images": p.images} {
		if value == "" {
			return withHint(usagef("labels propagate needs --%s", flag), "hgld labels propagate --help has an example")
		}
	}
	if !(p.least >= 0 && p.least <= 1) {
		return usagef("--min-vote is %v, want a share from 0 to 1", p.least)
	}
	if !(p.options.Heat > 0) {
		return usagef("--temperature is %v, want a positive number", p.options.Heat)
	}
	out := []pipeline.Output{{Path: p.to, Kind: kindLabels}}
	for _, path := range []string{p.review, p.suggest} {
		if path != "" {
			out = append(out, pipeline.Output{Path: path, Kind: kindVotes})
		}
	}
	return p.checkOutputs("labels propagate", []string{p.args[0], p.vectors, p.images}, out...)
}

func (p *propagation) run(c *cli.Context) (err error) {
	if err := p.check(); err != nil {
		return err
	}
	if p.table, err = readLabels(c, p.args[0], true); err != nil {
		return labelHint(err, p.args[0])
	}
	if len(p.table.Levels) < 2 {
		return usagef("%s has only the level %s; want landmarks and their classes", p.args[0],
			strings.Join(p.table.Levels, ", "))
	}
	options, err := splitFlag(c)
	if err != nil {
		return err
	}
	p.landmarks = propagate.NewLandmarks(p.table)
	if n := p.landmarks.Dropped(); n > 0 {
		p.log("%s stay unlabelled: curation dropped their tags", count(n, "landmark"))
	}
	if err := p.read(options.Split); err != nil {
		return err
	}
	b, err := p.openDevice()
	if err != nil {
		return err
	}
	bar := p.progress("vote", len(p.input.Owner))
	p.options.Progress = func(done, _ int) { bar.Set(done, "") }
	result, err := propagate.Run(p.ctx, b, p.input, p.options)
	bar.End()
	if err != nil {
		return withCode(exitUsage, err)
	}
	return p.write(result)
}

// read reads the vectors and finds the landmark of each.
func (p *propagation) read(split labels.Split) error {
	f, err := regular.Open(p.images)
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("%s: %w", p.images, err))
	}
	defer f.Close()
	owner, err := p.landmarks.Owners(f, split)
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("%s: %w", p.images, err))
	}
	x, err := index.Open(p.ctx, p.vectors, "", openVectors)
	if err != nil {
		return err
	}
	vectors, err := x.Matrix()
	if err = errors.Join(err, x.Close()); err != nil {
		return err
	}
	rows := len(x.IDs)
	unknown := 0
	p.input, unknown = p.landmarks.Input(x.IDs, vectors, owner)
	if unknown == rows {
		return withHint(usagef("none of the %d vectors of %s has an id of %s, such as %s", rows, p.vectors, p.images,
			slices.Min(slices.Collect(maps.Keys(owner)))), "vector ids look like %s", word(x.IDs[0]))
	}
	if unknown > 0 {
		p.log("%d of %d vectors have no landmark in %s and are left out", unknown, rows, p.images)
	}
	return nil
}

// shares are those that the table of errors shows, besides --min-vote.
var shares = []float64{0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99}

// write writes the labels and says how good they are.
func (p *propagation) write(r *propagate.Result) error {
	decisions, err := p.landmarks.Give(r.Votes, p.least)
	if err != nil {
		return err
	}
	count := map[propagate.Decision]int{}
	for _, d := range decisions {
		count[d]++
	}
	form, err := p.form()
	if err != nil {
		return err
	}
	if err := atomicfile.Write(p.to, func(w io.Writer) error { return p.table.Write(w, form) }); err != nil {
		return err
	}
	if err := p.writeVotes(r, decisions); err != nil {
		return err
	}
	asked := slices.Sorted(slices.Values(append(slices.Clone(shares), p.least)))
	levels := r.Estimate(p.input.Class, slices.Compact(asked))
	if p.json {
		return writeJSON(p.job, map[string]any{"propagated": count[propagate.Given], "too_few_votes": count[propagate.TooFew],
			"conflicts": count[propagate.Conflict], "estimate": levels})
	}
	p.print("%d landmarks labelled, %d with votes below %v, %d in conflict with their category in another split\n",
		count[propagate.Given], count[propagate.TooFew], p.least, count[propagate.Conflict])
	p.print("%s written: %d rows\n\n", p.to, len(p.table.Rows))
	rows := [][]string{{"votes", "landmarks", "right", "95 % interval"}}
	for _, l := range levels {
		share, low, high := l.Interval()
		if l.Given == 0 {
			rows = append(rows, texttable.Row(fmt.Sprintf("≥ %v", l.Least), 0, "–"))
			continue
		}
		rows = append(rows, texttable.Row(fmt.Sprintf("≥ %v", l.Least), l.Given, fmt.Sprintf("%.1f%%", 100*share),
			fmt.Sprintf("%.1f to %5.1f", 100*low, 100*high)))
	}
	p.print("%s\nof %d labelled landmarks that were held out. Landmarks without a tag may differ\n"+
		"from them: look at some of the new labels.\n", texttable.Format("%-6s %9s %9s %18s", rows...), len(r.Test))
	return nil
}

// form returns the layout to write.
func (p *propagation) form() (labels.Form, error) {
	if strings.HasSuffix(strings.ToLower(p.to), ".json") {
		return labels.JSONForm, nil
	}
	if len(p.table.Levels) == 3 {
		return labels.HierarchicalForm, checkFormInName(p.to, labels.HierarchicalForm)
	}
	return labels.LevelsForm, checkFormInName(p.to, labels.LevelsForm)
}

// writeVotes writes the files of --review and --suggest.
func (p *propagation) writeVotes(r *propagate.Result, decisions []propagate.Decision) error {
	if p.review != "" {
		if err := writeTable(p.review, p.landmarks.Review(r.Votes, decisions)); err != nil {
			return err
		}
	}
	if p.suggest == "" {
		return nil
	}
	return writeTable(p.suggest, p.landmarks.Suggest(r))
}

// writeTable writes a table as CSV.
func writeTable(path string, t texttable.Table) error {
	return atomicfile.Write(path, func(w io.Writer) error { return t.Write(w, "csv") })
}
