package retrieval

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/labels"
	"hgld/train/metric"
	"hgld/train/stats"
)

// Unit is what a confidence interval resamples, and what a mean gives equal weight.
type Unit string

// ByQuery takes each query alone. ByClass takes the queries of a finest class together. Queries
// of a class are not independent, so intervals over single queries are too narrow as a statement
// about other classes.
const (
	ByQuery Unit = "query"
	ByClass Unit = "class"
)

// Units are what can be resampled or have equal weight in a mean, by the names of settings.
var Units = registry.Table[Unit]{{Name: "query", Value: ByQuery}, {Name: "class", Value: ByClass}}

// Intervals says how the confidence intervals of a result are computed: by a bootstrap
// over its queries or classes (see [stats.Bootstrap]).
type Intervals struct {
	Confidence float64 `json:"confidence"` // such as 0.95
	Method     string  `json:"method"`     // as a phrase
	Resample   Unit    `json:"resample"`   // unit that is resampled
	Resamples  int     `json:"resamples"`  // number of resamples
	Seed       uint64  `json:"seed"`       // seed of the resamples
}

// intervalMethod names stats.Expanded in eval.json.
const intervalMethod = "bootstrap, bias-corrected and accelerated, widened as Student's t"

// NewIntervals returns 95 % intervals of 2,000 resamples.
func NewIntervals(unit Unit, seed uint64) *Intervals {
	return &Intervals{Confidence: 0.95, Method: intervalMethod, Resample: unit, Resamples: 2000, Seed: seed}
}

func (n *Intervals) bootstrap(threads int) stats.Bootstrap {
	return stats.Bootstrap{Confidence: n.Confidence, Resamples: n.Resamples, Seed: n.Seed, Threads: threads,
		Method: stats.Expanded}
}

// Ends are the ends of a confidence interval; null where it is undefined.
type Ends [2]Number

// Half returns half the width of an interval.
func (e Ends) Half() Number { return (e[1] - e[0]) / 2 }

func endsOf(i stats.Interval) *Ends { return &Ends{Number(i.Low), Number(i.High)} }

// finestClasses numbers the queries by their finest class. Each query without a class gets its
// own number.
func finestClasses(list []labels.Path) []int {
	class := make([]int, len(list))
	for q, p := range list {
		if class[q] = int(p[0]); class[q] < 0 {
			class[q] = -1 - q
		}
	}
	return class
}

// resample returns the unit that the intervals resample. Means over classes resample classes.
func (e *Evaluation) resample() Unit {
	if e.Intervals == nil {
		return ByQuery
	}
	return e.Intervals.Resample
}

// table arranges per-query values by the unit that is resampled and the unit of the mean.
func table(columns [][]float64, class []int, mean, resample Unit) *stats.Table {
	switch {
	case mean == ByClass:
		return stats.MeansOfClasses(columns, class)
	case resample == ByClass:
		return stats.ByClass(columns, class)
	default:
		return stats.ByQuery(columns)
	}
}

// addIntervals gives every figure of the result its interval.
func (r *Result) addIntervals(e *Evaluation, t *stats.Table, keys []string) {
	names, means := overallColumns(keys)
	b := e.Intervals.bootstrap(e.Threads)
	b.Means = means
	intervals := b.Intervals(t)
	for i := range r.Values {
		r.Values[i].Interval = endsOf(intervals[i])
	}
	r.OverallIntervals = map[string]Ends{}
	for i, name := range names {
		r.OverallIntervals[name] = *endsOf(intervals[len(keys)+i])
	}
	n := *e.Intervals
	if e.Mean == ByClass {
		n.Resample = ByClass
	}
	r.Intervals = &n
}

// overallColumns lists the figures of metric.Overall, each with the columns that it averages.
func overallColumns(keys []string) (names []string, columns [][]int) {
	for k, key := range keys {
		name, _, binary := strings.Cut(key, "_level")
		if !binary {
			continue
		}
		at := slices.Index(names, name)
		if at < 0 {
			at, names, columns = len(names), append(names, name), append(columns, nil)
		}
		columns[at] = append(columns[at], k)
	}
	return names, columns
}

// meansOf returns the mean of each column over queries or classes, and the number of queries for
// which it is undefined.
func meansOf(columns [][]float64, t *stats.Table, mean Unit) (means []float64, skipped []int) {
	means, skipped = make([]float64, len(columns)), make([]int, len(columns))
	for i, column := range columns {
		means[i], skipped[i] = metric.Mean(column)
	}
	if mean == ByClass {
		means = t.Estimates()
	}
	return means, skipped
}

// IntervalOf returns the interval of a metric by its key, or nil if it has none.
func (r *Result) IntervalOf(key string) *Ends { return r.value(key).Interval }

// plusMinus prints half of an interval in percent.
func (v Value) plusMinus() string {
	if v.Interval == nil || math.IsNaN(float64(v.Interval.Half())) {
		return ""
	}
	return "±" + percent(v.Interval.Half())
}

// String describes the intervals of a table in one line.
func (n *Intervals) String() string {
	unit := "queries"
	if n.Resample == ByClass {
		unit = "classes"
	}
	return fmt.Sprintf("± half of the %g %% interval over %s: bootstrap of %d resamples, seed %d",
		100*n.Confidence, unit, n.Resamples, n.Seed)
}
