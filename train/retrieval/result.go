package retrieval

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hgld/internal/texttable"
	"hgld/labels"
	"hgld/train/metric"
	"hgld/train/stats"
)

// Result is the result of an evaluation. Its JSON is eval.json.
type Result struct {
	Version int      `json:"hgld_eval"`              // format version
	On      string   `json:"on,omitempty"`           // in training: validation or test
	Queries int      `json:"queries"`                // number of queries
	Gallery int      `json:"gallery"`                // number of gallery items
	Self    bool     `json:"self_excluded"`          // each query was left out of its own ranking
	LeftOut int      `json:"left_out"`               // number of such queries
	Ties    string   `json:"ties"`                   // how equal scores were ordered
	Tied    int      `json:"tied_queries,omitempty"` // queries with equal scores of items of different levels
	Levels  []string `json:"levels"`                 // finest first
	Values  []Value  `json:"metrics"`                // one for each metric and level

	Independent bool `json:"independent_levels,omitempty"` // the levels do not form a tree
	OneClass    bool `json:"one_class,omitempty"`          // all queries and items are of one class, the finest

	MeanOver Unit `json:"mean_over,omitempty"` // "class": a class counts once; empty: every query does

	// Definitions describe what the metrics measure, by name.
	Definitions map[string]string `json:"definitions,omitempty"`

	Tool string `json:"hgld,omitempty"` // version of hgld

	// Overall is the unweighted mean of each per-level metric over the levels. DyML calls it
	// overall accuracy.
	Overall          map[string]Number `json:"overall"`
	OverallIntervals map[string]Ends   `json:"overall_intervals,omitempty"` // of Overall

	Intervals *Intervals `json:"intervals,omitempty"` // nil: none were computed
	Batches   *Batches   `json:"batches,omitempty"`   // batches of Gap; nil: it was not measured

	PerQuery *PerQuery `json:"per_query,omitempty"` // nil unless asked for

	Ground *TaskHashes `json:"ground,omitempty"` // what was ranked for what; nil: not recorded

	Of *Subject `json:"of,omitempty"` // what was evaluated; nil: not recorded
}

// Subject is what was evaluated: a checkpoint on images, or vectors from files.
type Subject struct {
	Run        string `json:"run,omitempty"`            // run directory
	Checkpoint string `json:"checkpoint,omitempty"`     // folder; empty: no checkpoint of this step
	Step       int    `json:"step"`                     // 0: untrained
	Weights    string `json:"weights_sha256,omitempty"` // of the checkpoint's file

	Data   string `json:"data,omitempty"`        // folders of shards, and which of their images
	Images string `json:"data_sha256,omitempty"` // of the evaluated images, their names and labels

	// Changed lists what differs between the training images and those in the checkpoint. Empty:
	// nothing, or the images are not available.
	Changed string `json:"changed,omitempty"`

	// Settings are those that decide how Files are read, by name.
	Settings map[string]string `json:"settings,omitempty"`

	Files []HashedFile `json:"files,omitempty"` // vectors and labels
}

// HashedFile is a file and its SHA-256.
type HashedFile struct {
	Path   string `json:"path"`   // as it was given
	SHA256 string `json:"sha256"` // in hexadecimal
}

// String describes the subject in one line.
func (s *Subject) String() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.Run != "" {
		add("%s after %d steps", s.Run, s.Step)
	}
	if s.Weights != "" {
		add("weights %.12s", s.Weights)
	}
	if s.Data != "" {
		add("data %s (%.12s)", s.Data, s.Images)
	}
	for _, f := range s.Files {
		add("%s (%.12s)", f.Path, f.SHA256)
	}
	if s.Changed != "" {
		add("%s", s.Changed)
	}
	return strings.Join(parts, ", ")
}

// ResultVersion is the format version of eval.json that this hgld writes.
const ResultVersion = 1

// Value is the mean of a metric over the queries for which it is defined.
type Value struct {
	Key     string `json:"key"`     // "mAP@R_level0", "H-AP"
	Mean    Number `json:"mean"`    // NaN if it is undefined for all queries
	Skipped int    `json:"skipped"` // queries for which it is undefined

	Interval *Ends `json:"interval,omitempty"` // nil: it was not computed

	// Ties are the least and the greatest mean over all orders of items with equal scores. Nil:
	// the order does not change the mean.
	Ties *Ends `json:"ties,omitempty"`

	Gap *Number `json:"gap,omitempty"` // decomposability gap, where it was measured
}

// PerQuery holds the value of every metric for every query, null where it is undefined.
type PerQuery struct {
	IDs    []string            `json:"ids,omitempty"`   // of the queries
	Class  []int               `json:"class,omitempty"` // number of the finest class; negative: no class
	Values map[string][]Number `json:"values"`          // by the key of the metric
}

// Check returns an error if the parts of a result do not match, for example after an edit by
// hand.
func (r *Result) Check() error {
	if r.PerQuery == nil {
		return nil
	}
	part := func(name string, n int) error {
		if n != r.Queries {
			return fmt.Errorf("per_query: %s has %d entries for %d queries", name, n, r.Queries)
		}
		return nil
	}
	if p := r.PerQuery; p.IDs != nil {
		if err := part("ids", len(p.IDs)); err != nil {
			return err
		}
	}
	if p := r.PerQuery; p.Class != nil {
		if err := part("class", len(p.Class)); err != nil {
			return err
		}
	}
	for _, v := range r.Values {
		if values := r.PerQuery.Values[v.Key]; values != nil {
			if err := part(v.Key, len(values)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Number is a float64 whose NaN is null in JSON. NaN means undefined.
type Number float64

// Decimals formats a number with the given decimals, or returns none if it is undefined.
func (n Number) Decimals(places int, none string) string {
	if math.IsNaN(float64(n)) {
		return none
	}
	return strconv.FormatFloat(float64(n), 'f', places, 64)
}

// MarshalJSON writes null for NaN.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as NaN.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

// oneClass reports whether all rows of two sides have the same finest class.
func oneClass(query, gallery []labels.Path) bool {
	other := func(p labels.Path) bool { return p[0] < 0 || p[0] != query[0][0] }
	return len(query) > 0 && !slices.ContainsFunc(query, other) && !slices.ContainsFunc(gallery, other)
}

// ClassNote says in one line that the labels decide nothing, or "".
func (r *Result) ClassNote() string {
	if !r.OneClass {
		return ""
	}
	return "all items are of one class at " + r.Levels[0] + ", so that no ranking is wrong there"
}

func newResult(e *Evaluation, keys []string, columns [][]float64, ties *tieColumns) *Result {
	r := &Result{
		Version: ResultVersion, Queries: len(e.Query.Labels), Gallery: len(e.Gallery.Labels), LeftOut: e.leftOut(),
		Ties:     e.Ties.String(),
		Levels:   e.Levels,
		MeanOver: e.Mean, Definitions: map[string]string{},
	}
	r.Self = r.LeftOut == r.Queries
	r.OneClass = e.Truth == nil && oneClass(e.Query.Labels, e.Gallery.Labels)
	r.Ground = e.ground()
	for _, m := range e.Metrics {
		r.Definitions[m.Name()] = metric.Definition(m.Name())
	}
	class := finestClasses(e.Query.Labels)
	var units *stats.Table
	if e.Mean == ByClass || e.Intervals != nil {
		units = table(columns, class, e.Mean, e.resample())
	}
	means, skipped := meansOf(columns, units, e.Mean)
	for i, key := range keys {
		r.Values = append(r.Values, Value{Key: key, Mean: Number(means[i]), Skipped: skipped[i]})
	}
	r.SetOverall()
	if e.Intervals != nil {
		r.addIntervals(e, units, keys)
	}
	r.addTies(e, ties, columns, class)
	if e.PerQuery {
		r.PerQuery = &PerQuery{IDs: e.Query.IDs, Class: class, Values: map[string][]Number{}}
		for i, key := range keys {
			values := make([]Number, len(columns[i]))
			for q, v := range columns[i] {
				values[q] = Number(v)
			}
			r.PerQuery.Values[key] = values
		}
	}
	return r
}

// SetOverall computes Overall from Values.
func (r *Result) SetOverall() {
	var keys []string
	var means []float64
	for _, v := range r.Values {
		keys, means = append(keys, v.Key), append(means, float64(v.Mean))
	}
	r.Overall = map[string]Number{}
	for name, mean := range metric.Overall(keys, means) {
		r.Overall[name] = Number(mean)
	}
}

// leftOut counts the queries that have a row in the gallery.
func (e *Evaluation) leftOut() (n int) {
	for _, row := range e.Self {
		if row >= 0 {
			n++
		}
	}
	return n
}

// WithoutPositives lists the levels at which no two items share a class, for example because a
// column numbers or names the rows.
func (r *Result) WithoutPositives() (levels []string) {
	for h, level := range r.Levels {
		without := func(v Value) bool {
			return strings.HasSuffix(v.Key, fmt.Sprintf("_level%d", h)) && v.Skipped == r.Queries
		}
		if slices.ContainsFunc(r.Values, without) {
			levels = append(levels, level)
		}
	}
	return levels
}

// Mean returns the mean of a metric by its key, or NaN if it was not measured.
func (r *Result) Mean(key string) float64 { return float64(r.value(key).Mean) }

// Table writes the means in percent: the per-level metrics as a table of levels, the others
// below. Half the width of an interval is printed under or after its figure.
func (r *Result) Table(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%d queries, %d gallery items", r.Queries, r.Gallery)
	switch {
	case r.Self:
		text.WriteString(", each query left out of its own ranking")
	case r.LeftOut > 0:
		fmt.Fprintf(&text, ", %d queries left out of their own ranking", r.LeftOut)
	}
	if r.MeanOver == ByClass {
		text.WriteString(", means over classes")
	}
	text.WriteString("\n\n")
	width := r.levelTable(&text)
	var rows [][]string
	for _, v := range r.Values {
		if !strings.Contains(v.Key, "_level") {
			row := []string{v.Key, percent(v.Mean)}
			if v.Interval != nil {
				row = append(row, v.plusMinus())
			}
			if v.Skipped > 0 {
				row = append(row, fmt.Sprintf("(%d queries skipped)", v.Skipped))
			}
			rows = append(rows, row)
		}
	}
	if len(rows) > 0 {
		text.WriteString("\n" + texttable.Format(fmt.Sprintf("%%-%ds  %%7s  %%s  %%s", width), rows...))
	}
	if r.Intervals != nil {
		fmt.Fprintf(&text, "\n%v\n", r.Intervals)
	}
	r.gapTable(&text)
	for _, note := range []string{r.tieNote(), r.ClassNote()} {
		if note != "" {
			fmt.Fprintf(&text, "\n%s\n", note)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// levelTable writes the table of levels and returns the width of its first column.
func (r *Result) levelTable(text *strings.Builder) (width int) {
	var names []string // of the per-level metrics; benchmarks of landmarks differ in them
	for _, v := range r.Values {
		if name, _, leveled := strings.Cut(v.Key, "_level"); leveled && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	width = len("level")
	rows := [][]string{slices.Concat([]string{"level"}, names, []string{"skipped"})}
	for h, level := range r.Levels {
		width = max(width, utf8.RuneCountInString(level))
		skipped, row, under := 0, []string{level}, []string{""}
		for _, name := range names {
			v := r.value(fmt.Sprintf("%s_level%d", name, h))
			skipped = max(skipped, v.Skipped)
			row, under = append(row, percent(v.Mean)), append(under, v.plusMinus())
		}
		rows = append(rows, append(row, fmt.Sprint(skipped)))
		if r.Intervals != nil {
			rows = append(rows, under)
		}
	}
	text.WriteString(texttable.Format("%-5s"+strings.Repeat("  %7s", len(names)+1), rows...))
	return width
}

func (r *Result) value(key string) Value {
	for _, v := range r.Values {
		if v.Key == key {
			return v
		}
	}
	return Value{Key: key, Mean: Number(math.NaN())}
}

func percent(n Number) string { return (100 * n).Decimals(2, "–") }
