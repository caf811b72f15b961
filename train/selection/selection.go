// Package selection chooses what a run is trained on and what is evaluated: splits of folders of
// shards, or vectors of another model. It opens the files through an [Opener].
package selection

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hgld/internal/classes"
	"hgld/labels"
	"hgld/train"
	"hgld/train/embeddings"
	"hgld/train/evaluation"
	"hgld/train/input"
)

// Images selects the images of a folder of shards to train on, and the queries and gallery of an
// evaluation. Classes held out of the training and ranked among themselves are the validation. A
// split ranked against another is the test.
type Images struct {
	Data        string   `yaml:"data" path:"in" store:"true" usage:"folder of shards, or {store}"`
	Splits      []string `yaml:"splits" flag:"-" usage:"splits to train on"`
	HoldOut     float64  `yaml:"hold_out" range:"0 1" usage:"share of the finest classes to hold out for validation"`
	HoldOutSeed uint64   `yaml:"hold_out_seed" flag:"-" usage:"seed that chooses the classes to hold out"`
	Query       string   `yaml:"query" usage:"split of the test's queries; of vectors, by the column split of their labels"`
	Gallery     string   `yaml:"gallery" usage:"split to rank; empty: the queries themselves"`

	Embeddings string `yaml:"embeddings" path:"in" usage:"vectors of another model to train a head on, instead of images (.npy, .safetensors, .parquet, .pt, .pkl)"`
	Labels     string `yaml:"labels" path:"in" usage:"labels of the vectors, as in eval; of images, another tree than that of the shards: labels of their landmarks, such as places.csv"`

	Levels  []string `yaml:"levels" usage:"label columns of the vectors, finest first; empty: those that may be levels"`
	Missing []string `yaml:"na_values" flag:"-" usage:"cells of the labels of vectors that mean no class, as in eval"`

	PartialLabels string `yaml:"partial_labels" flag:"-" usage:"vectors whose labels lack some levels: refuse, or keep (a missing level is unknown)"`

	ExtraParents string `yaml:"extra_parents" path:"in" usage:"extra parents of classes, .csv with the columns level, class and extra_parent; empty: the labels are a tree"`

	Benchmarks []string `yaml:"benchmarks" flag:"-" path:"in" store:"true" usage:"a test in parts, instead of query: folders of shards with one level each, in which the split query ranks the split gallery"`
}

// Default selects the training split of the folder shards.
func Default() Images {
	return Images{Data: "shards", Splits: []string{string(labels.Train)}, HoldOutSeed: 1,
		PartialLabels: classes.RefusePartial}
}

// String describes the selection for the record of a run.
func (s *Images) String() string {
	text := fmt.Sprintf("%s, splits %s", s.Data, strings.Join(s.Splits, " and "))
	if s.Labels != "" {
		text += ", labels " + s.Labels
	}
	if s.Embeddings != "" {
		text = s.Embeddings
	}
	if s.ExtraParents != "" {
		text += ", extra parents " + s.ExtraParents
	}
	if s.HoldOut > 0 {
		text += fmt.Sprintf(", %v of the classes held out by seed %d", s.HoldOut, s.HoldOutSeed)
	}
	return text
}

// Evaluated describes the images that are evaluated.
func (s *Images) Evaluated() string {
	text := s.measured()
	if s.ExtraParents != "" {
		text += ", extra parents " + s.ExtraParents
	}
	return text
}

func (s *Images) measured() string {
	switch {
	case len(s.Benchmarks) > 0:
		return strings.Join(s.Benchmarks, ", ")
	case s.Query == "" && s.HoldOut > 0:
		return fmt.Sprintf("%s, %v of the classes of %s held out by seed %d", s.Files()[0], s.HoldOut,
			strings.Join(s.Splits, " and "), s.HoldOutSeed)
	case s.Gallery != "" && s.Gallery != s.Query:
		return fmt.Sprintf("%s, query %s, gallery %s", s.Data, s.Query, s.Gallery)
	}
	return fmt.Sprintf("%s, query %s", s.Data, s.Query)
}

// Files lists the files of the training data: a folder of shards, or vectors and labels; then extra parents.
func (s *Images) Files() []string {
	list := s.labelled()
	if s.ExtraParents != "" {
		list = append(list, s.ExtraParents)
	}
	return list
}

func (s *Images) labelled() []string {
	if s.Embeddings != "" {
		labelFile, _ := embeddings.LabelsFor(s.Labels, s.Embeddings) // opening it reports the error
		return []string{s.Embeddings, labelFile}
	}
	if s.Labels != "" {
		return []string{s.Data, s.Labels}
	}
	return []string{s.Data}
}

// Paths returns the settings that each name one file or folder.
func (s *Images) Paths() []*string {
	return []*string{&s.Data, &s.Embeddings, &s.Labels, &s.ExtraParents}
}

// Set is an opened folder of shards.
type Set interface {
	// Split returns the images of a split. It fails if there is no such split.
	Split(name labels.Split) (input.Dataset, error)
	// Close closes the files. Images must not be read afterwards.
	Close() error
}

// Error says that a selection contradicts itself or does not fit the files.
type Error struct{ Err error }

// Error is the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the contradiction.
func (e *Error) Unwrap() error { return e.Err }

// misfit returns err as an [Error], or nil for nil.
func misfit(err error) error {
	if err == nil {
		return nil
	}
	return &Error{err}
}

// NoSplitsError is the error for a test by splits of vectors whose labels have none.
type NoSplitsError struct{ Labels string }

// Error names the labels.
func (e *NoSplitsError) Error() string {
	return e.Labels + " has no column split, in which query and splits choose rows"
}

// Opener opens the files that a selection names.
type Opener struct {
	// Shards opens a folder of shards.
	Shards func(folder string) (Set, error)
	// Vectors opens a file of vectors.
	Vectors func(path string) (embeddings.Vectors, error)
	// Verify checks a file of vectors or labels against a record of it; it may be nil.
	Verify func(path string) error
	// Recorded is [embeddings.Input.Recorded]; it may be nil.
	Recorded func(path string) bool
	// Log receives remarks on labels of vectors and on held-out classes; it may be nil.
	Log func(format string, args ...any)
}

// Data is the result of opening a selection. Query holds the queries of the test or, without a
// test, those of the held-out classes.
type Data struct {
	train.Data
	Also []io.Closer // what Close closes, too; may be nil
	sets []Set
}

// Close closes the files.
func (d *Data) Close() error {
	var errs []error
	for _, s := range d.sets {
		errs = append(errs, s.Close())
	}
	for _, c := range d.Also {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Searched returns the images that a search ranks: the gallery of the test, or its queries if it has
// no gallery, or all images if there is no test.
func (d *Data) Searched() input.Dataset {
	for _, images := range []input.Dataset{d.Gallery, d.Query} {
		if images != nil {
			return images
		}
	}
	return d.Train
}

// Evaluated returns the evaluated data sets, queries and gallery in turn, with nil for a missing
// one.
func (d *Data) Evaluated() []input.Dataset {
	if len(d.Benchmarks) == 0 {
		return []input.Dataset{d.Query, d.Gallery}
	}
	var list []input.Dataset
	for _, b := range d.Benchmarks {
		list = append(list, b.Query, b.Gallery)
	}
	return list
}

// Open opens the files and selects the images. A selection that contradicts itself or does not
// fit the files is an [Error]; errors of the Opener are not.
func (s *Images) Open(o Opener) (*Data, error) {
	if err := s.check(); err != nil {
		return nil, misfit(err)
	}
	d, err := s.open(o)
	if err != nil || s.ExtraParents == "" {
		return d, err
	}
	if err := d.openExtra(s.ExtraParents, o); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (s *Images) open(o Opener) (*Data, error) {
	if s.Embeddings != "" {
		return s.openVectors(o)
	}
	d := new(Data)
	err := d.openImages(s, o)
	if err == nil {
		err = d.openBenchmarks(s.Benchmarks, o)
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// check returns an error for settings that exclude each other.
func (s *Images) check() error {
	switch _, err := classes.KeepsPartial(s.PartialLabels); {
	case err != nil:
		return err
	case s.Embeddings != "" && len(s.Benchmarks) > 0:
		return errors.New("benchmarks name images, but embeddings is " + s.Embeddings)
	case s.Gallery != "" && s.Query == "":
		return fmt.Errorf("gallery is %.80q, but no query split ranks it", s.Gallery)
	case s.ExtraParents != "" && len(s.Benchmarks) > 0:
		return errors.New("benchmarks have one level each, in which classes have no extra parents: leave out " +
			"extra_parents, or evaluate a split as the test")
	case len(s.Splits) == 0:
		return errors.New("splits is empty: name at least one, such as train")
	case len(s.Benchmarks) > 0 && s.Query != "":
		return fmt.Errorf("query is %.80q and benchmarks is %s: set only one of them as the test", s.Query,
			strings.Join(s.Benchmarks, ","))
	}
	return nil
}

// openVectors reads vectors of another model. If a test is asked for, the column split of their labels
// chooses its rows and those to train on. Otherwise all are trained on but the classes held out.
func (s *Images) openVectors(o Opener) (*Data, error) {
	in := &embeddings.Input{Embeddings: s.Embeddings, Labels: s.Labels, Open: o.Vectors, Verify: o.Verify,
		Labelling: embeddings.Labelling{Columns: s.Levels, Missing: s.Missing, Part: "train",
			Partial:  s.PartialLabels == classes.KeepPartial,
			Recorded: o.Recorded, Log: o.Log}}
	if s.Query != "" {
		in.Part = ""
	}
	all, err := embeddings.ReadFrozen(in)
	if err != nil {
		return nil, err
	}
	d := &Data{Data: train.Data{Train: all}}
	if s.Query != "" {
		err = d.choose(s, vectorSet{all}, o.Log)
	} else {
		err = d.holdOut(s, o.Log)
	}
	if err == nil && s.PartialLabels != classes.KeepPartial {
		err = wholeRows(d.Train, all.LabelFile())
	}
	return d, misfit(err)
}

// wholeRows returns a *[labels.LevelError] if a row to train on has classes at some levels and not at others: also one
// with its finest class alone, which evaluations take, because losses of all levels would see it as of mixed depth.
func wholeRows(d input.Dataset, file string) error {
	for i := range d.Len() {
		path := d.Labels(i)
		lacks := slices.Index(path, -1)
		if lacks >= 0 && slices.Max(path) >= 0 {
			return &labels.LevelError{Where: fmt.Sprintf("%s: %s", file, d.ID(i)), Level: d.Levels()[lacks], Whole: true}
		}
	}
	return nil
}

// vectorSet are vectors whose labels have a column of splits.
type vectorSet struct{ all *embeddings.Frozen }

// Split returns the vectors of a split.
func (v vectorSet) Split(name labels.Split) (input.Dataset, error) {
	splits := v.all.Splits()
	if splits == nil {
		return nil, &NoSplitsError{v.all.LabelFile()}
	}
	rows := &input.Subset{Of: v.all}
	for i, split := range splits {
		if split == string(name) {
			rows.Rows = append(rows.Rows, i)
		}
	}
	if len(rows.Rows) == 0 {
		return nil, fmt.Errorf("%s has no row of the split %.80q, only of %s", v.all.LabelFile(), name,
			strings.Join(slices.Compact(slices.Sorted(slices.Values(splits))), ", "))
	}
	return rows, nil
}

// Close does nothing: the vectors are in memory.
func (v vectorSet) Close() error { return nil }

// openImages opens the folder of shards and selects the images to train on and those of the test.
func (d *Data) openImages(s *Images, o Opener) error {
	set, err := o.Shards(s.Data)
	if err != nil {
		return err
	}
	d.sets = append(d.sets, set)
	if s.Labels == "" {
		return misfit(d.choose(s, set, o.Log))
	}
	if len(s.Benchmarks) > 0 {
		return misfit(errors.New("benchmarks have trees of their own: leave out labels, or evaluate a split as the test"))
	}
	if o.Verify != nil {
		if err := o.Verify(s.Labels); err != nil {
			return err
		}
	}
	table, err := labels.Open(s.Labels, labels.ReadOptions{})
	if err != nil {
		return err
	}
	return misfit(d.choose(s, &otherTree{set, s.Labels, table, o.Log}, o.Log))
}

// otherTree is a folder of shards whose images have the classes of a file of labels.
type otherTree struct {
	Set
	path  string
	table *labels.Table
	log   func(format string, args ...any)
}

// Split returns the images of a split that have a label.
func (t *otherTree) Split(name labels.Split) (input.Dataset, error) {
	d, err := t.Set.Split(name)
	if err != nil {
		return nil, err
	}
	s, err := input.Relabel(d, t.table)
	if err != nil {
		return nil, fmt.Errorf("%s, split %s: %w", t.path, name, err)
	}
	if left := d.Len() - s.Len(); left > 0 && t.log != nil {
		t.log("%s: %d of %d images of the split %s have no label there, and are left out", t.path, left, d.Len(), name)
	}
	return s, nil
}

// openExtra reads extra parents of the classes of the data.
func (d *Data) openExtra(path string, o Opener) error {
	if o.Verify != nil {
		if err := o.Verify(path); err != nil {
			return err
		}
	}
	var err error
	if d.ExtraParents, err = labels.OpenExtraParents(path); err != nil {
		return err
	}
	parents, err := evaluation.ParentsOf(d.ExtraParents, d.Train, d.Validation, d.Query, d.Gallery)
	if err != nil {
		return misfit(err)
	}
	if o.Log != nil {
		parents.Report(path, d.ExtraParents, o.Log)
	}
	return nil
}

// openBenchmarks opens the parts of a test. Without a gallery split, the queries are ranked
// against each other.
func (d *Data) openBenchmarks(folders []string, o Opener) error {
	for _, folder := range folders {
		set, err := o.Shards(folder)
		if err != nil {
			return err
		}
		d.sets = append(d.sets, set)
		query, err := set.Split(labels.Query)
		if err != nil {
			return misfit(err)
		}
		b := evaluation.Benchmark{Query: query}
		if gallery, err := set.Split(labels.Gallery); err == nil {
			b.Gallery = gallery
		}
		d.Benchmarks = append(d.Benchmarks, b)
	}
	return nil
}

func (d *Data) choose(s *Images, set Set, log func(format string, args ...any)) error {
	var parts []input.Dataset
	for _, name := range s.Splits {
		part, err := set.Split(labels.Split(name))
		if err != nil {
			return err
		}
		parts = append(parts, part)
	}
	d.Train = parts[0]
	if len(parts) > 1 {
		d.Train = input.Join(parts...)
	}
	if err := d.holdOut(s, log); err != nil {
		return err
	}
	gallery := s.Gallery
	if gallery == s.Query {
		gallery = "" // each query is then left out of its own ranking
	}
	for _, side := range []struct {
		split string
		set   *input.Dataset
	}{{s.Query, &d.Query}, {gallery, &d.Gallery}} {
		if side.split == "" {
			continue
		}
		images, err := set.Split(labels.Split(side.split))
		if err != nil {
			return err
		}
		*side.set = images
	}
	return nil
}

// holdOut keeps classes for the validation, if HoldOut asks for it.
func (d *Data) holdOut(s *Images, log func(format string, args ...any)) error {
	if s.HoldOut == 0 {
		return nil
	}
	rest, held, err := input.HoldOut(d.Train, s.HoldOut, s.HoldOutSeed)
	if err != nil {
		return err
	}
	if log != nil {
		for _, l := range input.LoneClasses(d.Train, held) {
			log("warning: %s", l)
		}
	}
	d.Train, d.Validation, d.Query = rest, held, held
	return nil
}
