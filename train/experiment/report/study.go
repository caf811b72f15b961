// Package report compares the results of runs and of evaluations, with each other and with the numbers of a paper:
// query by query, seed by seed, or as a table. The report of a study is made of the same comparisons.
package report

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"hgld/internal/report"
	"hgld/train/experiment/plan"
	"hgld/train/experiment/runs"
	"hgld/train/retrieval"
	"hgld/train/stats"
)

// Report holds the results of the finished runs. Numbers are percentages.
type Report struct {
	Study    string `json:"study"`              // name
	Title    string `json:"title"`              // says how the study was scaled
	About    string `json:"about,omitempty"`    // what it asks
	Finished int    `json:"finished"`           // runs
	Diverged int    `json:"diverged,omitempty"` // runs
	Planned  int    `json:"planned"`            // runs

	// Tables, Comparisons and Figures are those of the study, in its order.
	Tables      []ResultTable      `json:"tables"`
	Comparisons []ResultComparison `json:"comparisons,omitempty"` // see Tables
	Figures     []ResultFigure     `json:"figures,omitempty"`     // see Tables

	plan *plan.Plan
}

// ResultTable is a table of results.
type ResultTable struct {
	Title   string      `json:"title"`   // stands above it
	Metrics []string    `json:"metrics"` // columns
	Rows    []ResultRow `json:"rows"`    // one for each variant

	of    int      // table of the study
	part  string   // option of By; "": it has none
	heads []string // the metrics as a paper names them
}

// ResultRow holds the results of a variant.
type ResultRow struct {
	Label    string   `json:"label"`            // of the variant
	Count    int      `json:"count"`            // finished runs
	Diverged int      `json:"diverged"`         // runs
	Cells    []Sample `json:"cells"`            // by metric
	Quoted   *Quoted  `json:"quoted,omitempty"` // the published row; nil: there is none
}

// Quoted is a published row beside a result.
type Quoted struct {
	plan.Place
	Title    string             `json:"paper"`    // of the paper
	Values   []retrieval.Number `json:"values"`   // by metric; NaN: not published
	Verdicts []string           `json:"verdicts"` // by metric; "": there is nothing to compare
}

// ResultComparison holds the differences between variants.
type ResultComparison struct {
	plan.Comparison
	Rows    []Difference `json:"rows"`              // by pair of variants, then by metric
	Verdict string       `json:"verdict,omitempty"` // on what the claim expects, in words
}

// Difference is the difference of a metric between two variants, seed by seed.
type Difference struct {
	Of     string `json:"of"`             // option
	From   string `json:"from"`           // option that is subtracted
	With   string `json:"with,omitempty"` // options of the other factors, the same in both
	Metric string `json:"metric"`         // key
	SeedDifference
}

// ResultFigure holds the curves of a figure.
type ResultFigure struct {
	plan.Figure
	Curves []ResultCurve `json:"curves"` // by option of By, then by metric
	// Failure says why a figure with points could not be drawn.
	Failure string `json:"failure,omitempty"`

	heads   []string        // the metrics as a paper names them
	drawing *report.Drawing // nil: there is no point, or it failed
	inline  template.HTML   // the drawing for a page
}

// ResultCurve is a metric over a setting.
type ResultCurve struct {
	Name   string        `json:"name"`   // for the legend
	Points []ResultPoint `json:"points"` // by X

	label string // Name with the method and the metric as a paper names them
}

// ResultPoint is a metric of a variant.
type ResultPoint struct {
	X     float64 `json:"x"`     // value of the setting
	Label string  `json:"label"` // of the variant
	Y     Sample  `json:"y"`     // metric over the seeds
}

// Of reports the finished runs of a plan, with figures set in a style. Runs that are not finished do not count.
func Of(p *plan.Plan, style report.Style) (*Report, error) {
	states, err := p.States()
	if err != nil {
		return nil, err
	}
	return of(p, states, style)
}

// of is Of with the states of the runs.
func of(p *plan.Plan, states []*plan.State, style report.Style) (*Report, error) {
	g := gather(p, states)
	r := &Report{Study: p.Study.Name, Title: p.Study.Title, About: p.Study.About, Planned: len(p.Runs), plan: p}
	if words := p.Words(); len(words) > 0 {
		r.Title += " (scaled down: " + strings.Join(words, ", ") + ")"
	}
	for _, s := range states {
		switch s.Phase {
		case plan.Finished:
			r.Finished++
		case plan.Diverged:
			r.Diverged++
		}
	}
	for i, t := range p.Study.Tables {
		tables, err := g.tables(i, t)
		if err != nil {
			return nil, err
		}
		r.Tables = append(r.Tables, tables...)
	}
	for _, c := range p.Study.Comparisons {
		if compared := g.compare(c); len(compared.Rows) > 0 { // none: its options are beyond the limit
			if changes := p.Scale.Changes(); compared.Verdict != "" && len(changes) > 0 {
				compared.Verdict = "not comparable: scaled down (" + strings.Join(changes, "; ") + ")"
			}
			r.Comparisons = append(r.Comparisons, compared)
		}
	}
	for _, f := range p.Study.Figures {
		drawn, err := g.figure(f)
		if err != nil {
			return nil, err
		}
		drawn.prepare(style)
		r.Figures = append(r.Figures, drawn)
	}
	return r, nil
}

// gathered holds the finished runs of a plan by variant.
type gathered struct {
	*plan.Plan
	runs     map[*plan.Variant][]*plan.State // finished
	diverged map[*plan.Variant]int
}

func gather(p *plan.Plan, states []*plan.State) *gathered {
	g := &gathered{p, map[*plan.Variant][]*plan.State{}, map[*plan.Variant]int{}}
	for _, s := range states {
		switch v := s.Run.Variant; s.Phase {
		case plan.Finished:
			g.runs[v] = append(g.runs[v], s)
		case plan.Diverged:
			g.diverged[v]++
		}
	}
	return g
}

// chosen lists the variants with the given options, and leaves out option names that are the same in
// all of them from their labels.
func (g *gathered) chosen(only []string) (list []*plan.Variant, labels map[*plan.Variant]string) {
	for _, v := range g.Variants {
		if g.Study.Has(v, only) {
			list = append(list, v)
		}
	}
	labels = map[*plan.Variant]string{}
	for _, v := range list {
		var parts []string
		for f, label := range v.Options {
			same := !slices.ContainsFunc(list, func(o *plan.Variant) bool { return o.Options[f] != label })
			if !same || len(v.Options) == 1 {
				parts = append(parts, label)
			}
		}
		labels[v] = cmp.Or(strings.Join(parts, ", "), v.Label())
	}
	return list, labels
}

// split lists the choices of options for each option of a factor, or one if by is "".
func (g *gathered) split(by string, only []string) (choices [][]string, names []string) {
	f := g.Study.FactorAt(by)
	if f < 0 {
		return [][]string{only}, []string{""}
	}
	for _, o := range g.Study.Factors[f].Options {
		both := func(v *plan.Variant) bool { return v.Options[f] == o.Label && g.Study.Has(v, only) }
		if slices.ContainsFunc(g.Variants, both) {
			rest := slices.DeleteFunc(slices.Clone(only), func(label string) bool {
				at, _, _ := g.Study.Option(label)
				return at == f
			})
			choices, names = append(choices, append(rest, o.Label)), append(names, o.Label)
		}
	}
	return choices, names
}

func (g *gathered) tables(of int, t plan.Table) (list []ResultTable, err error) {
	choices, names := g.split(t.By, t.Only)
	for i, only := range choices {
		out := ResultTable{Title: t.Title, Metrics: or(t.Metrics, g.Study.Metrics), of: of, part: names[i]}
		if names[i] != "" {
			out.Title = strings.TrimPrefix(t.Title+": "+names[i], ": ")
		}
		variants, labels := g.chosen(only)
		for _, key := range out.Metrics {
			out.heads = append(out.heads, runs.MetricName(key, g.levels(variants)))
		}
		for _, v := range variants {
			row := ResultRow{Label: labels[v], Count: len(g.runs[v]), Diverged: g.diverged[v]}
			for _, key := range out.Metrics {
				row.Cells = append(row.Cells, g.sample(v, key))
			}
			if row.Quoted, err = g.quote(v, out.Metrics, row.Cells); err != nil {
				return nil, err
			}
			out.Rows = append(out.Rows, row)
		}
		if before := g.before(variants, out.Metrics); before != nil {
			out.Rows = slices.Insert(out.Rows, 0, *before)
		}
		list = append(list, out)
	}
	return list, nil
}

// before returns the row of the networks before training, or nil if they are not known for all finished runs, or those
// of a seed differ between the variants: then none stands for all.
func (g *gathered) before(variants []*plan.Variant, keys []string) *ResultRow {
	bySeed := map[uint64][]retrieval.Number{}
	for _, v := range variants {
		for _, s := range g.runs[v] {
			var values []retrieval.Number
			for _, key := range keys {
				values = append(values, runs.Percent(s.Before, key))
			}
			known := bySeed[s.Run.Seed]
			if s.Before == nil || s.Before.On != s.Result.On || known != nil && !slices.Equal(known, values) {
				return nil
			}
			bySeed[s.Run.Seed] = values
		}
	}
	if len(bySeed) == 0 {
		return nil
	}
	row := &ResultRow{Label: beforeLabel, Count: len(bySeed)}
	for k := range keys {
		var values []retrieval.Number
		for _, seed := range slices.Sorted(maps.Keys(bySeed)) {
			values = append(values, bySeed[seed][k])
		}
		row.Cells = append(row.Cells, SampleOf(values))
	}
	return row
}

// beforeLabel is the label of the row of the networks before training.
const beforeLabel = "before training"

// levels returns the names of the levels that the runs of variants have, or nil.
func (g *gathered) levels(variants []*plan.Variant) []string {
	for _, v := range variants {
		for _, s := range g.runs[v] {
			return s.Result.Levels
		}
	}
	return nil
}

// sample summarises a metric of a variant over the seeds.
func (g *gathered) sample(v *plan.Variant, key string) Sample {
	var values []retrieval.Number
	for _, s := range g.runs[v] {
		values = append(values, runs.Percent(s.Result, key))
	}
	s := SampleOf(values)
	if g.Study.Interval == plan.Bootstrap && s.Count > 1 {
		column := make([]float64, len(values))
		for i, v := range values {
			column[i] = float64(v)
		}
		b := stats.Bootstrap{Confidence: 0.95, Resamples: 2000, Seed: 1, Method: stats.Expanded}
		ends := b.Intervals(stats.ByQuery([][]float64{column}))[0].Clip(0, 100)
		s.Low, s.High = retrieval.Number(ends.Low), retrieval.Number(ends.High)
	}
	return s
}

// compare returns the differences of a comparison.
func (g *gathered) compare(c plan.Comparison) ResultComparison {
	out := ResultComparison{Comparison: c}
	f, _, _ := g.Study.Option(c.From)
	of := c.Of
	if len(of) == 0 {
		for _, o := range g.Study.Factors[f].Options {
			if o.Label != c.From {
				of = append(of, o.Label)
			}
		}
	}
	out.Metrics = or(c.Metrics, g.Study.Metrics)
	for _, base := range g.Variants {
		if base.Options[f] != c.From {
			continue
		}
		with := strings.Join(slices.Delete(slices.Clone(base.Options), f, f+1), ", ")
		for _, label := range of {
			options := slices.Clone(base.Options)
			options[f] = label
			at := slices.IndexFunc(g.Variants, func(v *plan.Variant) bool { return slices.Equal(v.Options, options) })
			if at < 0 {
				continue // beyond the limit
			}
			for _, key := range out.Metrics {
				d := Difference{Of: label, From: c.From, With: with, Metric: key,
					SeedDifference: Subtract(g.bySeed(g.Variants[at], key), g.bySeed(base, key))}
				out.Rows = append(out.Rows, d)
			}
		}
	}
	var family []*SeedDifference
	for i := range out.Rows {
		family = append(family, &out.Rows[i].SeedDifference)
	}
	CorrectSeeds(family)
	out.Verdict = out.verdict()
	return out
}

// bySeed returns a metric of a variant by seed.
func (g *gathered) bySeed(v *plan.Variant, key string) map[[2]string]retrieval.Number {
	values := map[[2]string]retrieval.Number{}
	for _, s := range g.runs[v] {
		values[[2]string{fmt.Sprint(s.Run.Seed)}] = runs.Percent(s.Result, key)
	}
	return values
}

// verdict says in words whether the differences are as the claim expects.
func (c *ResultComparison) verdict() string {
	if c.Expect == "" {
		return ""
	}
	opposite := map[string]string{plan.Higher: plan.Lower, plan.Lower: plan.Higher}[c.Expect]
	as, against, pairs := 0, 0, 0
	for _, d := range c.Rows {
		pairs = max(pairs, d.Pairs)
		switch d.Verdict {
		case c.Expect:
			as++
		case opposite:
			against++
		}
	}
	n := len(c.Rows)
	switch {
	case pairs < 2:
		return "open: no difference has two pairs of runs"
	case as == n:
		return fmt.Sprintf("supported: %s in all %d differences", c.Expect, n)
	case against > 0 && as > 0:
		return fmt.Sprintf("mixed: %d of %d differences are %s, %d are %s", as, n, c.Expect, against, opposite)
	case against > 0:
		return fmt.Sprintf("contradicted: %d of %d differences are %s, none is %s", against, n, opposite, c.Expect)
	case as > 0:
		return fmt.Sprintf("supported in part: %d of %d differences are %s, the others undecided", as, n, c.Expect)
	}
	return fmt.Sprintf("undecided: none of %d differences excludes 0", n)
}

// height returns the metric of a variant that a figure draws: the metric, or its increase over the same
// variant with the option from, of which the latter has none.
func (g *gathered) height(f plan.Figure, v *plan.Variant, key string) Sample {
	at, _, relative := g.Study.Option(f.From)
	switch {
	case !relative:
		return g.sample(v, key)
	case v.Options[at] == f.From:
		return Sample{}
	}
	options := slices.Clone(v.Options)
	options[at] = f.From
	base := slices.IndexFunc(g.Variants, func(o *plan.Variant) bool { return slices.Equal(o.Options, options) })
	if base < 0 {
		return Sample{} // beyond the limit
	}
	return Increase(g.bySeed(v, key), g.bySeed(g.Variants[base], key))
}

// figure collects the points of a figure.
func (g *gathered) figure(f plan.Figure) (ResultFigure, error) {
	out := ResultFigure{Figure: f}
	out.Metrics = or(f.Metrics, g.Study.Metrics)
	for _, key := range out.Metrics {
		out.heads = append(out.heads, runs.MetricName(key, g.levels(g.Variants)))
	}
	choices, names := g.split(f.By, f.Only)
	for i, only := range choices {
		variants, labels := g.chosen(only)
		for k, key := range out.Metrics {
			curve := ResultCurve{Name: key, label: out.heads[k]}
			switch {
			case names[i] != "" && len(out.Metrics) == 1:
				curve.Name, curve.label = names[i], plan.MethodOf(names[i])
			case names[i] != "":
				curve.Name, curve.label = names[i]+", "+key, plan.MethodOf(names[i])+", "+curve.label
			}
			for _, v := range variants {
				x, err := g.Number(v, f.X)
				if err != nil {
					return out, fmt.Errorf("figure %.80q: x: %w", f.Title, err)
				}
				if y := g.height(f, v, key); y.Count > 0 {
					curve.Points = append(curve.Points, ResultPoint{x, labels[v], y})
				}
			}
			if f.From != "" && len(curve.Points) == 0 {
				continue
			}
			slices.SortStableFunc(curve.Points, func(a, b ResultPoint) int { return cmp.Compare(a.X, b.X) })
			out.Curves = append(out.Curves, curve)
		}
	}
	return out, nil
}

// or returns list, or otherwise if it is empty.
func or(list, otherwise []string) []string {
	if len(list) == 0 {
		return otherwise
	}
	return list
}
