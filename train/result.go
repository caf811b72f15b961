package train

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"hgld/train/metric"
)

// Result is what an evaluation measured; its JSON is eval.json.
type Result struct {
	Version int      `json:"hgld_eval"`     // format version
	On      string   `json:"on,omitempty"`  // during a training: validation or test
	Queries int      `json:"queries"`       // number of them
	Gallery int      `json:"gallery"`       // number of items
	Self    bool     `json:"self_excluded"` // each query was left out of its own ranking
	Ties    string   `json:"ties"`          // how equal scores were ordered
	Levels  []string `json:"levels"`        // finest first
	Values  []Value  `json:"metrics"`       // one for each metric and level

	// Overall is the unweighted mean of each per-level metric over the levels, the
	// overall accuracy of DyML.
	Overall map[string]Number `json:"overall"`

	PerQuery *PerQuery `json:"per_query,omitempty"` // nil unless asked for

	Of *Subject `json:"of,omitempty"` // nil in results of older versions
}

// Subject is what an evaluation measured: a checkpoint on images, or vectors from
// files.
type Subject struct {
	Run        string `json:"run,omitempty"`            // run directory
	Checkpoint string `json:"checkpoint,omitempty"`     // folder; empty: there is none of this step
	Step       int    `json:"step"`                     // 0: untrained
	Weights    string `json:"weights_sha256,omitempty"` // of the checkpoint's file

	Data   string `json:"data,omitempty"`        // folders of shards, and the choice of images
	Images string `json:"data_sha256,omitempty"` // of the evaluated images, their names and labels

	// Changed says what of the training's images is not as the checkpoint has it; empty:
	// nothing, or they are not at hand.
	Changed string `json:"changed,omitempty"`

	Files []HashedFile `json:"files,omitempty"` // vectors and labels
}

// HashedFile is a file and its SHA-256.
type HashedFile struct {
	Path   string `json:"path"`   // as it was given
	SHA256 string `json:"sha256"` // in hexadecimal
}

// String names the subject in one line.
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
}

// PerQuery holds the value of every metric for every query, null where it is
// undefined.
type PerQuery struct {
	IDs    []string            `json:"ids,omitempty"` // of the queries
	Values map[string][]Number `json:"values"`        // by the key of the metric
}

// Number is a float64 whose NaN is null in JSON: undefined.
type Number float64

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

func newResult(e *Evaluation, keys []string, columns [][]float64) *Result {
	r := &Result{
		Version: ResultVersion, Queries: len(e.Query.Labels), Gallery: len(e.Gallery.Labels), Self: e.Self != nil,
		Ties:    map[metric.Ties]string{metric.ScoreThenRow: "score-then-row", metric.AverageTies: "average"}[e.Ties],
		Levels:  e.Levels,
		Overall: map[string]Number{},
	}
	means := make([]float64, len(keys))
	for i, key := range keys {
		mean, skipped := metric.Mean(columns[i])
		means[i] = mean
		r.Values = append(r.Values, Value{Key: key, Mean: Number(mean), Skipped: skipped})
	}
	for name, mean := range metric.Overall(keys, means) {
		r.Overall[name] = Number(mean)
	}
	if e.PerQuery {
		r.PerQuery = &PerQuery{IDs: e.Query.IDs, Values: map[string][]Number{}}
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

// Mean returns the mean of a metric by its key, NaN if it was not measured.
func (r *Result) Mean(key string) float64 {
	for _, v := range r.Values {
		if v.Key == key {
			return float64(v.Mean)
		}
	}
	return math.NaN()
}

// Table writes the means in percent: the per-level metrics as a table of levels,
// the others below.
func (r *Result) Table(w io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%d queries, %d gallery items", r.Queries, r.Gallery)
	if r.Self {
		text.WriteString(", each query left out of its own ranking")
	}
	text.WriteString("\n\n")
	var names []string // of the per-level metrics
	for _, v := range r.Values {
		if name, isFinest := strings.CutSuffix(v.Key, "_level0"); isFinest {
			names = append(names, name)
		}
	}
	width := len("level")
	for _, level := range r.Levels {
		width = max(width, len([]rune(level)))
	}
	fmt.Fprintf(&text, "%-*s", width, "level")
	for _, name := range names {
		fmt.Fprintf(&text, "  %7s", name)
	}
	text.WriteString("  skipped\n")
	for h, level := range r.Levels {
		fmt.Fprintf(&text, "%-*s", width, level)
		skipped := 0
		for _, name := range names {
			v := r.value(fmt.Sprintf("%s_level%d", name, h))
			skipped = max(skipped, v.Skipped)
			fmt.Fprintf(&text, "  %7s", percent(v.Mean))
		}
		fmt.Fprintf(&text, "  %7d\n", skipped)
	}
	text.WriteString("\n")
	for _, v := range r.Values {
		if !strings.Contains(v.Key, "_level") {
			fmt.Fprintf(&text, "%-*s  %7s", width, v.Key, percent(v.Mean))
			if v.Skipped > 0 {
				fmt.Fprintf(&text, "  (%d queries skipped)", v.Skipped)
			}
			text.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (r *Result) value(key string) Value {
	for _, v := range r.Values {
		if v.Key == key {
			return v
		}
	}
	return Value{Key: key, Mean: Number(math.NaN())}
}

func percent(n Number) string {
	if math.IsNaN(float64(n)) {
		return "–"
	}
	return fmt.Sprintf("%.2f", 100*float64(n))
}
