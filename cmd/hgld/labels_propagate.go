package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/internal/csvfile"
	"hgld/internal/pipeline"
	"hgld/internal/regular"
	"hgld/internal/texttable"
	"hgld/labels"
	"hgld/train/index"
	"hgld/train/propagate"
	"hgld/train/qrels"
)

const propagateExamples = "  hgld embed-images --weights clip-vit-base-patch32 --out clip.npy images\n" +
	"  hgld labels build --blank --form json --out all.json\n" +
	"  hgld labels propagate --vectors clip.npy --images images.csv all.json propagated.json\n\n" +
	"  A landmark without a label gets that of the landmarks whose images are nearest to its own, if --least of\n" +
	"  the votes agree. Labelled landmarks are asked as a test: the table says how often votes are right.\n" +
	"  Labels that are there stay as they are, and landmarks whose tag curation dropped stay without one. The\n" +
	"  label_source of the new ones is propagated. --review writes the votes of all landmarks that were asked,\n" +
	"  --suggest what they say of tags that curation has not assigned."

func labelsPropagateCommand() *cli.Command {
	return &cli.Command{
		Name: "propagate", Usage: "give landmarks without a label that of the landmarks that look like them",
		ArgsUsage: "LABELS OUT", Description: propagateExamples,
		Flags: labelFlags(
			&cli.StringFlag{Name: "vectors", Usage: "`FILE` of the images' vectors, with their ids"},
			&cli.StringFlag{Name: "images", Usage: "`TABLE` of the images: id or path, landmark_id, and perhaps split"},
			&cli.Float64Flag{Name: "least", Value: 0.9, Usage: "`SHARE` of the votes that a label needs, 0 to 1"},
			&cli.IntFlag{Name: "neighbours", Value: 20, Usage: "images that vote for an image"},
			&cli.Float64Flag{Name: "heat", Value: 0.07, Usage: "temperature: a neighbour of cosine s votes with exp(s/`HEAT`)"},
			&cli.IntFlag{Name: "per-landmark", Value: 20, Usage: "at most `N` images of a landmark count; 0: all"},
			&cli.IntFlag{Name: "measure", Value: 10000, Usage: "labelled landmarks to estimate the errors from"},
			&cli.StringFlag{Name: "review", Usage: "write the votes of all landmarks without a label to `FILE` (.csv)"},
			&cli.StringFlag{Name: "suggest", Usage: "write groups for unassigned tags to `FILE`, for hgld curate import"},
			&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "of the landmarks that are asked as a test"},
			threadsFlag(), replaceFlag(), deviceFlag(),
		),
		Action: actionWithArgs(2, 2, "the labels to read and those to write", func(c *cli.Context, j *job) error {
			p := &propagation{job: j, least: c.Float64("least"), vectors: c.String("vectors"), images: c.String("images"),
				review: c.String("review"), suggest: c.String("suggest"), to: j.args[1],
				options: propagate.Options{K: c.Int("neighbours"), Heat: c.Float64("heat"), PerOwner: c.Int("per-landmark"),
					Estimate: c.Int("measure"), Seed: c.Uint64("seed"), Threads: c.Int("threads")}}
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

	table   *labels.Table
	known   map[labels.LandmarkKey]int // landmark by key
	keys    []labels.LandmarkKey       // of the landmarks
	rows    []int                      // row of the table of each landmark, −1: none
	classes []string                   // names of the classes
	models  []int                      // a row of the table of each class
	dropped map[int]bool               // landmarks whose tag curation dropped: they get no label
	input   propagate.Input
}

func (p *propagation) check() error {
	for flag, value := range map[string]string{"vectors": p.vectors, "images": p.images} {
		if value == "" {
			return withHint(usagef("labels propagate needs --%s", flag), "hgld labels propagate --help has an example")
		}
	}
	if !(p.least >= 0 && p.least <= 1) {
		return usagef("--least is %v, want a share from 0 to 1", p.least)
	}
	if !(p.options.Heat > 0) {
		return usagef("--heat is %v, want a positive number", p.options.Heat)
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
		return usagef("%s has the level %s alone, want landmarks and their classes", p.args[0],
			strings.Join(p.table.Levels, ", "))
	}
	split, err := splitFlag(c)
	if err != nil {
		return err
	}
	p.landmarks()
	if err := p.read(split); err != nil {
		return err
	}
	b, err := p.openDevice(p.options.Threads)
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

// landmarks numbers the landmarks of the table and their classes above the finest level.
func (p *propagation) landmarks() {
	p.known, p.dropped = map[labels.LandmarkKey]int{}, map[int]bool{}
	numbers := map[string]int32{}
	for i := range p.table.Rows {
		row := &p.table.Rows[i]
		class := int32(-1)
		if row.Labelled() {
			name := row.Names[1]
			if _, is := numbers[name]; !is {
				numbers[name] = int32(len(p.classes))
				p.classes, p.models = append(p.classes, name), append(p.models, i)
			}
			class = numbers[name]
		}
		l := p.landmark(row.Key(), i, class)
		if row.Reason == labels.TagDropped {
			p.dropped[l] = true
		}
	}
	if n := len(p.dropped); n > 0 {
		p.say("%s keep none: curation dropped their tags", count(n, "landmark"))
	}
}

// landmark numbers a landmark.
func (p *propagation) landmark(key labels.LandmarkKey, row int, class int32) int {
	if l, is := p.known[key]; is {
		return l
	}
	l := len(p.keys)
	p.known[key] = l
	p.keys, p.rows, p.input.Class = append(p.keys, key), append(p.rows, row), append(p.input.Class, class)
	return l
}

// read reads the vectors and finds the landmark of each.
func (p *propagation) read(split labels.Split) error {
	owner, err := p.owners(split)
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("%s: %w", p.images, err))
	}
	x, err := index.Open(p.ctx, p.vectors, "", openVectors)
	if err != nil {
		return err
	}
	p.input.Vectors, err = x.Matrix()
	if err = errors.Join(err, x.Close()); err != nil {
		return err
	}
	rows := len(x.IDs)
	p.input.Owner = make([]int32, rows)
	unknown := 0
	for i, id := range x.IDs {
		l, is := owner[id]
		if !is {
			l, is = owner[qrels.Stem(id)]
		}
		if p.input.Owner[i] = l; !is {
			p.input.Owner[i] = -1
			unknown++
		} else if p.dropped[int(l)] {
			p.input.Owner[i] = -1
		}
	}
	if unknown == rows {
		return withHint(usagef("none of the %d vectors of %s has an id of %s, such as %s", rows, p.vectors, p.images,
			slices.Min(slices.Collect(maps.Keys(owner)))), "the ids of the vectors are such as %s", word(x.IDs[0]))
	}
	if unknown > 0 {
		p.say("%d of %d vectors have no landmark in %s and are left out", unknown, rows, p.images)
	}
	return nil
}

// owners reads the landmark of each image, by its id or by its path without folders and extension.
func (p *propagation) owners(split labels.Split) (map[string]int32, error) {
	f, err := regular.Open(p.images)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csvfile.NewReader(f)
	r.Trim()
	head, err := r.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	id := slices.IndexFunc(head, func(h string) bool { return slices.Contains([]string{"id", "image_id", "path"}, h) })
	landmark, part := slices.Index(head, "landmark_id"), slices.Index(head, "split")
	if id < 0 || landmark < 0 {
		return nil, fmt.Errorf("its columns are %.200s, want id (or path) and landmark_id", strings.Join(head, ", "))
	}
	if part < 0 {
		if split == "" {
			splits := p.table.Splits()
			if len(splits) != 1 {
				return nil, fmt.Errorf("it has no column split, and the labels are of %d splits: add the column",
					len(splits))
			}
			split = splits[0]
		}
	}
	owner := map[string]int32{}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return owner, nil
		}
		if err != nil {
			return nil, err
		}
		if row[landmark] == "" {
			continue
		}
		number, err := strconv.ParseInt(row[landmark], 10, 32)
		if err != nil || number < 0 {
			return nil, fmt.Errorf("line %d: landmark_id is %.80q, want a whole number", r.Line(), row[landmark])
		}
		key := labels.LandmarkKey{Split: split, Landmark: labels.LandmarkID(number)}
		if part >= 0 {
			if key.Split = labels.Split(row[part]); !slices.Contains(labels.Splits, key.Split) {
				return nil, fmt.Errorf("line %d: split is %.80q, want one of %v", r.Line(), row[part], labels.Splits)
			}
		}
		l := int32(p.landmark(key, -1, -1))
		if before, twice := owner[row[id]]; twice && before != l {
			return nil, fmt.Errorf("line %d: image %.80q has two landmarks, %v and %v", r.Line(), row[id], p.keys[before],
				p.keys[l])
		}
		owner[row[id]] = l
		if stem := qrels.Stem(row[id]); head[id] == "path" {
			owner[stem] = l
		}
	}
}

// shares are those that the table of errors shows, besides --least.
var shares = []float64{0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99}

// decided is what becomes of a vote.
type decided string

const (
	given     decided = "propagated"
	tooFew    decided = "too few votes"
	conflicts decided = "conflict"
)

// write writes the labels and says how good they are.
func (p *propagation) write(r *propagate.Result) error {
	decisions := make([]decided, len(r.Votes))
	count := map[decided]int{}
	elsewhere := p.categories()
	for i, v := range r.Votes {
		switch other := p.elsewhere(elsewhere, v.Landmark); {
		case v.Share < p.least:
			decisions[i] = tooFew
		case other != "" && other != p.classes[v.Class]:
			decisions[i] = conflicts
		default:
			decisions[i] = given
			p.give(v)
		}
		count[decisions[i]]++
	}
	if err := p.table.Build(); err != nil {
		return err
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
		return writeJSON(p.job, map[string]any{"propagated": count[given], "too_few_votes": count[tooFew],
			"conflicts": count[conflicts], "estimate": levels})
	}
	p.print("%d landmarks labelled, %d with votes below %v, %d in conflict with their category in another split\n",
		count[given], count[tooFew], p.least, count[conflicts])
	p.print("%s written: %d rows\n\n", p.to, len(p.table.Rows))
	p.print("%-6s %9s %9s %18s\n", "votes", "landmarks", "right", "95 % interval")
	for _, l := range levels {
		share, low, high := l.Interval()
		if l.Given == 0 {
			p.print("≥ %-4v %9d %9s\n", l.Least, 0, "–")
			continue
		}
		p.print("≥ %-4v %9d %8.1f%% %8.1f to %5.1f\n", l.Least, l.Given, 100*share, 100*low, 100*high)
	}
	p.print("\nof %d labelled landmarks that were asked as if they had no label. Landmarks without a tag may differ\n"+
		"from them: look at some of the new ones.\n", len(r.Test))
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

// give labels a landmark.
func (p *propagation) give(v propagate.Vote) {
	row := p.rows[v.Landmark]
	if row < 0 {
		row = len(p.table.Rows)
		key := p.keys[v.Landmark]
		p.table.Rows = append(p.table.Rows, labels.LandmarkLabel{Split: key.Split, Landmark: key.Landmark})
	}
	l := &p.table.Rows[row]
	l.Names = slices.Clone(p.table.Rows[p.models[v.Class]].Names)
	l.Names[0] = p.table.ClassName(l.Key())
	l.Source, l.Reason, l.Detail = labels.Propagated, "", ""
}

// categories maps the Commons pages of labelled landmarks to their classes.
func (p *propagation) categories() map[string]string {
	of := map[string]string{}
	for _, row := range p.table.Rows {
		if row.Category != "" && row.Labelled() {
			of[row.Category] = row.Names[1]
		}
	}
	return of
}

// elsewhere returns the class that a landmark's Commons page has in another split, "" if none.
func (p *propagation) elsewhere(of map[string]string, landmark int) string {
	if row := p.rows[landmark]; row >= 0 {
		return of[p.table.Rows[row].Category]
	}
	return ""
}

// writeVotes writes the files of --review and --suggest.
func (p *propagation) writeVotes(r *propagate.Result, decisions []decided) error {
	text := func(share float64) string { return strconv.FormatFloat(share, 'f', 4, 64) }
	if p.review != "" {
		t := texttable.Table{Head: []string{"split", "landmark_id", "class", "share", "second", "images", "decision"}}
		for i, v := range r.Votes {
			key, second := p.keys[v.Landmark], ""
			if v.Second >= 0 {
				second = p.classes[v.Second]
			}
			t.Rows = append(t.Rows, []string{string(key.Split), strconv.Itoa(int(key.Landmark)), p.classes[v.Class],
				text(v.Share), second, strconv.Itoa(v.Images), string(decisions[i])})
		}
		if err := writeTable(p.review, t); err != nil {
			return err
		}
	}
	if p.suggest == "" {
		return nil
	}
	t := texttable.Table{Head: []string{"tag", "group", "score"}}
	for _, g := range p.suggestions(r) {
		t.Rows = append(t.Rows, []string{g.tag, p.classes[g.class], text(g.share)})
	}
	return writeTable(p.suggest, t)
}

// suggestion is a group for a tag.
type suggestion struct {
	tag   string
	class int32
	share float64 // mean over the landmarks with the tag
}

// suggestions sums the votes of landmarks whose tag curation has not assigned.
func (p *propagation) suggestions(r *propagate.Result) (list []suggestion) {
	votes, landmarks := map[string]map[int32]float64{}, map[string]float64{}
	for _, v := range r.Votes {
		row := p.rows[v.Landmark]
		if row < 0 {
			continue
		}
		l := &p.table.Rows[row]
		if l.Tag == "" || l.Reason != labels.TagUnknown && l.Reason != labels.TagUnassigned && l.Source != labels.Propagated {
			continue
		}
		if votes[l.Tag] == nil {
			votes[l.Tag] = map[int32]float64{}
		}
		votes[l.Tag][v.Class] += v.Share
		landmarks[l.Tag]++
	}
	for tag, of := range votes {
		s := suggestion{tag: tag}
		for class, n := range of {
			if n > s.share || n == s.share && class < s.class {
				s.class, s.share = class, n
			}
		}
		s.share /= landmarks[tag]
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b suggestion) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.tag, b.tag))
	})
	return list
}

// writeTable writes a table as CSV.
func writeTable(path string, t texttable.Table) error {
	return atomicfile.Write(path, func(w io.Writer) error { return t.Write(w, "csv") })
}
