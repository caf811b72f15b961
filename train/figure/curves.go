package figure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"hgld/internal/report"
	"hgld/internal/texttable"
	"hgld/train/metric"
)

// NamedItems are the items of a model.
type NamedItems struct {
	Name string // in the legend
	*Items
}

// AllLevels stands for all levels together: hierarchical precision and recall.
const AllLevels = -1

// Curves draws precision over recall of one query for several models, as figures S1 to S6 of Smooth-AP do.
// The row is a query among all others. A point is a positive of the level, 0 the finest, or a relevant item
// for AllLevels; Name in the legend gets the average precision, AP or H-AP.
func Curves(models []NamedItems, row, level int) (*Figure, error) {
	f := &Figure{Plot: report.Plot{XLabel: "recall", YLabel: "precision", Unit: true},
		Table: texttable.Table{Head: []string{"model", "place", "recall", "precision"}}}
	if level == AllLevels {
		f.Plot.XLabel, f.Plot.YLabel = "hierarchical recall", "hierarchical precision"
	}
	for _, m := range models {
		rows := make([]int, len(m.Vectors))
		for i := range rows {
			rows[i] = i
		}
		shared := m.ranked(row, rows)
		points, places, name := precisions(shared, level, len(m.Labels[row]))
		if len(points) == 0 {
			return nil, fmt.Errorf("the query has no positive")
		}
		curve := report.Curve{}
		ap, before := 0.0, 0.0
		for i, p := range points {
			ap += (p.Recall - before) * p.Precision
			before = p.Recall
			curve.Points = append(curve.Points, report.Point{X: p.Recall, Y: p.Precision})
			f.Table.Rows = append(f.Table.Rows, []string{m.Name, strconv.Itoa(places[i]), number(p.Recall), number(p.Precision)})
		}
		curve.Name = fmt.Sprintf("%s: %s %.3f", m.Name, name, ap)
		f.Plot.Curves = append(f.Plot.Curves, curve)
	}
	return f, nil
}

// precisions returns the points of a ranking with their places, from 1, and the name of the area below.
func precisions(shared []byte, level, levels int) (points []metric.Point, places []int, area string) {
	if level == AllLevels {
		list := metric.NewList(levels, metric.ScoreThenRow)
		list.Reset(slices.Clone(shared))
		for i, s := range shared {
			if s > 0 {
				places = append(places, i+1)
			}
		}
		return metric.Hierarchical(list), places, "H-AP"
	}
	hits := 0
	for i, s := range shared {
		if int(s) >= levels-level {
			hits++
			places = append(places, i+1)
			points = append(points, metric.Point{Recall: float64(hits), Precision: float64(hits) / float64(i+1)})
		}
	}
	for i := range points {
		points[i].Recall /= float64(hits)
	}
	return points, places, "AP"
}

// scoreBins is the number of bins of Scores, from −1 to 1.
const scoreBins = 100

// Scores draws how the scores of pairs of items are distributed: of positives, which share the class of a
// level, and of all others, each with an area of 1. It shows the collapse of figure 3 of RaMBO, where all
// scores become equal.
func Scores(items *Items, level int) (*Figure, error) {
	if err := (&Dealing{Sizes: []int{2}}).check(items); err != nil {
		return nil, err
	}
	var bins [2][scoreBins]float64
	var pairs [2]float64
	for q, v := range items.Vectors {
		for g := range q {
			s := 0.0
			for i, x := range items.Vectors[g] {
				s += v[i] * x
			}
			of := 1
			if class := items.Labels[q][level]; class >= 0 && class == items.Labels[g][level] {
				of = 0
			}
			bins[of][min(max(int((s+1)/2*scoreBins), 0), scoreBins-1)]++
			pairs[of]++
		}
	}
	f := &Figure{Plot: report.Plot{XLabel: "score", YLabel: "density"},
		Table: texttable.Table{Head: []string{"pairs", "from", "to", "number", "density"}}}
	const width = 2. / scoreBins
	for of, name := range []string{"positives", "negatives"} {
		curve := report.Curve{Name: name}
		for i, n := range bins[of] {
			from := -1 + width*float64(i)
			density := n / max(pairs[of], 1) / width
			curve.Points = append(curve.Points, report.Point{X: from + width/2, Y: density})
			f.Table.Rows = append(f.Table.Rows, []string{name, number(from), number(from + width), number(n), number(density)})
		}
		if pairs[of] > 0 {
			f.Plot.Curves = append(f.Plot.Curves, curve)
		}
	}
	return f, nil
}

// Classes draws the sizes of classes, the largest first, on a logarithmic axis: the imbalance of the
// supercategories of H-GLDv2.
func Classes(count map[string]int, what string) (*Figure, error) {
	if len(count) == 0 {
		return nil, fmt.Errorf("there is no class")
	}
	f := &Figure{Plot: report.Plot{XLabel: "class, the largest first", YLabel: what, Log: true},
		Table: texttable.Table{Head: []string{"place", "class", what}}}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	curve := report.Curve{Dots: len(names) <= 100}
	for i, name := range names {
		curve.Points = append(curve.Points, report.Point{X: float64(i + 1), Y: float64(count[name])})
		f.Table.Rows = append(f.Table.Rows, []string{strconv.Itoa(i + 1), name, strconv.Itoa(count[name])})
	}
	f.Plot.Curves = []report.Curve{curve}
	return f, nil
}
