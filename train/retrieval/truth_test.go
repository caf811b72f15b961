package retrieval

import (
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
	"hgld/train/device/cpu"
	"hgld/train/metric"
)

func setOf(t *testing.T, names ...string) metric.Set {
	t.Helper()
	set, err := metric.ParseSet(names)
	must.Do(t, err)
	return set
}

// The gallery of the query at 1, 0 by falling score: row 1 of its camera and class, row 2
// of its class, row 3, row 4 of its class. Without row 1 AP is (1/1 + 2/3)/2.
func TestIgnoredItemsAreTakenOut(t *testing.T) {
	b := cpu.New(1)
	query := sideOf(t, b, &Matrix{2, []float32{1, 0}}, []labels.Path{{0, 0}})
	gallery := sideOf(t, b, &Matrix{2, []float32{9, 0, 8, 0, 7, 0, 6, 0, 5, 0}},
		[]labels.Path{{0, 0}, {0, 0}, {1, 1}, {0, 0}, {-1, -1}})
	e := &Evaluation{Query: query, Gallery: gallery, Levels: []string{"a", "b"}, Metrics: setOf(t, "AP", "R@1", "P@4")}
	for _, c := range []struct {
		name           string
		query, gallery []int32
		self           []int32
		ap, p4         float64
	}{
		{"nothing", nil, nil, nil, (1 + 1 + 3.0/4) / 3, 3.0 / 4},
		{"the camera", []int32{5}, []int32{5, 4, 5, 3, -1}, nil, (1.0 + 1) / 2, 2.0 / 4},
		{"no camera of the query", []int32{-1}, []int32{5, 4, -1, 3, -1}, nil, (1 + 1 + 3.0/4) / 3, 3.0 / 4},
		{"the camera and itself", []int32{5}, []int32{5, 4, 4, 3, 4}, []int32{1}, 1.0 / 2, 1.0 / 4},
	} {
		e.Query.Ignore, e.Gallery.Ignore, e.Self = c.query, c.gallery, c.self
		r, err := Evaluate(t.Context(), b, e)
		must.Do(t, err)
		for h := range 2 {
			key := []string{"_level0", "_level1"}[h]
			if r.Mean("AP"+key) != c.ap || r.Mean("P@4"+key) != c.p4 {
				t.Errorf("%s: AP %v, want %v; P@4 %v, want %v", c.name, r.Mean("AP"+key), c.ap, r.Mean("P@4"+key), c.p4)
			}
		}
	}
	e.Query.Ignore = []int32{1, 2}
	if _, err := Evaluate(t.Context(), b, e); err == nil ||
		!strings.Contains(err.Error(), "have 2 and 5 numbers to ignore") {
		t.Errorf("%v", err)
	}
}

// An ignored number that no item has changes nothing: labels on the host are those on the
// device.
func TestLabelsOnTheHostAreThoseOnTheDevice(t *testing.T) {
	b := cpu.New(2)
	m, list := cloud(60)
	list[7], list[9] = labels.Path{-1, -1}, labels.Path{-1, 2}
	side := sideOf(t, b, m, list)
	self := make([]int32, 60)
	for i := range self {
		self[i] = int32(i)
	}
	e := &Evaluation{Query: side, Gallery: side, Self: self, Levels: []string{"a", "b"}, Metrics: allMetrics(t), Gap: 7}
	device, err := Evaluate(t.Context(), b, e)
	must.Do(t, err)
	e.Query.Ignore, e.Gallery.Ignore = make([]int32, 60), make([]int32, 60)
	for i := range e.Query.Ignore {
		e.Query.Ignore[i] = int32(i % 5)
		e.Gallery.Ignore[i] = 9
	}
	host, err := Evaluate(t.Context(), b, e)
	must.Do(t, err)
	for i, v := range device.Values {
		if w := host.Values[i]; w.Mean != v.Mean || w.Skipped != v.Skipped || *w.Gap != *v.Gap {
			t.Errorf("%s: %v of %v on the host, %v of %v on the device", v.Key, w.Mean, w.Skipped, v.Mean, v.Skipped)
		}
	}
}

// Each column alone, by evaluations of one level.
func TestIndependentLevelsAreMeasuredAlone(t *testing.T) {
	b := cpu.New(2)
	m, list := cloud(40)
	for i := range list {
		list[i] = labels.Path{int32(i % 5), int32(i % 3)} // no tree
	}
	side := sideOf(t, b, m, list)
	e := &Evaluation{Query: side, Gallery: side, Levels: []string{"a", "b"}, Metrics: allMetrics(t), Gap: 8,
		Intervals: NewIntervals(ByQuery, 1), PerQuery: true}
	got, err := EvaluateIndependent(t.Context(), b, e)
	must.Do(t, err)
	if !got.Independent || got.Queries != 40 || got.OverallIntervals["AP"][0] >= got.Overall["AP"] {
		t.Errorf("%+v", got)
	}
	for h := range 2 {
		one := *e
		one.Levels = e.Levels[h : h+1]
		one.Query.Labels = column(list, h)
		one.Gallery.Labels = one.Query.Labels
		r, err := Evaluate(t.Context(), b, &one)
		must.Do(t, err)
		for _, name := range []string{"R@1", "AP", "mAP@R"} {
			v, w := r.value(name+"_level0"), got.value(name+[]string{"_level0", "_level1"}[h])
			if v.Mean != w.Mean || *v.Interval != *w.Interval || *v.Gap != *w.Gap || (v.Ties == nil) != (w.Ties == nil) {
				t.Errorf("level %d: %+v, alone %+v", h, w, v)
			}
		}
	}
	e.Metrics = setOf(t, "H-AP")
	_, err = EvaluateIndependent(t.Context(), b, e)
	if err == nil || !strings.Contains(err.Error(), "a metric of one level") {
		t.Error(err)
	}
}
