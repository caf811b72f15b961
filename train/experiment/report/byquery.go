package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"hgld/internal/texttable"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
)

// QueryPair compares a group of runs with the first group, query by query. The value of a query is its mean over the
// seeds that both groups have.
type QueryPair struct {
	Seeds int `json:"seeds"` // the number of seeds of the means
	Pair
}

// CompareByQuery sets ByQuery of every group but the first whose runs, and those of the first group with the same
// seeds, have per-query values over the same queries. P is corrected for all differences of the groups.
func CompareByQuery(groups []*Group, keys []string, n *retrieval.Intervals) error {
	var family []*retrieval.Pairing
	for _, g := range groups[1:] {
		first, second, seeds := sharedSeeds(groups[0], g)
		results := slices.Concat(first, second)
		if !sameQueries(results) {
			continue
		}
		p, err := pair(groups[0].Name, g.Name, meanOfSeeds(first, keys), meanOfSeeds(second, keys), n)
		if err != nil {
			return err
		}
		g.ByQuery = &QueryPair{seeds, p}
		family = append(family, p.Pairing)
	}
	retrieval.CorrectHolm(family)
	return nil
}

// sharedSeeds returns the results of the runs of two groups whose seeds are in both, by seed.
func sharedSeeds(a, b *Group) (first, second []*retrieval.Result, seeds int) {
	of := map[[2]string]*retrieval.Result{}
	for _, r := range a.Members {
		of[seedsOf(r)] = r.Result
	}
	members := slices.SortedFunc(slices.Values(b.Members), func(x, y *runs.Run) int {
		s, t := seedsOf(x), seedsOf(y)
		return cmp.Or(cmp.Compare(s[0], t[0]), cmp.Compare(s[1], t[1]))
	})
	for _, r := range members {
		if other, both := of[seedsOf(r)]; both {
			first, second, seeds = append(first, other), append(second, r.Result), seeds+1
		}
	}
	return first, second, seeds
}

// sameQueries reports whether there are results, and all have values of the same queries, by id or by row, in the same
// ranking.
func sameQueries(results []*retrieval.Result) bool {
	for _, r := range results {
		if r == nil || r.PerQuery == nil || r.Check() != nil {
			return false
		}
		first := results[0]
		if r.Queries != first.Queries || r.MeanOver != first.MeanOver || r.On != first.On ||
			!slices.Equal(r.PerQuery.IDs, first.PerQuery.IDs) || retrieval.TaskMismatch(first, r) != "" {
			return false
		}
	}
	return len(results) > 0
}

// meanOfSeeds returns a result with the mean of each query over results, for the metrics of keys that all have. A
// query whose value is undefined in one of them has none.
func meanOfSeeds(results []*retrieval.Result, keys []string) *retrieval.Result {
	first := results[0]
	mean := &retrieval.Result{Queries: first.Queries, MeanOver: first.MeanOver, PerQuery: &retrieval.PerQuery{
		IDs: first.PerQuery.IDs, Class: first.PerQuery.Class, Values: map[string][]retrieval.Number{}}}
	for _, key := range keys {
		sum := make([]retrieval.Number, first.Queries)
		for _, r := range results {
			values := r.PerQuery.Values[key]
			if values == nil {
				sum = nil
				break
			}
			for q, v := range values {
				sum[q] += v / retrieval.Number(len(results))
			}
		}
		if sum != nil {
			mean.PerQuery.Values[key] = sum
			mean.Values = append(mean.Values, retrieval.Value{Key: key, Mean: retrieval.Number(math.NaN())})
		}
	}
	return mean
}

// Table returns the differences as a table, in percent.
func (p QueryPair) Table() texttable.Table {
	t := p.Pair.Table()
	t.Title += ", query by query"
	t.Note = fmt.Sprintf("a query counts with its mean over %d seeds; the intervals are over queries, not over seeds\n",
		p.Seeds) + t.Note
	return t
}
