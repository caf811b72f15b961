package train

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/evaluation"
	"hgld/train/input"
	"hgld/train/retrieval"
	"hgld/train/testing/places"
)

// coarser is the images of a data set with the labels of one level alone.
type coarser struct {
	*places.Set
	level int
}

func (c *coarser) Levels() []string { return c.Set.Levels()[c.level : c.level+1] }

func (c *coarser) Classes(int) []string { return c.Set.Classes(c.level) }

func (c *coarser) Labels(i int) labels.Path { return c.Set.Labels(i)[c.level : c.level+1] }

// A test in parts has a level for each part, of its own images, and their mean. It
// is measured when the run is complete, in place of queries.
func TestBenchmarksAreTheLevelsOfOneResult(t *testing.T) {
	c, d := tiny(2)
	c.Run.Metrics = []string{"R@1", "AP", "ASI"}
	all := func(lo, hi int) (rows []int) {
		for i := lo; i < hi; i++ {
			rows = append(rows, i)
		}
		return rows
	}
	fine, coarse := &coarser{d, 0}, &coarser{d, 1}
	parts := []evaluation.Benchmark{
		{Query: &input.Subset{Of: fine, Rows: all(0, 8)}, Gallery: fine},
		{Query: &input.Subset{Of: coarse, Rows: all(3, 20)}},
	}
	dir := t.TempDir()
	var got *retrieval.Result
	for _, e := range mustTrain(t, c, Data{Train: d, Benchmarks: parts}, Options{Dir: dir}) {
		if e.Kind == Evaluated {
			if e.On != config.WatchTest || got != nil {
				t.Errorf("evaluated on %s, before: %v", e.On, got)
			}
			got = e.Result
		}
	}
	m, err := evaluation.Open(dir, cpu.New(1), nil, false)
	must.Do(t, err)
	defer m.Close()
	set := m.Config
	set.Run.Metrics = c.Run.Metrics
	p, err := set.Resolve()
	must.Do(t, err)
	sum := 0.0
	for i, b := range parts {
		alone, err := m.Evaluate(t.Context(), b.Query, b.Gallery, retrieval.Evaluation{Metrics: p.Metrics})
		must.Do(t, err)
		for _, name := range c.Run.Metrics {
			if want, have := alone.Mean(name+"_level0"), got.Mean(fmt.Sprintf("%s_level%d", name, i)); have != want {
				t.Errorf("benchmark %d: %s is %v, alone %v", i, name, have, want)
			}
		}
		sum += alone.Mean("AP_level0")
	}
	if math.Abs(float64(got.Overall["AP"])-sum/2) > 1e-12 || got.Queries != 8+17 || got.Gallery != d.Len()+17 ||
		strings.Join(got.Levels, " ") != strings.Join(d.Levels(), " ") || got.Self {
		t.Errorf("overall AP %v, want %v; %+v", got.Overall["AP"], sum/2, got)
	}
}

func TestBenchmarksAreRefusedWhereTheyDoNotFit(t *testing.T) {
	c, d := tiny(2)
	for want, data := range map[string]Data{
		"benchmark 1 has the levels":  {Train: d, Benchmarks: []evaluation.Benchmark{{Query: d}}},
		"both queries and benchmarks": {Train: d, Query: d, Benchmarks: []evaluation.Benchmark{{Query: &coarser{d, 0}}}},
	} {
		if _, err := New(c, data, Options{Backend: cpu.New(1)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
