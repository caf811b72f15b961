package report

import (
	"math"
	"slices"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/experiment/plan"
	"hgld/train/retrieval"
)

func TestResultIsComparedWithThePaper(t *testing.T) {
	r, err := plan.GetRecipe("sop/happier")
	must.Do(t, err)
	result := &retrieval.Result{Levels: make([]string, len(r.Classes)), Queries: r.Queries,
		Values: []retrieval.Value{{Key: "H-AP", Mean: 0.5}}}
	rows, err := PaperRows(r, result)
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

func TestRowsShowTheRunOnlyIfItHasANumber(t *testing.T) {
	none := retrieval.Number(math.NaN())
	row := ComparedRow{Paper: "P", Table: "2", Method: "m", Part: "sop", Numbers: []ComparedNumber{{"AP", 50.04, none}}}
	want := "\nP, table 2, m on sop (quoted, %)\n" +
		"metric              paper\n" +
		"AP                   50.0\n"
	if got := RowsText([]ComparedRow{row}); got != want {
		t.Errorf("without a run:\n%swant\n%s", got, want)
	}
	row.Numbers = append(row.Numbers, ComparedNumber{"NDCG", 60, 61.5})
	want = "\nP, table 2, m on sop (quoted, %)\n" +
		"metric              paper      run run−paper\n" +
		"AP                   50.0        –         –\n" +
		"NDCG                 60.0     61.5       1.5\n"
	if got := RowsText([]ComparedRow{row}); got != want {
		t.Errorf("with a run:\n%swant\n%s", got, want)
	}
}

func TestTheSumOfAPsIsAMetric(t *testing.T) {
	r, err := plan.GetRecipe("inat-base/sup-h-ap-map")
	must.Do(t, err)
	rows, err := PaperRows(r, nil)
	if err != nil || len(rows) != 1 || rows[0].Numbers[1].Key != "H-AP:map" || rows[0].Numbers[1].Paper != 40.5 {
		t.Errorf("%+v, %v", rows, err)
	}
}
