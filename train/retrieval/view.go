package retrieval

import (
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/metric"
)

// view is a ranking of each query's gallery with the figures that are read off it. One serves all
// figures, unless labels lack levels: then each level leaves out other items, and so do all levels
// together.
type view struct {
	metrics metric.Set // as the caller gave them
	set     metric.Set // what is measured of them
	levels  int        // of the list
	columns []int      // of the figures, in the order of set.Keys(levels)
	curves  []int      // of Observer.Curves; the level in the list is its index
	truth   Truth      // nil: the labels decide
}

// views lists the rankings that an evaluation needs.
func (e *Evaluation) views() []view {
	levels := len(e.Levels)
	whole := view{metrics: e.Metrics, set: e.Metrics, levels: levels, truth: e.truth()}
	for k := range e.Metrics.Keys(levels) {
		whole.columns = append(whole.columns, k)
	}
	for l := range levels + 1 {
		whole.curves = append(whole.curves, l)
	}
	if !e.mixedDepth() {
		return []view{whole}
	}
	var list []view
	binary, graded := view{levels: 1}, view{levels: levels, truth: &related{e: e, to: levels}}
	for _, m := range e.Metrics {
		if b, ok := m.(metric.Binary); ok {
			binary.metrics, binary.set = append(binary.metrics, m), append(binary.set, oneLevel{b})
		}
		if g, ok := m.(metric.Graded); ok {
			graded.metrics, graded.set = append(graded.metrics, m), append(graded.set, allLevels{g})
		}
	}
	for l := range levels {
		v := binary
		v.curves, v.truth = []int{l}, &related{e: e, from: l, to: l + 1}
		for i := range binary.set {
			v.columns = append(v.columns, l*len(binary.set)+i)
		}
		list = append(list, v)
	}
	for i := range graded.set {
		graded.columns = append(graded.columns, levels*len(binary.set)+i)
	}
	for range levels {
		graded.curves = append(graded.curves, -1)
	}
	graded.curves = append(graded.curves, levels)
	return append(list, graded)
}

// oneLevel is a metric as one of a level, allLevels as one of all levels.
type (
	oneLevel  struct{ metric.Binary }
	allLevels struct{ metric.Graded }
)

// mixedDepth reports whether the labels decide, and a row has classes at some levels alone.
func (e *Evaluation) mixedDepth() bool {
	return e.Truth == nil && (mixedDepth(e.Query.Labels) || mixedDepth(e.Gallery.Labels))
}

func mixedDepth(list []labels.Path) bool {
	for _, p := range list {
		if n := p.Depth(); n > 0 && n < len(p) {
			return true
		}
	}
	return false
}

// completed returns e with the classes that the labels of other rows imply.
func (e *Evaluation) completed() *Evaluation {
	if !e.mixedDepth() {
		return e
	}
	both := labels.Complete(e.Query.Labels, e.Gallery.Labels)
	full := *e
	full.Query.Labels, full.Gallery.Labels = both[0], both[1]
	return &full
}

// related decides by labels of mixed depth (docs/label-semantics.md): an item whose number of shared levels in
// [from, to) is not known is left out. An item without any label is a negative.
type related struct {
	e           *Evaluation
	from, to    int
	independent bool // a level says nothing of another
}

// Shared implements Truth.
func (t *related) Shared(dst []byte, query int) {
	path, own := t.e.Query.Labels[query], int32(-1)
	if t.e.Query.Ignore != nil && t.e.Gallery.Ignore != nil {
		own = t.e.Query.Ignore[query]
	}
	for row, other := range t.e.Gallery.Labels {
		n, known := 0, false
		if t.independent {
			n, known = path[t.from:t.to].Related(other[t.from:t.to], 0, t.to-t.from)
		} else {
			n, known = path.Related(other, t.from, t.to)
		}
		switch {
		case own >= 0 && t.e.Gallery.Ignore[row] == own:
			dst[row] = device.AbsentLevel
		case known:
			dst[row] = byte(n)
		case t.e.Gallery.Labels[row].Depth() == 0:
			dst[row] = 0
		default:
			dst[row] = device.AbsentLevel
		}
	}
}
