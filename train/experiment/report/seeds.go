package report

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
	Mean retrieval.Number `json:"mean"` // the mean of the differences

	// Low is the lower end of the 95 % interval. It is NaN (null in JSON) for a single pair, and for equal differences.
	Low  retrieval.Number `json:"low"`
	High retrieval.Number `json:"high"` // the upper end of the interval

	// P is the p-value of Student's t test, or of the exact sign test for equal differences. It is NaN for a single pair.
	P       retrieval.Number `json:"p"`
	Holm    retrieval.Number `json:"p_holm"`  // P corrected for all metrics and groups that are compared
	Pairs   int              `json:"pairs"`   // the number of pairs of runs
	Verdict string           `json:"verdict"` // "higher" or "lower" if Holm is at most 0.05, else "undecided"
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
	if !math.IsInf(s.Interval.High, 1) {
		ends := s.Interval.Clip(-100, 100)
		d.Low, d.High = retrieval.Number(ends.Low), retrieval.Number(ends.High)
	}
	d.judge()
	return d
}

// Increase summarises 100·(by/from − 1), the relative increase of a metric in percent, seed by seed. It
// skips seeds that lack a value or have a zero in from. Its interval may be below 0 and above 100 %.
func Increase(by, from map[[2]string]retrieval.Number) Sample {
	var list []float64
	for seeds, v := range by {
		if other, both := from[seeds]; both && other != 0 && !math.IsNaN(float64(v-other)) {
			list = append(list, 100*float64(v/other-1))
		}
	}
	slices.Sort(list)
	return sampleOf(list, math.Inf(-1), math.Inf(1))
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

// CorrectSeeds sets Holm and Verdict of differences, treated as one family. Differences of one pair have
// no P and are not of it.
func CorrectSeeds(family []*SeedDifference) {
	family = slices.DeleteFunc(slices.Clone(family), func(d *SeedDifference) bool { return math.IsNaN(float64(d.P)) })
	var p []float64
	for _, d := range family {
		p = append(p, float64(d.P))
	}
	for i, holm := range stats.Holm(p) {
		family[i].Holm = retrieval.Number(holm)
		family[i].judge()
	}
}

// correctSeeds corrects all differences of the groups as one family.
func correctSeeds(groups []*Group, keys []string) {
	var family []*SeedDifference
	for _, g := range groups {
		for _, key := range keys {
			if d := g.Differences[key]; d != nil {
				family = append(family, d)
			}
		}
	}
	CorrectSeeds(family)
}

// Fields returns the columns of a CSV row: mean, low, high, P, pairs, verdict and Holm. All are
// empty if there are no pairs.
func (d *SeedDifference) Fields() []string {
	if d == nil || d.Pairs == 0 {
		return make([]string, 7)
	}
	return []string{d.Mean.Decimals(4, ""), d.Low.Decimals(4, ""), d.High.Decimals(4, ""), d.P.Decimals(6, ""),
		strconv.Itoa(d.Pairs), d.Verdict, d.Holm.Decimals(6, "")}
}

// Cells returns the cells of a row of text: mean, interval, P and Holm.
func (d SeedDifference) Cells() []string {
	interval := "–"
	if !math.IsNaN(float64(d.Low)) {
		interval = span(retrieval.Ends{d.Low / 100, d.High / 100})
	}
	return []string{signed(d.Mean / 100), interval, probability(d.P), probability(d.Holm)}
}

// SeedTable returns the differences between two groups of runs, one row per metric key.
func SeedTable(name, from string, keys []string, differences map[string]*SeedDifference) texttable.Table {
	t := texttable.Table{Title: fmt.Sprintf("%s − %s, seed by seed", name, from),
		Head: []string{"%", "difference", "95 % interval", "P", "Holm", "pairs", "verdict"},
		Note: "Student's interval for the mean of paired differences\n" +
			"Holm: P corrected for all differences of this comparison; " +
			fmt.Sprintf("a verdict needs one of at most %g", significant)}
	for _, key := range keys {
		if d := differences[key]; d != nil && d.Pairs > 0 {
			t.Rows = append(t.Rows, slices.Concat([]string{key}, d.Cells(), []string{strconv.Itoa(d.Pairs), d.Verdict}))
		}
	}
	if t.Rows == nil {
		t.Note = "no two runs have the same seeds"
	}
	return t
}
