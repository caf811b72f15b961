package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hgld/train/experiment/plan"
	"hgld/train/retrieval"
)

// quote returns the published row of a variant with a verdict on each number, or nil.
func (g *gathered) quote(v *plan.Variant, keys []string, cells []Sample) (*Quoted, error) {
	if v.Place == nil {
		return nil, nil
	}
	tables, err := plan.Published()
	if err != nil {
		return nil, err
	}
	table, numbers, err := tables.Find(*v.Place)
	if err != nil {
		return nil, err
	}
	q := &Quoted{Place: *v.Place, Title: tables.Papers[table.Paper]}
	why := g.incomparable(v)
	for i, key := range keys {
		value := math.NaN()
		if at := slices.IndexFunc(numbers, func(n plan.Number) bool { return n.Key == key }); at >= 0 {
			value = numbers[at].Value
		}
		verdict := ""
		switch {
		case math.IsNaN(value) || cells[i].Count == 0:
		case why != "":
			verdict = "not comparable: " + why
		default:
			verdict = beside(cells[i], value)
		}
		q.Values, q.Verdicts = append(q.Values, retrieval.Number(value)), append(q.Verdicts, verdict)
	}
	return q, nil
}

// beside says where a published number lies. It counts as within the interval if a number that is
// rounded to it does.
func beside(s Sample, paper float64) string {
	half := 0.05
	if tenths := math.Round(10 * paper); math.Abs(tenths/10-paper) > 1e-9 {
		half = 0.005
	}
	switch low, high := float64(s.Low), float64(s.High); {
	case s.Count < 2:
		return fmt.Sprintf("%+.2f; one run has no interval", float64(s.Mean)-paper)
	case math.IsNaN(low):
		return fmt.Sprintf("%+.2f; equal runs have no interval", float64(s.Mean)-paper)
	case low > paper+half:
		return "above the paper's number"
	case high < paper-half:
		return "below the paper's number"
	}
	return "the paper's number is within the interval"
}

// incomparable says why the results of a variant cannot be compared with the published row, or
// returns "".
func (g *gathered) incomparable(v *plan.Variant) string {
	var why []string
	if changes := g.Scale.Changes(); len(changes) > 0 {
		why = append(why, "scaled down ("+strings.Join(changes, "; ")+")")
	}
	why = append(why, g.Study.Differs...)
	if runs := g.runs[v]; len(runs) > 0 { // which share their data
		switch result := runs[0].Result; {
		case result.On == "validation":
			why = append(why, "measured on held-out classes instead of the test")
		case v.Recipe != nil && !v.Recipe.Fits(result):
			why = append(why, "other data: "+otherData(v.Recipe, result))
		}
	}
	return strings.Join(why, "; ")
}

// otherData says how the data of a result differ from a recipe's.
func otherData(r *plan.Recipe, result *retrieval.Result) string {
	if len(result.Levels) != len(r.Classes) {
		return fmt.Sprintf("%d levels instead of %d", len(result.Levels), len(r.Classes))
	}
	return fmt.Sprintf("%d queries instead of %d", result.Queries, r.Queries)
}
