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

	// Holm is P corrected for all metrics and groups that are compared.
	Holm retrieval.Number `json:"p_holm"`

	// Pairs is the number of pairs of runs.
	Pairs int `json:"pairs"`

	// Verdict is "higher" or "lower" if Holm is at most 0.05, else "undecided".
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
	d := SeedDifference{retrieval.Number(s.Mean), nan, nan, retrieval.Number(s.P), retrieval.Number(s.P), s.Count, ""}
	if s.Count > 1 {
		ends := s.Interval.Clip(-100, 100)
		d.Low, d.High = retrieval.Number(ends.Low), retrieval.Number(ends.High)
	}
	d.judge()
	return d
}

// judge sets Verdict.
func (d *SeedDifference) judge() {
	d.Verdict = "undecided"
	switch {
	case !(d.Holm <= significant):
	case d.Mean > 0:
		d.Verdict = "higher"
	case d.Mean < 0:
		d.Verdict = "lower"
	}
}

// correctSeeds sets Holm and Verdict of all differences of the groups, treated as one family. Differences
// of one pair have no P and are not of it.
func correctSeeds(groups []*Group, keys []string) {
	var p []float64
	each := func(visit func(d *SeedDifference)) {
		for _, g := range groups {
			for _, key := range keys {
				if d, has := g.Differences[key]; has && !math.IsNaN(float64(d.P)) {
					visit(&d)
					g.Differences[key] = d
				}
			}
		}
	}
	each(func(d *SeedDifference) { p = append(p, float64(d.P)) })
	p = stats.Holm(p)
	each(func(d *SeedDifference) {
		d.Holm, p = retrieval.Number(p[0]), p[1:]
		d.judge()
	})
}

// Fields returns the columns of a CSV row: mean, low, high, P, pairs, verdict and Holm. All are
// empty if there are no pairs.
func (d SeedDifference) Fields() []string {
	if d.Pairs == 0 {
		return make([]string, 7)
	}
	return []string{d.Mean.Decimals(4, ""), d.Low.Decimals(4, ""), d.High.Decimals(4, ""), d.P.Decimals(6, ""),
		strconv.Itoa(d.Pairs), d.Verdict, d.Holm.Decimals(6, "")}
}

// SeedTable returns the differences between two groups of runs, one row per metric key.
func SeedTable(name, from string, keys []string, differences map[string]SeedDifference) texttable.Table {
	t := texttable.Table{Title: fmt.Sprintf("%s − %s, seed by seed", name, from),
		Head: []string{"%", "difference", "95 % interval", "P", "Holm", "pairs", "verdict"},
		Note: "Student's interval for the mean of paired differences\n" +
			"Holm: P corrected for all differences of this comparison; " +
			fmt.Sprintf("a verdict needs one of at most %g", significant)}
	for _, key := range keys {
		if d := differences[key]; d.Pairs > 0 {
			ends := retrieval.Ends{d.Low / 100, d.High / 100}
			t.Rows = append(t.Rows, []string{key, signed(d.Mean / 100), span(ends), probability(d.P),
				probability(d.Holm), strconv.Itoa(d.Pairs), d.Verdict})
		}
	}
	if t.Rows == nil {
		t.Note = "no two runs have the same seeds"
	}
	return t
}
