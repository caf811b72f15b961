package main

import (
	"fmt"
	"math"
	"strconv"

	"hgld/internal/settings"
	"hgld/train"
	"hgld/train/stats"
)

// seedDifference is a metric of a group less that of the first group, in percent, over
// the runs of both that have the same seeds. The interval is Student's, 95 %, null of a
// single pair.
type seedDifference struct {
	Mean    train.Number `json:"mean"`
	Low     train.Number `json:"low"`
	High    train.Number `json:"high"`
	P       train.Number `json:"p"`
	Pairs   int          `json:"pairs"`
	Verdict string       `json:"verdict"` // higher, lower or undecided
}

// seedConfidence is that of the intervals over seeds.
const seedConfidence = 0.95

// seedsOf is what the runs of two groups are paired by.
func (r *pastRun) seedsOf() [2]string {
	var seeds [2]string
	for _, f := range settings.Fields(r.Settings) {
		switch f.Key() {
		case "seed":
			seeds[0] = settings.Text(f.Value)
		case "hold_out_seed":
			seeds[1] = settings.Text(f.Value)
		}
	}
	return seeds
}

// subtractFirst compares every other group with the first.
func subtractFirst(groups []*runGroup, keys []string) {
	first := map[[2]string]*pastRun{}
	for _, r := range groups[0].runs {
		first[r.seedsOf()] = r
	}
	for _, g := range groups[1:] {
		g.Differences = map[string]seedDifference{}
		for _, key := range keys {
			var list []float64
			for _, r := range g.runs {
				other := first[r.seedsOf()]
				if other == nil {
					continue
				}
				if d := float64(r.percentOf(key) - other.percentOf(key)); !math.IsNaN(d) {
					list = append(list, d)
				}
			}
			g.Differences[key] = differenceOf(list)
		}
	}
}

// differenceOf has a verdict where the interval does not hold 0.
func differenceOf(list []float64) seedDifference {
	nan := train.Number(math.NaN())
	s := stats.Paired(list, seedConfidence)
	d := seedDifference{train.Number(s.Mean), nan, nan, train.Number(s.P), s.Count, "undecided"}
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

// fields are the columns of the CSV, empty where nothing was compared.
func (d seedDifference) fields() []string {
	if d.Pairs == 0 {
		return make([]string, 6)
	}
	return []string{decimals(d.Mean, 4, ""), decimals(d.Low, 4, ""), decimals(d.High, 4, ""), decimals(d.P, 6, ""),
		strconv.Itoa(d.Pairs), d.Verdict}
}

// writeDifferences writes a table for each group that was compared with the first.
func writeDifferences(j *job, groups []*runGroup, keys []string, format string) error {
	for _, g := range groups[1:] {
		if g.Differences == nil {
			continue
		}
		c := textTable{title: fmt.Sprintf("%s − %s, seed by seed", g.Name, groups[0].Name),
			head: []string{"%", "difference", "95 % interval", "P", "pairs", "verdict"},
			note: "Student's interval for the mean of paired differences"}
		for _, key := range keys {
			if d := g.Differences[key]; d.Pairs > 0 {
				ends := train.Ends{d.Low / 100, d.High / 100}
				c.rows = append(c.rows, []string{key, signed(d.Mean / 100), span(ends), probability(d.P),
					strconv.Itoa(d.Pairs), d.Verdict})
			}
		}
		if c.rows == nil {
			c.note = "no two runs have the same seeds"
		}
		j.print("\n")
		if err := c.write(j.stdout, format); err != nil {
			return err
		}
	}
	return nil
}
