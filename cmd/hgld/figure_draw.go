package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hgld/cluster"
	"hgld/internal/blas"
	"hgld/internal/csvfile"
	"hgld/internal/registry"
	"hgld/internal/regular"
	"hgld/train/device"
	"hgld/train/embeddings"
	"hgld/train/experiment/plan"
	"hgld/train/figure"
	"hgld/train/index"
	"hgld/train/loss"
	"hgld/train/losscheck"
	"hgld/train/metric"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

func drawSteps(_ *job, s *figureSettings) (picture, []string, error) {
	names := s.losses
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
			list = append(list, figure.NamedStep{Name: plan.MethodOf(name) + " (" + preset.Name + ")", Step: step})
		}
	}
	f, err := figure.Steps(list, s.Reach, s.Slopes)
	return f, nil, err
}

func drawRegion(j *job, s *figureSettings) (picture, []string, error) {
	of, inputs, err := s.items(j)
	if err != nil {
		return nil, nil, err
	}
	f, err := figure.Operating(of.Items, s.dealing(), s.Tau, s.Slope)
	return f, inputs, err
}

func drawGap(j *job, s *figureSettings) (picture, []string, error) {
	of, inputs, err := s.items(j)
	if err != nil {
		return nil, nil, err
	}
	name, _, _ := strings.Cut(s.Metric, "_level")
	set, err := metric.ParseSet([]string{name})
	if err != nil {
		return nil, nil, err
	}
	keys, key := set.Keys(len(of.Labels[0])), s.Metric
	if !slices.Contains(keys, key) && key == name {
		key += "_level0"
	}
	if !slices.Contains(keys, key) {
		return nil, nil, fmt.Errorf("--metric: %w", registry.Unknown("metric", key, keys))
	}
	f, err := figure.Gap(of.Items, s.dealing(), key, set)
	return f, inputs, err
}

func drawCurves(j *job, s *figureSettings) (picture, []string, error) {
	list, inputs, err := s.models(j)
	if err != nil {
		return nil, nil, err
	}
	row, err := rowOf(list[0].ids, len(list[0].Labels), strings.Join(s.Query, ","))
	if err != nil {
		return nil, nil, err
	}
	level := figure.AllLevels
	if s.Level != "all" {
		if level, err = levelNamed(list[0].levels, s.Level, 0, "all"); err != nil {
			return nil, nil, err
		}
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
}

func drawScores(j *job, s *figureSettings) (picture, []string, error) {
	of, inputs, err := s.items(j)
	if err != nil {
		return nil, nil, err
	}
	level, err := levelNamed(of.levels, s.Level, 0)
	if err != nil {
		return nil, nil, err
	}
	f, err := figure.Scores(of.Items, level)
	return f, inputs, err
}

func drawClasses(_ *job, s *figureSettings) (picture, []string, error) {
	if s.Labels == "" || s.Column == "" {
		return nil, nil, usagef("figure classes needs --labels and -o column=NAME")
	}
	count, err := countColumn(s.Labels, s.Column)
	if err != nil {
		return nil, nil, err
	}
	f, err := figure.Classes(count, "rows")
	return f, []string{s.Labels}, err
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

func drawMeans(j *job, s *figureSettings) (picture, []string, error) {
	if s.Method != "tsne" && s.Method != "pca" {
		return nil, nil, usagef("method is %.80q; want tsne or pca", s.Method)
	}
	of, inputs, err := s.items(j)
	if err != nil {
		return nil, nil, err
	}
	level, err := levelNamed(of.levels, s.Level, 0)
	if err != nil {
		return nil, nil, err
	}
	colour, err := levelNamed(of.levels, s.Colour, len(of.levels)-1)
	if err != nil {
		return nil, nil, err
	}
	m, err := figure.ClassMeans(of.Items, level, colour)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", of.levels[level], err)
	}
	points, axes, err := planeOf(j, m, s.Method)
	if err != nil {
		return nil, nil, err
	}
	f := m.Draw(points, of.classes.Names(level), of.classes.Names(colour), axes)
	f.Plot.NoTicks = s.Method == "tsne" // its numbers mean nothing
	return f, inputs, nil
}

// planeOf projects the means to two dimensions.
func planeOf(j *job, m *figure.Means, method string) (points []float32, axes [2]string, err error) {
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
	return drawn.Data, [2]string{"t-SNE 1", "t-SNE 2"}, nil
}

func drawLandscape(j *job, s *figureSettings) (picture, []string, error) {
	l := s.Loss
	if len(s.losses) > 1 {
		return nil, nil, usagef("figure landscape draws one loss; got %d", len(s.losses))
	}
	if len(s.losses) == 1 {
		l.Name = s.losses[0]
	}
	of, inputs, err := s.items(j)
	if err != nil {
		return nil, nil, err
	}
	d := s.dealing()
	rows, err := d.Batch(of.Items)
	if err != nil {
		return nil, nil, err
	}
	b, err := j.openDevice()
	if err != nil {
		return nil, nil, err
	}
	batch, err := losscheck.BatchOf(b, of.Vectors, of.Labels, rows, of.levels, of.classes)
	if err != nil {
		return nil, nil, err
	}
	plane, err := losscheck.SectionOf(b, &losscheck.Input{Loss: l, Rows: batch, Unit: true, Seed: s.Seed}, s.Reach,
		s.Cells)
	if err != nil {
		return nil, nil, err
	}
	return figure.Landscape(plane.Steps, plane.Values, plane.Lambdas, plane.Interpolated), inputs, nil
}

func drawExamples(j *job, s *figureSettings) (picture, []string, error) {
	if s.Data == "" {
		return nil, nil, usagef("figure examples needs --data")
	}
	d, closer, err := openItems(j, s.Data, s.Split, vectorLabels{})
	if err != nil {
		return nil, nil, err
	}
	defer closer.Close()
	level, err := levelNamed(d.Levels(), s.Level, len(d.Levels())-1)
	if err != nil {
		return nil, nil, err
	}
	if level < 0 {
		return nil, nil, usagef("%s has no classes", s.Data)
	}
	all, names := d.Classes(level), s.Class
	for _, name := range names {
		if !slices.Contains(all, name) {
			return nil, nil, registry.Unknown("class", name, all)
		}
	}
	if len(names) == 0 {
		names = presentClasses(d, level, all)
	}
	p, err := figure.Examples(j.ctx, d, level, all, names, s.Each, s.Side, s.Seed)
	return p, []string{s.Data}, err
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

func drawBounds(_ *job, s *figureSettings) (picture, []string, error) {
	if !(s.Violations >= 0 && s.Violations <= 1) {
		return nil, nil, usagef("violations is %v; want 0 to 1", s.Violations)
	}
	f, err := figure.Bounds(figure.NewBatch(s.Positives, s.Negatives, s.Violations), s.Batches)
	return f, nil, err
}

// toyBatches are two batches that are each ranked without a mistake: in the second, all scores are lower.
var toyBatches = []string{"0.9+ 0.8+ 0.7- 0.6-", "0.5+ 0.4+ 0.3- 0.2-"}

func drawToy(_ *job, s *figureSettings) (picture, []string, error) {
	var batches [][]figure.Scored
	for _, text := range s.Batch {
		items, err := figure.ParseScored(text)
		if err != nil {
			return nil, nil, fmt.Errorf("batch: %w", err)
		}
		batches = append(batches, items)
	}
	f, err := figure.Toy(batches)
	return f, nil, err
}

// figureItems are the items of a file of vectors.
type figureItems struct {
	*figure.Items
	file    string
	ids     []string // nil: none
	levels  []string
	classes *embeddings.Classes
}

// dealing returns how items become mini-batches.
func (s *figureSettings) dealing() figure.Dealing {
	return figure.Dealing{Sizes: s.Sizes, PerClass: s.PerClass, Batches: s.Batches, Seed: s.Seed}
}

// items reads the one file of vectors that most figures draw.
func (s *figureSettings) items(j *job) (*figureItems, []string, error) {
	if len(s.Embeddings) > 1 {
		return nil, nil, usagef("--embeddings names %d files, want 1", len(s.Embeddings))
	}
	list, inputs, err := s.models(j)
	if err != nil {
		return nil, nil, err
	}
	return &list[0], inputs, nil
}

// models reads the files of vectors, with their labels.
func (s *figureSettings) models(j *job) (list []figureItems, inputs []string, err error) {
	if len(s.Embeddings) == 0 {
		return nil, nil, usagef("--embeddings is missing: want the file of the vectors")
	}
	b, err := j.openDevice()
	if err != nil {
		return nil, nil, err
	}
	for _, file := range s.Embeddings {
		e, err := s.read(j, b, s.input(j, file))
		if err != nil {
			return nil, nil, err
		}
		items, err := itemsOf(b, &e.Query)
		if err = errors.Join(err, e.Close()); err != nil {
			return nil, nil, err
		}
		if e.Truth != nil {
			items.Truth = e.Truth
		}
		list = append(list, figureItems{Items: items, file: file, ids: e.Query.IDs, levels: e.Levels, classes: e.Classes})
	}
	return list, named(append(slices.Clone(s.Embeddings), s.Labels, s.ExtraParents)), nil
}

// input returns how to read a file of vectors and its labels.
func (s *figureSettings) input(j *job, file string) *embeddings.Input {
	return &embeddings.Input{Embeddings: file, Labels: s.Labels, Open: openVectors,
		Verify:    verifyVectors(j.ctx),
		Labelling: embeddings.Labelling{Columns: s.Levels, Recorded: index.Recorded, Log: j.log}}
}

// read reads vectors and labels, with the extra parents of classes.
func (s *figureSettings) read(j *job, b device.Backend, in *embeddings.Input) (*embeddings.Evaluation, error) {
	if err := in.Complete(); err != nil {
		return nil, err
	}
	e, err := in.Load(b)
	if err != nil {
		return nil, err
	}
	if err := (&evalFileSettings{ExtraParents: s.ExtraParents}).bindExtra(j, e); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// named returns the paths that are not empty.
func named(paths []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// itemsOf downloads the vectors of a side.
func itemsOf(b device.Backend, s *retrieval.Side) (*figure.Items, error) {
	data := make([]byte, 4*s.Vectors.Len())
	if err := b.Wait(b.Download(data, s.Vectors)); err != nil {
		return nil, err
	}
	return figure.NewItems(data, s.Vectors.Cols(), s.Labels), nil
}

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

// levelNamed returns the number of a level, or otherwise for an empty name. The error for an unknown name lists the
// levels, and other words that may stand in place of one.
func levelNamed(levels []string, name string, otherwise int, others ...string) (int, error) {
	if name == "" {
		return otherwise, nil
	}
	level := slices.Index(levels, name)
	if level < 0 {
		return 0, registry.Unknown("level", name, slices.Concat(levels, others))
	}
	return level, nil
}
