package outputs

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"hgld/internal/report"
	"hgld/train/retrieval"
)

const (
	classRows     = 400 // classes of a level in its table
	confusedMost  = 16  // classes in the table of confusions; the others share a column
	othersClass   = int32(-2)
	withoutClass  = int32(-1)
	othersOfTable = "others"
)

// classTables adds a table for each level: the means of its metrics for each of its classes,
// worst class first.
func (p *page) classTables(out *report.Page, r *retrieval.Result) {
	for level, name := range p.Levels {
		var keys []string
		suffix := fmt.Sprintf("_level%d", level)
		for _, v := range r.Values {
			if strings.HasSuffix(v.Key, suffix) || !strings.Contains(v.Key, "_level") {
				keys = append(keys, v.Key)
			}
		}
		if len(keys) > 0 {
			out.Tables = append(out.Tables, p.classTable(r, level, name, keys))
		}
	}
}

// classTable returns the table of one level.
func (p *page) classTable(r *retrieval.Result, level int, name string, keys []string) *report.Table {
	queries := map[int32][]int{}
	for q := range p.found {
		class := p.Query.Labels(q)[level]
		queries[class] = append(queries[class], q)
	}
	delete(queries, withoutClass)
	by := keys[0]
	if ap := fmt.Sprintf("AP_level%d", level); slices.Contains(keys, ap) {
		by = ap
	}
	mean := map[int32]float64{}
	for class, list := range queries {
		mean[class] = meanOf(r.PerQuery.Values[by], list)
	}
	classes := slices.SortedFunc(maps.Keys(queries), func(a, b int32) int {
		return cmp.Or(cmp.Compare(orLast(mean[a]), orLast(mean[b])), cmp.Compare(a, b))
	})
	t := &report.Table{Title: "By " + name, Sort: true, Head: []string{name, "queries"},
		Note: "Means over the queries of each class in percent. Click a heading to sort."}
	if n := len(classes); n > classRows {
		t.Note += fmt.Sprintf(" Of %d classes, the %d with the lowest %s.", n, classRows, short(by))
		classes = classes[:classRows]
	}
	for _, key := range keys {
		head := short(key)
		if slices.Contains(t.Head, head) { // ASI exists both for a level and over all levels
			head += ", all levels"
		}
		t.Head = append(t.Head, head)
	}
	for _, class := range classes {
		row := []report.Cell{{Text: p.className(level, class)}, {Text: fmt.Sprint(len(queries[class]))}}
		for _, key := range keys {
			row = append(row, report.Cell{Text: percent(retrieval.Number(meanOf(r.PerQuery.Values[key], queries[class])))})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// orLast sorts an undefined mean last.
func orLast(v float64) float64 {
	if math.IsNaN(v) {
		return math.Inf(1)
	}
	return v
}

// short returns the name of a metric without its level.
func short(key string) string {
	name, _, _ := strings.Cut(key, "_level")
	return name
}

// meanOf returns the mean over the queries for which the metric is defined, or NaN if there are
// none.
func meanOf(values []retrieval.Number, queries []int) float64 {
	sum, n := 0.0, 0
	for _, q := range queries {
		if v := float64(values[q]); !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(n)
}

// confusion adds a table of the first neighbours: a row for each coarsest class of the queries, a
// column for each class found.
func (p *page) confusion(out *report.Page) {
	coarsest := len(p.Levels) - 1
	size := map[int32]int{}
	for q := range p.found {
		size[p.Query.Labels(q)[coarsest]]++
	}
	delete(size, withoutClass)
	classes := slices.SortedFunc(maps.Keys(size), func(a, b int32) int {
		return cmp.Or(size[b]-size[a], cmp.Compare(a, b))
	})
	if len(classes) < 2 {
		return
	}
	shown := classes[:min(confusedMost, len(classes))]
	group := func(class int32) int32 {
		if slices.Contains(shown, class) {
			return class
		}
		return othersClass
	}
	count, all := map[[2]int32]int{}, map[int32]int{}
	for q, found := range p.found {
		from, first := p.Query.Labels(q)[coarsest], found[0]
		if from == withoutClass || first < 0 {
			continue
		}
		count[[2]int32{group(from), group(p.Gallery.Labels(int(first))[coarsest])}]++
		all[group(from)]++
	}
	columns := slices.Clone(shown)
	for pair := range count {
		if pair[1] == othersClass || pair[0] == othersClass {
			columns = append(columns, othersClass)
			break
		}
	}
	t := &report.Table{Title: "Confusion of " + p.Levels[coarsest], Matrix: true, Head: []string{"query, of"},
		Note: "Class of the first neighbour, in percent of the queries in the row."}
	for _, class := range columns {
		t.Head = append(t.Head, p.groupName(coarsest, class))
	}
	for _, from := range columns {
		if all[from] == 0 {
			continue
		}
		row := []report.Cell{{Text: fmt.Sprintf("%s (%d)", p.groupName(coarsest, from), all[from])}}
		for _, to := range columns {
			share := float64(count[[2]int32{from, to}]) / float64(all[from])
			row = append(row, report.Cell{Text: shareText(share), Best: from == to && from >= 0,
				Share: math.Round(1000*share) / 1000})
		}
		t.Rows = append(t.Rows, row)
	}
	out.Tables = append(out.Tables, t)
}

// groupName names a class, or the group of all classes without a column.
func (p *page) groupName(level int, class int32) string {
	if class == othersClass {
		return othersOfTable
	}
	return p.className(level, class)
}

// shareText formats a share in percent, and 0 as a dot.
func shareText(share float64) string {
	if share == 0 {
		return "·"
	}
	return fmt.Sprintf("%.1f", 100*share)
}
