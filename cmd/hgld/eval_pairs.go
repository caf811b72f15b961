package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hgld/train"
)

// comparedPair is a result beside the first one, query by query.
type comparedPair struct {
	First     string           `json:"first"`
	Second    string           `json:"second"`
	Intervals *train.Intervals `json:"intervals"`
	*train.Pairing
}

// significant is the corrected P up to which a difference is marked.
const significant = 0.05

// comparePairs compares the first result with each other one. Where a result lacks the
// values of single queries it says so, and compares nothing.
func comparePairs(j *job, o compareOptions, files []string, results []*train.Result) ([]comparedPair, error) {
	if len(results) < 2 {
		return nil, nil
	}
	n := train.NewIntervals(units[o.resample], o.seed)
	if results[0].MeanOver == train.ByClass {
		n.Resample = train.ByClass
	}
	var pairs []comparedPair
	var family []*train.Pairing
	for i, r := range results[1:] {
		p, err := train.Pair(results[0], r, n, 0)
		var without train.NoPerQueryError
		if errors.As(err, &without) {
			j.say("the differences are not tested, as not all files have the values of single queries: " +
				"hgld eval run --per-query keeps them")
			return nil, nil
		}
		if err != nil {
			return nil, withCode(exitUsage, fmt.Errorf("%s and %s: %w", j.args[0], j.args[i+1], err))
		}
		pairs = append(pairs, comparedPair{files[0], files[i+1], n, p})
		family = append(family, p)
	}
	train.Correct(family)
	return pairs, nil
}

// table is the table of a pair's differences.
func (p comparedPair) table() textTable {
	c := textTable{title: fmt.Sprintf("%s − %s", p.Second, p.First),
		head: []string{"%", "difference", fmt.Sprintf("%g %% interval", 100*p.Intervals.Confidence), "P", "Holm", ""}}
	marked := false
	for _, d := range p.Differences {
		mark := ""
		if d.Holm <= significant {
			mark, marked = "*", true
		}
		c.rows = append(c.rows, []string{d.Key, signed(d.Mean), span(d.Interval), probability(d.P),
			probability(d.Holm), mark})
	}
	c.note = p.note(marked)
	return c
}

// pairsCSV has a line for each metric of each pair, in percent but for the P.
func pairsCSV(pairs []comparedPair) textTable {
	c := textTable{head: []string{"metric", "first", "second", "mean_first", "mean_second", "difference", "low", "high",
		"p", "p_holm", "queries"}}
	for _, p := range pairs {
		for _, d := range p.Differences {
			row := []string{d.Key, p.First, p.Second}
			for _, v := range []train.Number{d.First, d.Second, d.Mean, d.Interval[0], d.Interval[1]} {
				row = append(row, decimals(100*v, 4, ""))
			}
			c.rows = append(c.rows, append(row, decimals(d.P, 6, ""), decimals(d.Holm, 6, ""), strconv.Itoa(d.Queries)))
		}
	}
	return c
}

// note says how the table was made.
func (p comparedPair) note(marked bool) string {
	by, unit := "id", "query"
	if p.ByRow {
		by = "row"
	}
	if p.Intervals.Resample == train.ByClass {
		unit = "class"
	}
	parts := []string{fmt.Sprintf("%d queries paired by %s", p.Both, by)}
	if p.OnlyFirst+p.OnlySecond > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s and %d of %s left out", p.OnlyFirst, p.First, p.OnlySecond, p.Second))
	}
	parts = append(parts, "bootstrap and randomisation test by "+unit,
		"Holm: P corrected for all differences of this comparison")
	if marked {
		parts = append(parts, fmt.Sprintf("* corrected P of at most %g", significant))
	}
	return strings.Join(parts, "\n")
}

// signed prints a difference in percent.
func signed(v train.Number) string {
	text := decimals(100*v, 2, "–")
	if v > 0 {
		text = "+" + text
	}
	return text
}

func span(e train.Ends) string { return signed(e[0]) + " to " + signed(e[1]) }

// probability prints a P with four places.
func probability(p train.Number) string {
	if p < 0.0001 {
		return "<0.0001"
	}
	return decimals(p, 4, "–")
}
