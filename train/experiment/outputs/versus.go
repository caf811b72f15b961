package outputs

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

// Versus is a page that compares two results on the same queries: the queries whose figure
// changed most, and what both retrieve.
type Versus struct {
	Path    string               // the file to write
	Names   [2]string            // the names of the results
	Results [2]*retrieval.Result // must hold the values of every query
	Pairing *retrieval.Pairing   // the comparison of the results
	Key     string               // the metric that orders the changes; "": H-AP, or else the finest AP
	Found   [2]*Exported         // the rankings of both results; nil if they were not exported

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
	out := report.Page{Title: fmt.Sprintf("%s compared with %s", v.Names[1], v.Names[0]),
		Subtitle: fmt.Sprintf("%d queries in both, paired by %s; in %s, %d gained, %d lost and %d are unchanged.",
			len(changes), map[bool]string{true: "row", false: "id"}[v.Pairing.ByRow], v.Key,
			countIf(changes, 1), countIf(changes, -1), countIf(changes, 0))}
	out.Table = v.figures()
	x := newExplored(v.Key, v.Results[0].Levels, v.Names[:]...)
	v.explore(ctx, x, changes)
	return x.write(ctx, v.Path, &out)
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

// explore adds the queries with both rankings, those first that changed most.
func (v Versus) explore(ctx context.Context, x *explored, changes []change) {
	x.Note = fmt.Sprintf("Each query with its %s in percent, then the first places of its ranking, in both results.",
		v.Key)
	x.Left = max(0, len(changes)-pageQueries)
	for _, c := range changes[:len(changes)-x.Left] {
		query := report.Query{Value: []report.Score{report.Score(c.value[0]), report.Score(c.value[1])},
			Found: [][]int{{}, {}}, Shared: [][]int{{}, {}}}
		var own []string
		if v.Found[0] != nil {
			own = classesOf(v.Found[0].Queries, c.query[0])
		}
		query.Item = v.item(ctx, x, v.id(c), own)
		for of, found := range v.Found {
			if found == nil {
				continue
			}
			for place, g := range found.Rows[c.query[of]] {
				if g < 0 || place == cmp.Or(v.Places, defaultPlaces) {
					break
				}
				classes := classesOf(found.Gallery, int(g))
				query.Found[of] = append(query.Found[of], v.item(ctx, x, found.Gallery.IDs[g], classes))
				query.Shared[of] = append(query.Shared[of], sharedBy(own, classes))
			}
		}
		x.Queries = append(x.Queries, query)
	}
}

// item adds an item by its id.
func (v Versus) item(ctx context.Context, x *explored, id string, classes []string) int {
	var image imageOf
	if v.Image != nil && v.Found[0] != nil && v.Found[1] != nil {
		image = withoutFile(func() ([]byte, error) { return v.Image(ctx, id) })
	}
	return x.add(id, report.Item{ID: id}, classes, image)
}

// sharedBy returns how many levels an item shares with a query, from their classes, or −1 if they are not known.
func sharedBy(query, item []string) int {
	if len(query) != len(item) || len(item) == 0 {
		return -1
	}
	shared := 0
	for l := len(item) - 1; l >= 0 && item[l] != "" && item[l] == query[l]; l-- {
		shared++
	}
	return shared
}

// Exported is what Export wrote beside a result.
type Exported struct {
	Rows    [][]int64         // [queries][places]: gallery rows, −1 where the gallery ends
	Queries *embeddings.Table // ids and classes of the rows of Rows
	Gallery *embeddings.Table // ids and classes of the gallery rows
}

// classesOf returns the classes of a row.
func classesOf(t *embeddings.Table, row int) (list []string) {
	for _, names := range t.Classes {
		list = append(list, names[row])
	}
	return list
}

// ReadExport reads what hgld eval run --export wrote beside a result in PREFIX.json, or returns nil if
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
	q, err := embeddings.ReadTable(files[0])
	g, other := embeddings.ReadTable(files[3])
	if err := errors.Join(err, other); err != nil {
		return nil, err
	}
	x := &Exported{Queries: q, Gallery: g}
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
