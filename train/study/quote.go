package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/train/history"
	"hgld/train/recipe"
	"hgld/train/retrieval"
)

// quote returns the published row of a variant with a verdict on each number, or nil.
func (g *gathered) quote(v *Variant, keys []string, cells []history.Sample) (*Quoted, error) {
	if v.Place == nil {
		return nil, nil
	}
	tables, err := recipe.Published()
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
		if at := slices.IndexFunc(numbers, func(n recipe.Number) bool { return n.Key == key }); at >= 0 {
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
func beside(s history.Sample, paper float64) string {
	half := 0.05
	if tenths := math.Round(10 * paper); math.Abs(tenths/10-paper) > 1e-9 {
		half = 0.005
	}
	switch low, high := float64(s.Low), float64(s.High); {
	case s.Count < 2:
		return fmt.Sprintf("%+.2f; one run has no interval", float64(s.Mean)-paper)
	case low > paper+half:
		return "above the paper's number"
	case high < paper-half:
		return "below the paper's number"
	}
	return "the paper's number is within the interval"
}

// incomparable says why the results of a variant cannot be compared with the published row, or
// returns "".
func (g *gathered) incomparable(v *Variant) string {
	var why []string
	if changes := g.Scale.changes(); len(changes) > 0 {
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
func otherData(r *recipe.Recipe, result *retrieval.Result) string {
	if len(result.Levels) != len(r.Classes) {
		return fmt.Sprintf("%d levels instead of %d", len(result.Levels), len(r.Classes))
	}
	return fmt.Sprintf("%d queries instead of %d", result.Queries, r.Queries)
}

// number returns a setting of a variant that is a number, or its option of a factor whose options are
// numbers.
func (g *gathered) number(v *Variant, key string) (float64, error) {
	if f := g.Study.factor(key); f >= 0 {
		if x, err := strconv.ParseFloat(v.Options[f], 64); err == nil {
			return x, nil
		}
	}
	at := slices.IndexFunc(g.Runs, func(r *Run) bool { return r.Variant == v })
	fields := settings.Fields(g.Runs[at].Settings)
	i, inner := settings.Find(fields, key)
	if i < 0 {
		return 0, registry.Unknown("setting", key, settings.Keys(fields))
	}
	value := fields[i].Value.Interface()
	if inner != "" {
		for part := range strings.SplitSeq(inner, ".") {
			group, _ := value.(map[string]any)
			value = group[part]
		}
	}
	switch x := value.(type) {
	case int:
		return float64(x), nil
	case uint64:
		return float64(x), nil
	case float64:
		return x, nil
	}
	return 0, fmt.Errorf("%s of %s is %v, want a number", key, v.Label(), value)
}
