package metric

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/goldens"
)

// rankingCase is a case of ranking.json: scores and labels to every metric.
type rankingCase struct {
	Name          string      `json:"name"`
	Self          bool        `json:"self"`
	QueryLabels   [][]int32   `json:"query_labels"`
	GalleryLabels [][]int32   `json:"gallery_labels"`
	QueryIndex    []int       `json:"query_index"`
	Scores        [][]float64 `json:"scores"`
	Ks            []int       `json:"ks"`
	MapK          []int       `json:"map_k"`
	NdcgK         []int       `json:"ndcg_k"`
	Relevances    map[string]struct {
		Type    string    `json:"type"`
		Alpha   float64   `json:"alpha"`
		Weights []float64 `json:"weights"`
		Values  []float64 `json:"values"`
	} `json:"relevances"`
	Expected map[string]jsonAny `json:"expected"`
}

// set builds the metrics that a case asks for.
func (c rankingCase) set(t *testing.T) Set {
	s := Set{AP{}, MAPAtR{}, ASI{}, NDCG{}}
	for _, k := range c.Ks {
		s = append(s, Recall{k}, Precision{k}, TrueRecall{k})
	}
	for _, k := range c.MapK {
		s = append(s, MAPAt{k})
	}
	for _, k := range c.NdcgK {
		s = append(s, NDCG{K: k})
	}
	for l := range c.QueryLabels[0] {
		s = append(s, HardAP{l + 1})
	}
	for name, r := range c.Relevances {
		h := HAP{Label: name}
		switch r.Type {
		case "pop":
			h.Relevance = Pop{Alpha: r.Alpha}
		case "pop_self":
			h.Relevance = Pop{Alpha: r.Alpha, CountSelf: true}
		case "power":
			h.Relevance = Power{r.Alpha}
		case "map":
			h.Relevance = Map{Weights: r.Weights}
		case "table":
			h.Relevance = Table(r.Values)
		default:
			t.Fatalf("unknown relevance type %q", r.Type)
		}
		s = append(s, h)
	}
	return s
}

// rank is the definition: indices by score falling, then row, the query left out,
// as bytes with the shared columns and the tie mark.
func rank(scores []float64, query []int32, gallery [][]int32, self int) (shared []byte, order []int) {
	for i := range scores {
		if i != self {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	for at, i := range order {
		b := byte(0)
		for h, c := range gallery[i] {
			if query[h] == c {
				b++
			}
		}
		if at > 0 && scores[order[at-1]] == scores[i] {
			b |= Tied
		}
		shared = append(shared, b)
	}
	return shared, order
}

func TestGoldenRanking(t *testing.T) {
	var file struct{ Cases []rankingCase }
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "metrics"), "ranking.json"), &file)
	for _, c := range file.Cases {
		t.Run("metrics/"+c.Name, func(t *testing.T) {
			row := c.Expected["score_then_row"].expectation(t)
			average := row // a text there says that there are no ties
			if c.Expected["average_ties"].isObject() {
				average = c.Expected["average_ties"].expectation(t)
			}
			c.check(t, ScoreThenRow, row)
			c.check(t, AverageTies, average)
		})
	}
}

// ranking.json: brute force in float64 against closed formulas in float64.
const rankingTolerance = 1e-10

func (c rankingCase) check(t *testing.T, ties Ties, want expectation) {
	set := c.set(t)
	levels := len(c.QueryLabels[0])
	keys := set.Keys(levels)
	values := make([][]float64, len(keys))
	list := NewList(levels, ties)
	row := make([]float64, len(keys))
	for q, scores := range c.Scores {
		self := -1
		if c.Self {
			self = c.QueryIndex[q]
		}
		shared, order := rank(scores, c.QueryLabels[q], c.GalleryLabels, self)
		if ties == ScoreThenRow && want.Ranking != nil && !slices.Equal(order, want.Ranking[q]) {
			t.Fatalf("query %d: ranking %v, want %v", q, order, want.Ranking[q])
		}
		list.Reset(append(shared, beyond, beyond))
		set.Measure(row, list)
		for i, v := range row {
			values[i] = append(values[i], v)
		}
	}
	compare(t, fmt.Sprintf("ties %d", ties), keys, values, want, rankingTolerance)
}

// compare holds every expected key against the measured values, and the other
// way round: a key that one side lacks is an error.
func compare(t *testing.T, what string, keys []string, values [][]float64, want expectation, tolerance float64) {
	t.Helper()
	if len(want.Mean) != len(keys) {
		t.Errorf("%s: %d keys measured, %d expected", what, len(keys), len(want.Mean))
	}
	for i, key := range keys {
		expected, found := want.Mean[key]
		if !found {
			t.Errorf("%s: %s is not expected", what, key)
			continue
		}
		mean, skipped := Mean(values[i])
		if !near(mean, expected, tolerance) || skipped != want.Skipped[key] {
			t.Errorf("%s: %s = %v (%d skipped), want %v (%d)", what, key, mean, skipped, number(expected), want.Skipped[key])
		}
		for q, v := range want.PerQuery[key] {
			if !near(values[i][q], v, tolerance) {
				t.Errorf("%s: %s of query %d = %v, want %v", what, key, q, values[i][q], number(v))
			}
		}
	}
}

// near compares with an expected number; nil stands for undefined.
func near(got float64, want *float64, tolerance float64) bool {
	if want == nil {
		return math.IsNaN(got)
	}
	return math.Abs(got-*want) <= tolerance
}

func number(v *float64) any {
	if v == nil {
		return "undefined"
	}
	return *v
}
