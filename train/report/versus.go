package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"hgld/internal/atomicfile"
	"hgld/internal/report"
	"hgld/internal/tensorfile"
	"hgld/train/embeddings"
	"hgld/train/retrieval"
)

const (
	versusRows  = 200 // queries in the table of a comparison
	versusCases = 8   // queries with both rankings, this many of those that gained and of those that lost
)

// Versus is a page that compares two results on the same queries: the queries whose figure
// changed most, and what both retrieve.
type Versus struct {
	// Path is the file to write.
	Path string

	// Names are the names of the results.
	Names [2]string

	// Results must hold the values of every query.
	Results [2]*retrieval.Result

	// Pairing is the comparison of the results.
	Pairing *retrieval.Pairing

	// Key is the metric that orders the changes; "": H-AP, or else the finest AP.
	Key string

	// Found are the rankings of both results; nil if they were not exported.
	Found [2]*Exported

	// Places is the number of items shown of each ranking, as far as they were exported; 0 means 10.
	Places int

	// Image returns the image of an id; nil: there are no pictures.
	Image func(ctx context.Context, id string) ([]byte, error)
}

// change is a query of both results.
type change struct {
	query [2]int // of each result
	value [2]float64
}

func (c change) by() float64 { return c.value[1] - c.value[0] }

// MetricError says that a result has no values of a metric.
type MetricError struct{ Key, Name string }

// Error names the metric and the result.
func (e *MetricError) Error() string {
	return fmt.Sprintf("evaluation: %s has no values of %.80q for its queries", e.Name, e.Key)
}

// Write writes the page. Its error is an [UnshownError] if images could not be shown.
func (v Versus) Write(ctx context.Context) error {
	if v.Key == "" {
		v.Key = decisive(v.Results[0])
	}
	changes, err := v.changes()
	if err != nil {
		return err
	}
	out := report.Page{Title: fmt.Sprintf("%s compared with %s", v.Names[1], v.Names[0]), CasesTitle: "What both retrieve",
		Subtitle: fmt.Sprintf("%d queries in both, paired by %s; in %s, %d gained, %d lost and %d are unchanged.",
			len(changes), map[bool]string{true: "row", false: "id"}[v.Pairing.ByRow], v.Key,
			countIf(changes, 1), countIf(changes, -1), countIf(changes, 0))}
	out.Table = v.figures()
	if v.Image != nil && v.Found[0] != nil && v.Found[1] != nil {
		v.cases(ctx, &out, changes)
	}
	out.Tables = []*report.Table{v.table(changes)}
	return write(ctx, v.Path, &out)
}

// changes returns the queries that have a value in both results, greatest change first.
func (v Versus) changes() (list []change, err error) {
	var values [2][]retrieval.Number
	for i, r := range v.Results {
		if values[i] = r.PerQuery.Values[v.Key]; values[i] == nil {
			return nil, &MetricError{v.Key, v.Names[i]}
		}
	}
	for _, pair := range v.Pairing.Rows() {
		c := change{pair, [2]float64{float64(values[0][pair[0]]), float64(values[1][pair[1]])}}
		if !math.IsNaN(c.by()) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b change) int { return cmp.Compare(math.Abs(b.by()), math.Abs(a.by())) })
	return list, nil
}

// countIf counts the changes with the given sign.
func countIf(list []change, sign int) (n int) {
	for _, c := range list {
		if cmp.Compare(c.by(), 0) == sign {
			n++
		}
	}
	return n
}

// figures returns the table of the means.
func (v Versus) figures() *report.Table {
	t := &report.Table{Title: "Means", Sort: true, Head: []string{"%", v.Names[0], v.Names[1], "difference",
		"95 % from", "to", "P, corrected"}, Note: "Over the queries that have a value in both."}
	for _, d := range v.Pairing.Differences {
		t.Rows = append(t.Rows, []report.Cell{{Text: d.Key}, {Text: percent(d.First)}, {Text: percent(d.Second)},
			{Text: signed(d.Mean)}, {Text: signed(d.Interval[0])}, {Text: signed(d.Interval[1])},
			{Text: d.Holm.Decimals(4, "–")}})
	}
	return t
}

// signed formats a difference of fractions in percent, or "–" if it is undefined.
func signed(v retrieval.Number) string {
	text := percent(v)
	if v > 0 {
		return "+" + text
	}
	return text
}

// id names a query.
func (v Versus) id(c change) string {
	if ids := v.Results[0].PerQuery.IDs; ids != nil {
		return ids[c.query[0]]
	}
	return fmt.Sprint("row ", c.query[0])
}

// table lists the queries that changed most.
func (v Versus) table(changes []change) *report.Table {
	t := &report.Table{Title: "Queries that changed most", Sort: true,
		Head: []string{"query", v.Names[0], v.Names[1], "change"},
		Note: fmt.Sprintf("%s of each, in percent.", v.Key)}
	if n := len(changes); n > versusRows {
		t.Note += fmt.Sprintf(" The first %d of %d.", versusRows, n)
	}
	for _, c := range changes[:min(versusRows, len(changes))] {
		t.Rows = append(t.Rows, []report.Cell{{Text: v.id(c)}, {Text: percent(retrieval.Number(c.value[0]))},
			{Text: percent(retrieval.Number(c.value[1]))}, {Text: signed(retrieval.Number(c.by()))}})
	}
	return t
}

// cases shows both rankings of the queries that gained and lost most.
func (v Versus) cases(ctx context.Context, out *report.Page, changes []change) {
	out.CasesNote = "The query with its figure in percent, then the first places of its ranking in both results."
	out.Legend = legend(v.Results[0].Levels)
	for _, group := range []struct {
		title string
		sign  int
	}{{"Gained most", 1}, {"Lost most", -1}} {
		shown := 0
		for _, c := range changes {
			if shown == versusCases || cmp.Compare(c.by(), 0) != group.sign {
				continue
			}
			rows := report.Case{Rows: []report.Row{v.ranking(ctx, c, 0), v.ranking(ctx, c, 1)}}
			if shown == 0 {
				rows.Title = group.title
			}
			out.Cases = append(out.Cases, rows)
			shown++
		}
	}
}

// ranking shows what one result retrieves.
func (v Versus) ranking(ctx context.Context, c change, of int) report.Row {
	found, q := v.Found[of], c.query[of]
	row := report.Row{Name: fmt.Sprintf("%s · %s", percent(retrieval.Number(c.value[of])), v.Names[of])}
	show := func(id, class, name, alt string) {
		p := pictureOf(class, id, func() ([]byte, error) { return v.Image(ctx, id) })
		p.Caption, p.Alt = name, alt
		row.Pictures = append(row.Pictures, p)
	}
	own := found.Queries.classes(q)
	show(v.id(c), "query", firstOf(own, v.id(c)), "query "+v.id(c))
	for place, g := range found.Rows[q] {
		if g < 0 || place == cmp.Or(v.Places, defaultPlaces) {
			break
		}
		classes, id := found.Gallery.classes(int(g)), found.Gallery.id(int(g))
		show(id, frameOf(own, classes), firstOf(classes, id), fmt.Sprintf("place %d: %s", place+1, id))
	}
	return row
}

// firstOf returns the finest class, or the id without one.
func firstOf(classes []string, id string) string {
	if len(classes) == 0 || classes[0] == "" {
		return id
	}
	return classes[0]
}

// frameOf returns the frame of an item, from the classes of the query and the item.
func frameOf(query, item []string) string {
	if len(query) != len(item) || len(item) == 0 {
		return "plain"
	}
	shared := 0
	for l := len(item) - 1; l >= 0 && item[l] != "" && item[l] == query[l]; l-- {
		shared++
	}
	return fmt.Sprintf("l%d", report.Frame(shared, len(item)))
}

// Exported is what Export wrote beside a result.
type Exported struct {
	Rows    [][]int64     // [queries][places]: gallery rows, −1 where the gallery ends
	Queries exportedTable // ids and classes of the rows of Rows
	Gallery exportedTable // ids and classes of the gallery rows
}

// exportedTable holds the ids and classes of one side.
type exportedTable struct{ *embeddings.Table }

func (t exportedTable) id(row int) string { return t.IDs[row] }

func (t exportedTable) classes(row int) (list []string) {
	for _, names := range t.Classes {
		list = append(list, names[row])
	}
	return list
}

// ReadExport reads what hgld eval export wrote beside a result in PREFIX.json, or returns nil if
// there is nothing. queries is the number of queries in the result.
func ReadExport(result string, queries int) (*Exported, error) {
	files := Export{Prefix: strings.TrimSuffix(result, ".json")}.Files()
	if _, err := os.Stat(files[1]); atomicfile.IsMissing(err) {
		return nil, nil
	}
	for _, path := range []string{files[0], files[1], files[3]} {
		if err := VerifyExport(context.Background(), path); err != nil {
			return nil, err
		}
	}
	x := new(Exported)
	q, err := embeddings.ReadTable(files[0])
	g, other := embeddings.ReadTable(files[3])
	if err := errors.Join(err, other); err != nil {
		return nil, err
	}
	x.Queries, x.Gallery = exportedTable{q}, exportedTable{g}
	a, err := tensorfile.OpenNPY(files[1])
	if err != nil {
		return nil, err
	}
	defer a.Close()
	t, err := a.Tensor()
	if err != nil {
		return nil, err
	}
	values, err := t.Int64()
	rows, places := a.Rows()
	if err != nil || len(a.Shape) != 2 || rows != queries || q.Rows != queries || q.IDs == nil || g.IDs == nil {
		return nil, fmt.Errorf("%s is %s%v, but %d queries are in %s: it is of another result", files[1], a.DType, a.Shape,
			queries, result)
	}
	for lo := range queries {
		row := values[lo*places:][:places]
		if i := slices.IndexFunc(row, func(row int64) bool { return row < -1 || row >= int64(g.Rows) }); i >= 0 {
			return nil, fmt.Errorf("%s: query %d has row %d of a gallery of %d", files[1], lo, row[i], len(x.Gallery.IDs))
		}
		x.Rows = append(x.Rows, row)
	}
	return x, nil
}
