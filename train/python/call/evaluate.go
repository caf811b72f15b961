package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/classes"
	"hgld/labels"
	"hgld/train/config"
	"hgld/train/device"
	"hgld/train/embeddings"
	"hgld/train/index"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// Measures says what an evaluation measures. It is read from JSON; an empty field has the default of
// the settings of the stage eval.
type Measures struct {
	Metrics     []string `json:"metrics"`     // such as R@1, AP, H-AP
	Ties        string   `json:"ties"`        // order of equal scores: a name of metric.TieRules
	Mean        string   `json:"mean"`        // what a mean is taken over: query or class
	Intervals   bool     `json:"intervals"`   // compute 95 % bootstrap intervals
	Resample    string   `json:"resample"`    // what the bootstrap resamples: query or class
	Seed        uint64   `json:"seed"`        // of the bootstrap and of the batches of Gap
	Gap         int      `json:"gap"`         // batch size of the decomposability gap; 0: none
	Unit        bool     `json:"unit"`        // scale the vectors to length 1 first
	Independent bool     `json:"independent"` // the levels do not form a tree
	Levels      []string `json:"levels"`      // names of the levels, finest first
	Threads     int      `json:"threads"`     // 0: one for each processor
	PerQuery    bool     `json:"per_query"`   // keep the values of every query

	ExtraParents []ExtraParent `json:"extra_parents"` // nil: the labels are a tree
	Also         any           `json:"also"`          // the former name of ExtraParents, an error

	Examples []string `json:"examples"` // a class of the queries and one of the gallery, for errors

	Files *Files `json:"files"` // read instead of arrays; nil: none
}

// Files are files of vectors and labels, which are read as the program reads them. Measures.Levels are then the columns
// to read; none: those that may be levels.
type Files struct {
	Embeddings        string   `json:"embeddings"`         // vectors of the queries
	Labels            string   `json:"labels"`             // their labels; "": in the file of the vectors, or beside it
	GalleryEmbeddings string   `json:"gallery_embeddings"` // vectors to rank; "": those of the queries
	GalleryLabels     string   `json:"gallery_labels"`     // their labels
	Missing           []string `json:"na_values"`          // cells that mean no class; none: the usual words
}

// Side is one side of an evaluation. Classes are any numbers from 0, one for each row and level, finest
// first; −1 stands for none.
type Side struct {
	Vectors Matrix  // [N,D]
	Classes []int32 // [N·L]
	Ignore  []int32 // [N]: items with the query's number are left out of its ranking; −1: no number; nil: none
}

// Result is the result of an evaluation, with what was decided about its input.
type Result struct {
	*retrieval.Result
	Notes []string `json:"notes,omitempty"` // for the user
}

// LevelsOf returns the number of levels of measures in JSON.
func LevelsOf(text []byte) (int, error) {
	var m Measures
	if err := json.Unmarshal(text, &m); err != nil {
		return 0, fmt.Errorf("the measures are no JSON of the expected form: %w", err)
	}
	return len(m.Levels), nil
}

// Evaluate ranks the gallery for every query and measures the rankings. An absent gallery is the
// queries, each of which is then left out of its own ranking. self is each query's row in another
// gallery, or −1, which is left out; it may be nil.
func Evaluate(ctx context.Context, backend func(threads int) device.Backend, text []byte, query, gallery *Side,
	self []int32) (*Result, error) {
	m := Measures{Metrics: config.DefaultMetrics(), Ties: metric.TieRules[0].Name, Mean: "query", Resample: "query"}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("the measures are no JSON of the expected form: %w", err)
	}
	e, err := m.evaluation()
	if err != nil {
		return nil, err
	}
	b := backend(m.Threads)
	if m.Files != nil {
		notes, err := m.load(b, e)
		if err != nil {
			return nil, err
		}
		return m.measured(ctx, b, e, notes)
	}
	reads := embeddings.Labelling{Independent: m.Independent, Partial: true}
	numbers := &numbering{Classes: embeddings.Classes{Labelling: reads}, levels: m.Levels}
	if err := numbers.Declare("labels", m.Levels); err != nil {
		return nil, err
	}
	if e.Query, err = numbers.side("queries", query, m.Unit); err != nil {
		return nil, err
	}
	e.Gallery, e.Self = e.Query, self
	if !gallery.Vectors.Absent() {
		if e.Gallery, err = numbers.side("gallery", gallery, m.Unit); err != nil {
			return nil, err
		}
	} else if self != nil {
		return nil, errors.New("the queries are their own gallery: their rows there are known, want none given")
	} else {
		e.Self = retrieval.OwnRows(query.Vectors.Rows)
	}
	if err := m.bindExtra(e, numbers); err != nil {
		return nil, err
	}
	if !gallery.Vectors.Absent() {
		notes, err := m.compare(e, query, gallery)
		if err != nil {
			return nil, err
		}
		numbers.notes = append(numbers.notes, notes...)
	}
	return m.measured(ctx, b, e, numbers.notes)
}

// measured returns the result of e with what was decided about its input.
func (m *Measures) measured(ctx context.Context, b device.Backend, e *retrieval.Evaluation, notes []string) (*Result,
	error) {
	evaluate := retrieval.Evaluate
	if m.Independent {
		evaluate = retrieval.EvaluateIndependent
	}
	r, err := evaluate(ctx, b, e)
	if err == nil && r.OneClass {
		notes = append(notes, r.ClassNote())
	}
	return &Result{r, notes}, err
}

// load reads the files into e.
func (m *Measures) load(b device.Backend, e *retrieval.Evaluation) (notes []string, err error) {
	f := m.Files
	in := &embeddings.Input{Embeddings: f.Embeddings, Labels: f.Labels, GalleryEmbeddings: f.GalleryEmbeddings,
		GalleryLabels: f.GalleryLabels, Unit: m.Unit, Open: embeddings.Open,
		Verify: func(path string) error { return index.Verify(context.Background(), path) },
		Labelling: embeddings.Labelling{Independent: m.Independent, Columns: m.Levels, Missing: f.Missing, Partial: true,
			Part: "validation", Recorded: index.Recorded,
			Log: func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }}}
	if err := in.Complete(); err != nil {
		return nil, err
	}
	read, err := in.Load(b)
	if err != nil {
		return nil, err
	}
	e.Levels, e.Query, e.Gallery, e.Self = read.Levels, read.Query, read.Gallery, read.Self
	return notes, nil
}

// compare looks for what two sides have in common: classes, and images if nobody says which.
func (m *Measures) compare(e *retrieval.Evaluation, query, gallery *Side) (notes []string, err error) {
	if e.Truth == nil && !embeddings.Shared(e.Query.Labels, e.Gallery.Labels) {
		var examples [2]string
		copy(examples[:], m.Examples)
		return nil, embeddings.NothingShared("labels", "gallery_labels", m.Levels[0], examples)
	}
	if e.Self != nil {
		return nil, nil
	}
	same, err := embeddings.EqualRows(query.Vectors.vectors(), gallery.Vectors.vectors(), e.Query.Labels, e.Gallery.Labels)
	if err != nil || same == nil {
		return nil, err
	}
	found := 0
	for _, row := range same {
		if row >= 0 {
			found++
		}
	}
	if found < len(same) {
		return []string{fmt.Sprintf("%d of %d queries have the vector and the classes of a row of the gallery, and are "+
			"ranked with it; self_rows says which rows are the queries", found, len(same))}, nil
	}
	e.Self = same
	return []string{"the queries are rows of the gallery with the same vectors and classes, and are left out of their " +
		"own rankings; self_rows says which rows are the queries, or -1"}, nil
}

// evaluation resolves the names of what is measured.
func (m *Measures) evaluation() (*retrieval.Evaluation, error) {
	if err := retrieval.CheckLevels(m.Levels); err != nil && m.Files == nil {
		return nil, err
	}
	if err := checkThreads(m.Threads); err != nil {
		return nil, err
	}
	set, err := metric.ParseSet(m.Metrics)
	if err != nil {
		return nil, err
	}
	ties, err := metric.TieRules.Get("order of ties", m.Ties)
	if err != nil {
		return nil, err
	}
	mean, err := retrieval.Units.Get("mean", m.Mean)
	if err != nil {
		return nil, err
	}
	resample, err := retrieval.Units.Get("unit to resample", m.Resample)
	if err != nil {
		return nil, err
	}
	e := &retrieval.Evaluation{Levels: m.Levels, Metrics: set, Ties: ties, Threads: m.Threads, PerQuery: m.PerQuery,
		Gap: m.Gap, GapSeed: m.Seed}
	if mean == retrieval.ByClass {
		e.Mean = mean
	}
	if m.Intervals {
		e.Intervals = retrieval.NewIntervals(resample, m.Seed)
	}
	return e, nil
}

// numbering gives the classes of both sides their numbers, as it does for files.
type numbering struct {
	embeddings.Classes
	levels []string
	notes  []string // about vectors, for the user
}

// side checks vectors and numbers the classes of their rows.
func (n *numbering) side(what string, s *Side, unit bool) (of retrieval.Side, err error) {
	rows, levels := s.Vectors.Rows, len(n.levels)
	if err := s.Vectors.check(what, s.Vectors.Cols, s.Vectors.wide()); err != nil {
		return of, err
	}
	if len(s.Classes) != rows*levels {
		return of, fmt.Errorf("%d rows of the %s have %d classes, want %d at each row", rows, what, len(s.Classes), levels)
	}
	if s.Ignore != nil && len(s.Ignore) != rows {
		return of, fmt.Errorf("%d rows of the %s have %d numbers to ignore, want one for each", rows, what, len(s.Ignore))
	}
	of.Ignore, of.Labels = s.Ignore, make([]labels.Path, rows)
	for i := range of.Labels {
		if of.Labels[i], err = n.path(s.Classes[i*levels:][:levels], fmt.Sprintf("row %d of the %s", i, what)); err != nil {
			return of, n.inOrder(s, err)
		}
	}
	if of.Stored, err = retrieval.Store(s.Vectors.vectors(), unit); err != nil {
		return of, fmt.Errorf("%s: %w", what, err)
	}
	if count, first := of.Stored.Zeros(); count > 0 {
		n.notes = append(n.notes, embeddings.ZerosNote(count, rows, "the "+what, fmt.Sprintf("row %d", first)))
	}
	return of, nil
}

// inOrder adds to the error of a class with two parents the order of the levels that forms a tree.
func (n *numbering) inOrder(s *Side, err error) error {
	levels := len(n.levels)
	read, none := classes.Look(n.levels, classes.Options{Exact: true}, classes.Table{
		Rows: func(yield func([]string, string) bool) {
			cells := make([]string, levels)
			for i := 0; i < len(s.Classes); i += levels {
				for l, c := range s.Classes[i:][:levels] {
					cells[l] = strconv.Itoa(int(c))
				}
				if !yield(cells, fmt.Sprintf("row %d", i/levels)) {
					return
				}
			}
		}})
	if none != nil || !errors.As(err, new(*labels.ParentsError)) || slices.Equal(read.Levels, n.levels) {
		return err
	}
	return fmt.Errorf("%w; the levels are %s, want the finest first: %s form a tree", err, strings.Join(n.levels, ", "),
		strings.Join(read.Levels, ", "))
}

// path returns the numbers of a row's classes.
func (n *numbering) path(classes []int32, where string) (labels.Path, error) {
	names := make([]string, len(classes))
	for l, c := range classes {
		if c >= 0 {
			names[l] = strconv.Itoa(int(c))
		}
	}
	return n.Add(names, where)
}

// vectors returns m as the rows of an evaluation, which stay where they are.
func (m Matrix) vectors() retrieval.Vectors { return stored{m} }

type stored struct{ Matrix }

// Rows returns the number of rows and columns.
func (s stored) Rows() (rows, cols int) { return s.Matrix.Rows, s.Cols }

// ReadRows fills dst with the rows from lo on, float64 rounded to float32.
func (s stored) ReadRows(dst []float32, lo int) error {
	for i := 0; len(dst) > 0; i++ {
		if !s.wide() {
			copy(dst[:s.Cols], s.row(lo+i))
		} else {
			for j, v := range s.wideRow(lo + i) {
				dst[j] = float32(v)
			}
		}
		dst = dst[s.Cols:]
	}
	return nil
}
