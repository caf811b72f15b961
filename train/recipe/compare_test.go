package recipe

import (
	"math"
	"slices"
	"testing"

	"hgld/train/retrieval"
)

func TestResultIsComparedWithThePaper(t *testing.T) {
	r, err := Get("sop/happier")
	if err != nil {
		t.Fatal(err)
	}
	result := &retrieval.Result{Levels: make([]string, len(r.Classes)), Queries: r.Queries,
		Values: []retrieval.Value{{Key: "H-AP", Mean: 0.5}}}
	rows, err := Compare(r, result)
	if err != nil || len(rows) != len(r.Rows) {
		t.Fatalf("%d rows, %v; want %d", len(rows), err, len(r.Rows))
	}
	at := slices.IndexFunc(rows[0].Numbers, func(n ComparedNumber) bool { return n.Key == "H-AP" })
	if at < 0 || rows[0].Numbers[at].Paper != 59.4 || rows[0].Numbers[at].Run != 50 {
		t.Errorf("%+v", rows[0])
	}
	tables, err := ComparePaper(r, []string{"mine"}, []*retrieval.Result{result})
	if err != nil || len(tables) != len(rows) || !slices.Equal(tables[0].Sources, []string{"paper", "mine"}) {
		t.Fatalf("%+v, %v", tables, err)
	}
	line := tables[0].Rows[at]
	if line.Key != "H-AP" || line.Values[0] != 59.4 || line.Values[1] != 50 {
		t.Errorf("%+v", line)
	}
	if other := tables[0].Rows[(at+1)%len(tables[0].Rows)]; !math.IsNaN(float64(other.Values[1])) {
		t.Errorf("a metric that was not measured is %v", other.Values[1])
	}
	if !r.Fits(result) || r.Fits(&retrieval.Result{Levels: result.Levels, Queries: r.Queries + 1}) ||
		r.Fits(&retrieval.Result{Queries: r.Queries}) {
		t.Errorf("levels %v and %d queries fit wrongly", r.Classes, r.Queries)
	}
}
