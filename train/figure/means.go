package figure

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"hgld/internal/report"
	"hgld/internal/texttable"
)

// Means are the mean vectors of classes.
type Means struct {
	Vectors [][]float64 // of unit length, unless the vectors of a class cancel each other
	Classes []int32     // of the level, ascending
	Parents []int32     // class of the coarser level, −1 if the items of a class disagree or have none
	Items   []int       // number of items
}

// ClassMeans returns the mean vector of each class of a level, with its class at a coarser level. It is what
// figure 9 of "Optimization of Rank Losses" draws. Items without a class at the level are left out.
func ClassMeans(items *Items, level, coarser int) (*Means, error) {
	at := map[int32]int{}
	m := &Means{}
	order := map[int32]bool{}
	for _, p := range items.Labels {
		if p[level] >= 0 {
			order[p[level]] = true
		}
	}
	m.Classes = slices.Sorted(maps.Keys(order))
	for i, class := range m.Classes {
		at[class] = i
		m.Vectors = append(m.Vectors, make([]float64, len(items.Vectors[0])))
	}
	m.Parents, m.Items = make([]int32, len(m.Classes)), make([]int, len(m.Classes))
	for row, p := range items.Labels {
		if p[level] < 0 {
			continue
		}
		i := at[p[level]]
		for k, v := range items.Vectors[row] {
			m.Vectors[i][k] += v
		}
		switch {
		case m.Items[i] == 0:
			m.Parents[i] = p[coarser]
		case m.Parents[i] != p[coarser]:
			m.Parents[i] = -1
		}
		m.Items[i]++
	}
	if len(m.Classes) < 4 {
		return nil, fmt.Errorf("the level has %d classes; want at least 4 to draw", len(m.Classes))
	}
	for _, v := range m.Vectors {
		square := 0.0
		for _, x := range v {
			square += x * x
		}
		for k := range v {
			v[k] /= max(math.Sqrt(square), 1e-12)
		}
	}
	return m, nil
}

// mostColours is the number of groups with a colour of their own in a plot of points.
const mostColours = 14

// Draw plots the means at the given places, two numbers a class, coloured by their coarser class. The
// largest groups have a colour of their own and are named; the others share one.
func (m *Means) Draw(places []float32, names, parents []string, axes [2]string) *Figure {
	f := &Figure{Plot: report.Plot{XLabel: axes[0], YLabel: axes[1], Equal: true},
		Table: texttable.Table{Head: []string{"class", "group", "items", "x", "y"}}}
	groups := map[int32][]report.Point{}
	for i, class := range m.Classes {
		group := m.Parents[i]
		x, y := float64(places[2*i]), float64(places[2*i+1])
		groups[group] = append(groups[group], report.Point{X: x, Y: y})
		f.Table.Rows = append(f.Table.Rows, []string{names[class], nameOf(parents, group), strconv.Itoa(m.Items[i]),
			number(x), number(y)})
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b int32) int {
		return cmp.Or(len(groups[b])-len(groups[a]), cmp.Compare(a, b))
	})
	var rest report.Curve
	for i, group := range order {
		if i >= mostColours && len(order) > mostColours+1 {
			rest.Points = append(rest.Points, groups[group]...)
			rest.Name = fmt.Sprintf("%d others", len(order)-mostColours)
			continue
		}
		f.Plot.Curves = append(f.Plot.Curves, report.Curve{Name: nameOf(parents, group), Points: groups[group], Loose: true})
	}
	if rest.Points != nil {
		rest.Loose = true
		f.Plot.Curves = append(f.Plot.Curves, rest)
	}
	return f
}

// nameOf returns the name of a class, "–" for none.
func nameOf(names []string, class int32) string {
	if class < 0 || int(class) >= len(names) {
		return "–"
	}
	return names[class]
}
