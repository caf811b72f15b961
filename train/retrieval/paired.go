package retrieval

import (
	"errors"
	"fmt"
	"math"

	"hgld/train/stats"
)

// Difference compares two results on the same queries in one metric: the second minus the first,
// over the queries for which both have a value.
type Difference struct {
	Key      string `json:"key"`        // key of the metric
	First    Number `json:"first"`      // mean of the first result over these queries
	Second   Number `json:"second"`     // mean of the second
	Mean     Number `json:"difference"` // Second − First
	Interval Ends   `json:"interval"`   // interval of Mean
	P        Number `json:"p"`          // two-sided p-value of the randomisation test
	Holm     Number `json:"p_holm"`     // P corrected for all metrics and results compared
	Queries  int    `json:"queries"`    // number with a value in both
}

// Pairing is the comparison of two results.
type Pairing struct {
	Both        int          `json:"queries"`      // queries in both results
	OnlyFirst   int          `json:"only_first"`   // queries missing in the second
	OnlySecond  int          `json:"only_second"`  // queries missing in the first
	ByRow       bool         `json:"by_row"`       // queries have no ids and are paired by row
	Differences []Difference `json:"differences"`  // in the order of the first result
	Randomised  int          `json:"random_draws"` // draws of the test, unless it counted all signs

	rows [][2]int
}

// Rows returns the pairs: the row of a query in the first result and in the second.
func (p *Pairing) Rows() [][2]int { return p.rows }

// randomDraws makes 0.0001 the least P that the test can return.
const randomDraws = 9999

// NoPerQueryError says that a result lacks the values of single queries.
type NoPerQueryError struct{}

// Error names the setting that keeps them.
func (NoPerQueryError) Error() string {
	return "the result has no per-query values; set PerQuery in the evaluation"
}

// Pair compares two results query by query. It pairs queries by id, or by row if neither result
// has ids. P comes from a randomisation test that swaps the two values of a query, or of all
// queries of a class if n resamples classes. Holm equals P; see [Correct]. The error is a
// [NoPerQueryError] if a result lacks per-query values.
func Pair(first, second *Result, n *Intervals, threads int) (*Pairing, error) {
	if first.PerQuery == nil || second.PerQuery == nil {
		return nil, NoPerQueryError{}
	}
	if first.MeanOver != second.MeanOver {
		return nil, errors.New("one result has means over classes and the other over queries, want the same in both")
	}
	p := &Pairing{Randomised: randomDraws}
	rows, err := p.match(first, second)
	if err != nil {
		return nil, err
	}
	p.rows = rows
	if err := p.sameClasses(first.PerQuery, second.PerQuery); err != nil {
		return nil, err
	}
	class := make([]int, len(rows))
	for i, r := range rows {
		class[i] = r[0]
		if first.PerQuery.Class != nil {
			class[i] = first.PerQuery.Class[r[0]]
		}
	}
	if n.Resample == ByClass && first.PerQuery.Class == nil {
		return nil, errors.New("the first result has no classes of its queries, which intervals over classes need")
	}
	var columns, a, b [][]float64
	for _, v := range first.Values {
		x, y := first.PerQuery.Values[v.Key], second.PerQuery.Values[v.Key]
		if x == nil || y == nil {
			continue
		}
		d, of, than := pairedColumn(rows, x, y)
		columns, a, b = append(columns, d), append(a, of), append(b, than)
		p.Differences = append(p.Differences, Difference{Key: v.Key})
	}
	p.compare(columns, a, b, class, first.MeanOver, n, threads)
	return p, nil
}

// sameClasses returns an error if the finest classes divide the queries in different ways.
func (p *Pairing) sameClasses(first, second *PerQuery) error {
	if first.Class == nil || second.Class == nil {
		return nil
	}
	of := [2]map[int]int{{}, {}} // by class of one result: a pair with it
	for i, r := range p.rows {
		classes := [2]int{first.Class[r[0]], second.Class[r[1]]}
		for side, class := range classes {
			before, known := of[side][class]
			if !known {
				of[side][class] = i
				continue
			}
			other := [2]int{first.Class[p.rows[before][0]], second.Class[p.rows[before][1]]}[1-side]
			if same := classes[1-side]; class >= 0 && other != same {
				return fmt.Errorf("the results use different classes: queries %s and %s share one only in the %s result",
					p.name(first, before), p.name(first, i), [2]string{"first", "second"}[side])
			}
		}
	}
	return nil
}

// name names a pair by its id, or its row.
func (p *Pairing) name(first *PerQuery, i int) string {
	row := p.rows[i][0]
	if first.IDs == nil {
		return fmt.Sprint(row)
	}
	return fmt.Sprintf("%.80q", first.IDs[row])
}

// pairedColumn returns second − first for each pair, and both values. The difference is NaN if
// either is undefined.
func pairedColumn(rows [][2]int, first, second []Number) (difference, a, b []float64) {
	for _, r := range rows {
		x, y := float64(first[r[0]]), float64(second[r[1]])
		if math.IsNaN(x) || math.IsNaN(y) {
			x, y = math.NaN(), math.NaN()
		}
		difference, a, b = append(difference, y-x), append(a, x), append(b, y)
	}
	return difference, a, b
}

// compare computes the differences.
func (p *Pairing) compare(columns, a, b [][]float64, class []int, mean Unit, n *Intervals, threads int) {
	t := table(columns, class, mean, n.Resample)
	means, undefined := meansOf(columns, t, mean)
	ofA, _ := meansOf(a, table(a, class, mean, n.Resample), mean)
	ofB, _ := meansOf(b, table(b, class, mean, n.Resample), mean)
	intervals := n.bootstrap(threads).Intervals(t)
	values := stats.SignFlip(t, randomDraws, n.Seed, threads)
	for i := range p.Differences {
		d := &p.Differences[i]
		d.First, d.Second, d.Mean = Number(ofA[i]), Number(ofB[i]), Number(means[i])
		d.Interval, d.P, d.Holm = *endsOf(intervals[i]), Number(values[i]), Number(values[i])
		d.Queries = len(class) - undefined[i]
	}
}

// match pairs the queries of two results.
func (p *Pairing) match(first, second *Result) (rows [][2]int, err error) {
	a, b := first.PerQuery.IDs, second.PerQuery.IDs
	if (a == nil) != (b == nil) {
		return nil, errors.New("only one of the two results has query ids, want ids in both or in neither")
	}
	if a == nil {
		if first.Queries != second.Queries {
			return nil, fmt.Errorf("the results have %d and %d queries without ids, want the same number",
				first.Queries, second.Queries)
		}
		p.ByRow, p.Both = true, first.Queries
		for q := range first.Queries {
			rows = append(rows, [2]int{q, q})
		}
		return rows, nil
	}
	at := make(map[string]int, len(b))
	for q, id := range b {
		if _, twice := at[id]; twice {
			return nil, fmt.Errorf("the second result has two queries with the id %.80q", id)
		}
		at[id] = q
	}
	seen := make(map[string]bool, len(a))
	for q, id := range a {
		if seen[id] {
			return nil, fmt.Errorf("the first result has two queries with the id %.80q", id)
		}
		seen[id] = true
		if other, both := at[id]; both {
			rows = append(rows, [2]int{q, other})
		}
	}
	p.Both, p.OnlyFirst, p.OnlySecond = len(rows), len(a)-len(rows), len(b)-len(rows)
	if p.Both == 0 {
		return nil, errors.New("the results have no query in common")
	}
	return rows, nil
}

// CorrectHolm sets Holm of all differences of several comparisons, treated as one family.
func CorrectHolm(list []*Pairing) {
	var p []float64
	for _, pairing := range list {
		for _, d := range pairing.Differences {
			p = append(p, float64(d.P))
		}
	}
	p = stats.Holm(p)
	for _, pairing := range list {
		for i := range pairing.Differences {
			pairing.Differences[i].Holm, p = Number(p[0]), p[1:]
		}
	}
}
