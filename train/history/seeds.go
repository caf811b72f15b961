package history

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"hgld/internal/texttable"
	"hgld/train/retrieval"
	"hgld/train/stats"
)

// SeedDifference is the difference of a metric between two groups of runs, in percent. It
// covers the seeds that both groups have. The interval is Student's t interval, clipped to the
// possible differences of −100 to 100.
type SeedDifference struct {
	// Mean is the mean of the differences.
	Mean retrieval.Number `json:"mean"`

	// Low is the lower end of the 95 % interval. It is NaN (null in JSON) for a single pair.
	Low retrieval.Number `json:"low"`

	// High is the upper end of the interval.
	High retrieval.Number `json:"high"`

	// P is the p-value of Student's t test. It is NaN for a single pair.
	P retrieval.Number `json:"p"`

	// Pairs is the number of pairs of runs.
	Pairs int `json:"pairs"`

	// Verdict is "higher" or "lower" if the interval excludes 0, else "undecided".
	Verdict string `json:"verdict"`
}

// seedConfidence is the confidence level of the intervals over seeds.
const seedConfidence = 0.95

// Subtract compares two groups of runs. by[seeds] and from[seeds] hold a metric in percent. It
// skips seeds that lack either value.
func Subtract(by, from map[[2]string]retrieval.Number) SeedDifference {
	var list []float64
	for seeds, v := range by {
		if other, both := from[seeds]; both && !math.IsNaN(float64(v-other)) {
			list = append(list, float64(v-other))
		}
	}
	slices.Sort(list) // map order is random, and the rounding of a sum depends on the order
	nan := retrieval.Number(math.NaN())
	s := stats.Paired(list, seedConfidence)
	d := SeedDifference{retrieval.Number(s.Mean), nan, nan, retrieval.Number(s.P), s.Count, "undecided"}
	if s.Count > 1 {
		ends := s.Interval.Clip(-100, 100)
		d.Low, d.High = retrieval.Number(ends.Low), retrieval.Number(ends.High)
	}
	switch {
	case d.Low > 0:
		d.Verdict = "higher"
	case d.High < 0:
		d.Verdict = "lower"
	}
	return d
}

// Fields returns the columns of a CSV row: mean, low, high, P, pairs and verdict. All are
// empty if there are no pairs.
func (d SeedDifference) Fields() []string {
	if d.Pairs == 0 {
		return make([]string, 6)
	}
	return []string{d.Mean.Decimals(4, ""), d.Low.Decimals(4, ""), d.High.Decimals(4, ""), d.P.Decimals(6, ""),
		strconv.Itoa(d.Pairs), d.Verdict}
}

// Cells returns the cells of a row of text: mean, interval and P.
func (d SeedDifference) Cells() []string {
	interval := "–"
	if !math.IsNaN(float64(d.Low)) {
		interval = span(retrieval.Ends{d.Low / 100, d.High / 100})
	}
	return []string{signed(d.Mean / 100), interval, Probability(d.P)}
}

// SeedTable returns the differences between two groups of runs, one row per metric key.
func SeedTable(name, from string, keys []string, differences map[string]SeedDifference) texttable.Table {
	t := texttable.Table{Title: fmt.Sprintf("%s − %s, seed by seed", name, from),
		Head: []string{"%", "difference", "95 % interval", "P", "pairs", "verdict"},
		Note: "Student's interval for the mean of paired differences"}
	for _, key := range keys {
		if d := differences[key]; d.Pairs > 0 {
			t.Rows = append(t.Rows, slices.Concat([]string{key}, d.Cells(), []string{strconv.Itoa(d.Pairs), d.Verdict}))
		}
	}
	if t.Rows == nil {
		t.Note = "no two runs have the same seeds"
	}
	return t
}
