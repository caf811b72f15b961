package history

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"hgld/internal/texttable"
	"hgld/train"
	"hgld/train/stats"
)

// SeedDifference is a metric of one group of runs less that of another, in percent, over
// the runs of both that have the same seeds. Its interval is Student's.
type SeedDifference struct {
	// Mean is that of the differences.
	Mean train.Number `json:"mean"`

	// Low is the lower end of the 95 % interval; NaN, null in JSON, of a single pair.
	Low train.Number `json:"low"`

	// High is the upper end.
	High train.Number `json:"high"`

	// P is that of Student's test; NaN of a single pair.
	P train.Number `json:"p"`

	// Pairs counts the pairs of runs.
	Pairs int `json:"pairs"`

	// Verdict is "higher" or "lower" if the interval does not hold 0, else "undecided".
	Verdict string `json:"verdict"`
}

// seedConfidence is that of the intervals over seeds.
const seedConfidence = 0.95

// Subtract compares the values of runs with those of other runs: by[seeds] and from[seeds]
// are a metric in percent. A pair without both values is left out.
func Subtract(by, from map[[2]string]train.Number) SeedDifference {
	var list []float64
	for seeds, v := range by {
		if other, both := from[seeds]; both && !math.IsNaN(float64(v-other)) {
			list = append(list, float64(v-other))
		}
	}
	slices.Sort(list) // a map has no order, and a sum depends on it
	nan := train.Number(math.NaN())
	s := stats.Paired(list, seedConfidence)
	d := SeedDifference{train.Number(s.Mean), nan, nan, train.Number(s.P), s.Count, "undecided"}
	if s.Count > 1 {
		d.Low, d.High = train.Number(s.Interval.Low), train.Number(s.Interval.High)
	}
	switch {
	case d.Low > 0:
		d.Verdict = "higher"
	case d.High < 0:
		d.Verdict = "lower"
	}
	return d
}

// Fields are the columns of a CSV file: mean, low, high, P, pairs and verdict, all empty
// where nothing was compared.
func (d SeedDifference) Fields() []string {
	if d.Pairs == 0 {
		return make([]string, 6)
	}
	return []string{d.Mean.Decimals(4, ""), d.Low.Decimals(4, ""), d.High.Decimals(4, ""), d.P.Decimals(6, ""),
		strconv.Itoa(d.Pairs), d.Verdict}
}

// SeedTable returns the table of the differences between two groups of runs, by the keys
// of the metrics.
func SeedTable(name, from string, keys []string, differences map[string]SeedDifference) texttable.Table {
	t := texttable.Table{Title: fmt.Sprintf("%s − %s, seed by seed", name, from),
		Head: []string{"%", "difference", "95 % interval", "P", "pairs", "verdict"},
		Note: "Student's interval for the mean of paired differences"}
	for _, key := range keys {
		if d := differences[key]; d.Pairs > 0 {
			ends := train.Ends{d.Low / 100, d.High / 100}
			t.Rows = append(t.Rows, []string{key, signed(d.Mean / 100), span(ends), probability(d.P),
				strconv.Itoa(d.Pairs), d.Verdict})
		}
	}
	if t.Rows == nil {
		t.Note = "no two runs have the same seeds"
	}
	return t
}
