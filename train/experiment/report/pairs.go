package report

import (
	"fmt"
	"strconv"
	"strings"

	"hgld/internal/texttable"
	"hgld/train/retrieval"
)

// Pair compares a result with the first one, query by query.
type Pair struct {
	First     string               `json:"first"`     // the name of the baseline result
	Second    string               `json:"second"`    // the name of the compared result
	Intervals *retrieval.Intervals `json:"intervals"` // the settings of the intervals and tests

	*retrieval.Pairing
}

// significant is the largest corrected P that marks a difference.
const significant = 0.05

// pair compares two results query by query, or by class where their metrics are means over classes.
func pair(first, second string, a, b *retrieval.Result, n *retrieval.Intervals) (Pair, error) {
	own := *n
	if a.MeanOver == retrieval.ByClass {
		own.Resample = retrieval.ByClass
	}
	p, err := retrieval.Pair(a, b, &own, 0)
	if err != nil {
		err = fmt.Errorf("%s and %s: %w", first, second, err)
	}
	return Pair{first, second, &own, p}, err
}

// Pairs compares the first result with each of the others. It corrects P for the number of all
// differences. Metrics that are means over classes are compared by class. It returns a
// retrieval.NoPerQueryError if a result lacks per-query values.
func Pairs(names []string, results []*retrieval.Result, n *retrieval.Intervals) (pairs []Pair, err error) {
	var family []*retrieval.Pairing
	for i, r := range results[1:] {
		p, err := pair(names[0], names[i+1], results[0], r, n)
		if err != nil {
			return nil, err
		}
		pairs, family = append(pairs, p), append(family, p.Pairing)
	}
	retrieval.CorrectHolm(family)
	return pairs, nil
}

// Table returns the differences of a pair as a table, in percent.
func (p Pair) Table() texttable.Table {
	c := texttable.Table{Title: fmt.Sprintf("%s − %s", p.Second, p.First),
		Head: []string{"%", "difference", fmt.Sprintf("%g %% interval", 100*p.Intervals.Confidence), "P", "Holm", ""}}
	marked := false
	for _, d := range p.Differences {
		mark := ""
		if d.Holm <= significant {
			mark, marked = "*", true
		}
		c.Rows = append(c.Rows, []string{d.Key, signed(d.Mean), span(d.Interval), probability(d.P),
			probability(d.Holm), mark})
	}
	c.Note = p.note(marked)
	return c
}

// PairsTable returns one line per metric and pair, in percent except for P.
func PairsTable(pairs []Pair) texttable.Table {
	c := texttable.Table{Head: []string{"metric", "first", "second", "mean_first", "mean_second", "difference",
		"low", "high", "p", "p_holm", "queries"}}
	for _, p := range pairs {
		for _, d := range p.Differences {
			row := []string{d.Key, p.First, p.Second}
			for _, v := range []retrieval.Number{d.First, d.Second, d.Mean, d.Interval[0], d.Interval[1]} {
				row = append(row, (100*v).Decimals(4, ""))
			}
			c.Rows = append(c.Rows, append(row, d.P.Decimals(6, ""), d.Holm.Decimals(6, ""), strconv.Itoa(d.Queries)))
		}
	}
	return c
}

// note describes how the table was computed.
func (p Pair) note(marked bool) string {
	by, unit := "id", "query"
	if p.ByRow {
		by = "row"
	}
	if p.Intervals.Resample == retrieval.ByClass {
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

// signed formats a difference in percent with its sign.
func signed(v retrieval.Number) string {
	text := (100 * v).Decimals(2, "–")
	if v > 0 {
		text = "+" + text
	}
	return text
}

func span(e retrieval.Ends) string { return signed(e[0]) + " to " + signed(e[1]) }

// probability formats P with four decimals.
func probability(p retrieval.Number) string {
	if p < 0.0001 {
		return "<0.0001"
	}
	return p.Decimals(4, "–")
}
