package retrieval

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/metric"
)

// EvaluateIndependent measures levels that do not form a tree. At each level, items of the same
// class in its column are positive, whatever their classes in other columns. Metrics over several
// levels are left out, because they need a tree. The vectors are ranked once for each level. Observer
// and Truth are not supported.
func EvaluateIndependent(ctx context.Context, b device.Backend, e *Evaluation) (*Result, error) {
	var binary metric.Set
	for _, m := range e.Metrics {
		if _, ok := m.(metric.Binary); ok {
			binary = append(binary, m)
		}
	}
	switch {
	case e.Observer != nil || e.Truth != nil:
		return nil, errors.New("independent levels support neither an Observer nor Truth")
	case len(binary) == 0:
		return nil, errors.New("independent levels need a metric of one level, such as R@1 or AP")
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	var levels []*Result
	for h := range e.Levels {
		one := *e
		one.Levels, one.Metrics, one.PerQuery, one.Intervals = e.Levels[h:h+1], binary, true, nil
		one.Query.Labels, one.Gallery.Labels = column(e.Query.Labels, h), column(e.Gallery.Labels, h)
		if mixedDepth(e.Query.Labels) || mixedDepth(e.Gallery.Labels) {
			one.Truth = &related{e: e, from: h, to: h + 1, independent: true}
		}
		if e.Progress != nil {
			one.Progress = func(done, total int) { e.Progress((h*total+done)/len(e.Levels), total) }
		}
		r, err := Evaluate(ctx, b, &one)
		if err != nil {
			return nil, err
		}
		levels = append(levels, r)
	}
	return e.join(binary, levels), nil
}

// column is one level of a list of paths.
func column(list []labels.Path, level int) []labels.Path {
	one := make([]labels.Path, len(list))
	for i, p := range list {
		one[i] = p[level : level+1]
	}
	return one
}

// join combines the results of the levels into one.
func (e *Evaluation) join(binary metric.Set, levels []*Result) *Result {
	all := *e
	all.Metrics = binary
	var keys []string
	var columns [][]float64
	var of []Value
	for h, r := range levels {
		for _, v := range r.Values {
			name, ofLevel := strings.CutSuffix(v.Key, "_level0")
			if !ofLevel {
				continue // a metric over several levels, as ASI also is
			}
			var values []float64
			for _, x := range r.PerQuery.Values[v.Key] {
				values = append(values, float64(x))
			}
			keys, columns, of = append(keys, fmt.Sprintf("%s_level%d", name, h)), append(columns, values), append(of, v)
		}
	}
	r := newResult(&all, keys, columns, newTieColumns(len(keys)))
	for k := range r.Values {
		r.Values[k].Ties, r.Values[k].Gap = of[k].Ties, of[k].Gap
	}
	for _, level := range levels {
		r.Tied, r.Batches = max(r.Tied, level.Tied), level.Batches
	}
	r.Independent = true
	return r
}
