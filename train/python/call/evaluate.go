package call

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"hgld/labels"
	"hgld/train"
	"hgld/train/device"
	"hgld/train/metric"
	"hgld/train/retrieval"
)

// Measures says what an evaluation measures. It is read from JSON; an empty field has the default of
// the settings of the stage eval.
type Measures struct {
	Metrics     []string `json:"metrics"`     // such as R@1, AP, H-AP
	Ties        string   `json:"ties"`        // order of equal scores: row, or average over all orders
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

	Also []FurtherParent `json:"also"` // further parents of classes; nil: the labels are a tree
}

// Side is one side of an evaluation. Classes are any numbers from 0, one for each row and level, finest
// first; −1 stands for none.
type Side struct {
	Vectors Matrix  // [N,D]
	Classes []int32 // [N·L]
	Ignore  []int32 // [N]: items with the query's number are left out of its ranking; −1: no number; nil: none
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
	self []int32) (*retrieval.Result, error) {
	m := Measures{Metrics: train.DefaultMetrics(), Ties: "row", Mean: "query", Resample: "query"}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("the measures are no JSON of the expected form: %w", err)
	}
	e, err := m.evaluation()
	if err != nil {
		return nil, err
	}
	classes := &numbering{independent: m.Independent, levels: m.Levels, builder: labels.NewBuilder(m.Levels...),
		columns: make([]map[int32]int32, len(m.Levels))}
	if e.Query, err = classes.side("queries", query, m.Unit); err != nil {
		return nil, err
	}
	e.Gallery, e.Self = e.Query, self
	if !gallery.Vectors.Absent() {
		if e.Gallery, err = classes.side("gallery", gallery, m.Unit); err != nil {
			return nil, err
		}
	} else if self != nil {
		return nil, errors.New("the queries are their own gallery: their rows there are known, want none given")
	} else {
		e.Self = make([]int32, query.Vectors.Rows)
		for i := range e.Self {
			e.Self[i] = int32(i)
		}
	}
	if err := m.bindFurther(e, classes); err != nil {
		return nil, err
	}
	evaluate := retrieval.Evaluate
	if m.Independent {
		evaluate = retrieval.EvaluateIndependent
	}
	return evaluate(ctx, backend(m.Threads), e)
}

// evaluation resolves the names of what is measured.
func (m *Measures) evaluation() (*retrieval.Evaluation, error) {
	if err := retrieval.CheckLevels(m.Levels); err != nil {
		return nil, err
	}
	if m.Threads < 0 { // no thread would measure anything
		return nil, threadsError(m.Threads)
	}
	set, err := metric.ParseSet(m.Metrics)
	if err != nil {
		return nil, err
	}
	ties, err := retrieval.TieRules.Get("order of ties", m.Ties)
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

// numbering gives the classes of both sides their numbers, as embeddings.Classes does for files.
type numbering struct {
	independent bool
	levels      []string
	builder     *labels.Builder
	columns     []map[int32]int32 // of independent levels
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
			return of, err
		}
	}
	if of.Stored, err = retrieval.Store(s.Vectors.vectors(), unit); err != nil {
		return of, fmt.Errorf("%s: %w", what, err)
	}
	return of, nil
}

// path returns the numbers of a row's classes.
func (n *numbering) path(classes []int32, where string) (labels.Path, error) {
	if !slices.ContainsFunc(classes, func(c int32) bool { return c >= 0 }) {
		return slices.Repeat(labels.Path{-1}, len(classes)), nil
	}
	if !n.independent {
		names := make([]string, len(classes))
		for l, c := range classes {
			if c >= 0 {
				names[l] = strconv.Itoa(int(c))
			}
		}
		return n.builder.Add(labels.Row{Names: names, Where: where, Uneven: true})
	}
	p := make(labels.Path, len(classes))
	for l, c := range classes {
		if p[l] = -1; c < 0 {
			continue
		}
		if n.columns[l] == nil {
			n.columns[l] = map[int32]int32{}
		}
		number, known := n.columns[l][c]
		if !known {
			number = int32(len(n.columns[l]))
			n.columns[l][c] = number
		}
		p[l] = number
	}
	return p, nil
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
