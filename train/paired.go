package train

import (
	"errors"
	"fmt"
	"math"

	"hgld/train/stats"
)

// Difference is what two results on the same queries say of a metric: the second less the
// first, over the queries for which both have a value.
type Difference struct {
	Key      string `json:"key"`        // of the metric
	First    Number `json:"first"`      // mean of the first result over these queries
	Second   Number `json:"second"`     // mean of the second
	Mean     Number `json:"difference"` // Second − First
	Interval Ends   `json:"interval"`   // of Mean
	P        Number `json:"p"`          // of the randomisation test, two-sided
	Holm     Number `json:"p_holm"`     // corrected for all metrics and results that are compared
	Queries  int    `json:"queries"`    // with a value in both
}

// Pairing is the comparison of two results.
type Pairing struct {
	Both        int          `json:"queries"`      // in both results
	OnlyFirst   int          `json:"only_first"`   // queries that the second does not have
	OnlySecond  int          `json:"only_second"`  // and the other way round
	ByRow       bool         `json:"by_row"`       // the queries have no ids: row i is row i
	Differences []Difference `json:"differences"`  // in the order of the first result
	Randomised  int          `json:"random_draws"` // of the test, where it did not count all signs

	rows [][2]int
}

// Rows returns the pairs: the number of a query in the first result and in the second.
func (p *Pairing) Rows() [][2]int { return p.rows }

// randomDraws makes 0.0001 the least P that the test can find.
const randomDraws = 9999

// NoPerQueryError is a result without the values of single queries.
type NoPerQueryError struct{}

func (NoPerQueryError) Error() string {
	return "train: the result has no values of single queries, which evaluation keeps by PerQuery"
}

// Pair compares two results query by query. Queries are paired by their ids, or by their
// rows where neither result has ids. P is that of a randomisation test, which swaps the
// two values of a query, or of all queries of a class if n resamples classes. Holm is left
// as P; see [Correct]. The error is a [NoPerQueryError] if a result lacks the values.
func Pair(first, second *Result, n *Intervals, threads int) (*Pairing, error) {
	if first.PerQuery == nil || second.PerQuery == nil {
		return nil, NoPerQueryError{}
	}
	if first.MeanOver != second.MeanOver {
		return nil, errors.New("train: one result has means over classes and the other means over queries")
	}
	p := &Pairing{Randomised: randomDraws}
	rows, err := p.match(first, second)
	if err != nil {
		return nil, err
	}
	p.rows = rows
	class := make([]int, len(rows))
	for i, r := range rows {
		class[i] = r[0]
		if first.PerQuery.Class != nil {
			class[i] = first.PerQuery.Class[r[0]]
		}
	}
	if n.Resample == ByClass && first.PerQuery.Class == nil {
		return nil, errors.New("train: the first result does not say of what class its queries are")
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

// pairedColumn returns second − first for each pair, and both, NaN where either is
// undefined.
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

// compare fills the differences.
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
		return nil, errors.New("train: the queries of one result have ids and those of the other have none")
	}
	if a == nil {
		if first.Queries != second.Queries {
			return nil, fmt.Errorf("train: the results are of %d and %d queries, which have no ids to pair them by",
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
			return nil, fmt.Errorf("train: the second result has two queries with the id %.80q", id)
		}
		at[id] = q
	}
	seen := make(map[string]bool, len(a))
	for q, id := range a {
		if seen[id] {
			return nil, fmt.Errorf("train: the first result has two queries with the id %.80q", id)
		}
		seen[id] = true
		if other, both := at[id]; both {
			rows = append(rows, [2]int{q, other})
		}
	}
	p.Both, p.OnlyFirst, p.OnlySecond = len(rows), len(a)-len(rows), len(b)-len(rows)
	if p.Both == 0 {
		return nil, errors.New("train: the results have no query in common")
	}
	return rows, nil
}

// Correct sets Holm of all differences of several comparisons, which are one family.
func Correct(list []*Pairing) {
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
