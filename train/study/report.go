package study

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hgld/train/history"
	"hgld/train/recipe"
	"hgld/train/retrieval"
	"hgld/train/stats"
)

// The intervals over the seeds of a variant.
const (
	student   = "student"   // Student's t interval of the mean, clipped to 0 … 100 %
	bootstrap = "bootstrap" // over the seeds: stats.Expanded
)

var intervals = []string{student, bootstrap}

// The verdicts on a difference, and what a claim may expect.
const (
	higher = "higher"
	lower  = "lower"
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

	plan *Plan
}

// ResultTable is a table of results.
type ResultTable struct {
	Title   string      `json:"title"`   // stands above it
	Metrics []string    `json:"metrics"` // columns
	Rows    []ResultRow `json:"rows"`    // one for each variant
}

// ResultRow holds the results of a variant.
type ResultRow struct {
	Label    string           `json:"label"`    // of the variant
	Count    int              `json:"count"`    // finished runs
	Diverged int              `json:"diverged"` // runs
	Cells    []history.Sample `json:"cells"`    // by metric
	// Quoted is the published row; nil: there is none.
	Quoted *Quoted `json:"quoted,omitempty"`
}

// Quoted is a published row beside a result.
type Quoted struct {
	recipe.Place
	Title    string             `json:"paper"`    // of the paper
	Values   []retrieval.Number `json:"values"`   // by metric; NaN: not published
	Verdicts []string           `json:"verdicts"` // by metric; "": there is nothing to compare
}

// ResultComparison holds the differences between variants.
type ResultComparison struct {
	Comparison
	Rows    []Difference `json:"rows"`              // by pair of variants, then by metric
	Verdict string       `json:"verdict,omitempty"` // on what the claim expects, in words
}

// Difference is the difference of a metric between two variants, seed by seed.
type Difference struct {
	Of     string `json:"of"`             // option
	From   string `json:"from"`           // option that is subtracted
	With   string `json:"with,omitempty"` // options of the other factors, the same in both
	Metric string `json:"metric"`         // key
	history.SeedDifference
}

// ResultFigure holds the curves of a figure.
type ResultFigure struct {
	Figure
	Curves []ResultCurve `json:"curves"` // by option of By, then by metric
}

// ResultCurve is a metric over a setting.
type ResultCurve struct {
	Name   string        `json:"name"`   // for the legend
	Points []ResultPoint `json:"points"` // by X
}

// ResultPoint is a metric of a variant.
type ResultPoint struct {
	X     float64        `json:"x"`     // value of the setting
	Label string         `json:"label"` // of the variant
	Y     history.Sample `json:"y"`     // metric over the seeds
}

// Report reads the finished runs. Runs that are not finished do not count.
func (p *Plan) Report() (*Report, error) {
	states, err := p.States()
	if err != nil {
		return nil, err
	}
	return p.report(states)
}

// report is Report of the runs with the given states. Without any, it still finds mistakes in tables and
// figures.
func (p *Plan) report(states []*State) (*Report, error) {
	g := gather(p, states)
	r := &Report{Study: p.Study.Name, Title: p.Study.Title, About: p.Study.About, Planned: len(p.Runs), plan: p}
	if words := p.Words(); len(words) > 0 {
		r.Title += " (scaled down: " + strings.Join(words, ", ") + ")"
	}
	for _, s := range states {
		switch s.Phase {
		case Finished:
			r.Finished++
		case Diverged:
			r.Diverged++
		}
	}
	for _, t := range p.Study.Tables {
		tables, err := g.tables(t)
		if err != nil {
			return nil, err
		}
		r.Tables = append(r.Tables, tables...)
	}
	for _, c := range p.Study.Comparisons {
		if compared := g.compare(c); len(compared.Rows) > 0 { // none: its options are beyond the limit
			r.Comparisons = append(r.Comparisons, compared)
		}
	}
	for _, f := range p.Study.Figures {
		drawn, err := g.figure(f)
		if err != nil {
			return nil, err
		}
		r.Figures = append(r.Figures, drawn)
	}
	return r, nil
}

// gathered holds the finished runs of a plan by variant.
type gathered struct {
	*Plan
	runs     map[*Variant][]*State // finished
	diverged map[*Variant]int
}

func gather(p *Plan, states []*State) *gathered {
	g := &gathered{p, map[*Variant][]*State{}, map[*Variant]int{}}
	for _, s := range states {
		switch v := s.Run.Variant; s.Phase {
		case Finished:
			g.runs[v] = append(g.runs[v], s)
		case Diverged:
			g.diverged[v]++
		}
	}
	return g
}

// chosen lists the variants with the given options, and leaves out option names that are the same in
// all of them from their labels.
func (g *gathered) chosen(only []string) (list []*Variant, labels map[*Variant]string) {
	for _, v := range g.Variants {
		if g.Study.has(v, only) {
			list = append(list, v)
		}
	}
	labels = map[*Variant]string{}
	for _, v := range list {
		var parts []string
		for f, label := range v.Options {
			same := !slices.ContainsFunc(list, func(o *Variant) bool { return o.Options[f] != label })
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
	f := g.Study.factor(by)
	if f < 0 {
		return [][]string{only}, []string{""}
	}
	for _, o := range g.Study.Factors[f].Options {
		both := func(v *Variant) bool { return v.Options[f] == o.Label && g.Study.has(v, only) }
		if slices.ContainsFunc(g.Variants, both) {
			rest := slices.DeleteFunc(slices.Clone(only), func(label string) bool {
				at, _, _ := g.Study.option(label)
				return at == f
			})
			choices, names = append(choices, append(rest, o.Label)), append(names, o.Label)
		}
	}
	return choices, names
}

func (g *gathered) tables(t Table) (list []ResultTable, err error) {
	choices, names := g.split(t.By, t.Only)
	for i, only := range choices {
		out := ResultTable{Title: t.Title, Metrics: or(t.Metrics, g.Study.Metrics)}
		if names[i] != "" {
			out.Title = strings.TrimPrefix(t.Title+": "+names[i], ": ")
		}
		variants, labels := g.chosen(only)
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
		list = append(list, out)
	}
	return list, nil
}

// sample summarises a metric of a variant over the seeds.
func (g *gathered) sample(v *Variant, key string) history.Sample {
	var values []retrieval.Number
	for _, s := range g.runs[v] {
		values = append(values, history.Percent(s.Result, key))
	}
	s := history.SampleOf(values)
	if g.Study.Interval == bootstrap && s.Count > 1 {
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
func (g *gathered) compare(c Comparison) ResultComparison {
	out := ResultComparison{Comparison: c}
	f, _, _ := g.Study.option(c.From)
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
			at := slices.IndexFunc(g.Variants, func(v *Variant) bool { return slices.Equal(v.Options, options) })
			if at < 0 {
				continue // beyond the limit
			}
			for _, key := range out.Metrics {
				d := Difference{Of: label, From: c.From, With: with, Metric: key,
					SeedDifference: history.Subtract(g.bySeed(g.Variants[at], key), g.bySeed(base, key))}
				out.Rows = append(out.Rows, d)
			}
		}
	}
	var family []*history.SeedDifference
	for i := range out.Rows {
		family = append(family, &out.Rows[i].SeedDifference)
	}
	history.CorrectSeeds(family)
	out.Verdict = out.verdict()
	return out
}

// bySeed returns a metric of a variant by seed.
func (g *gathered) bySeed(v *Variant, key string) map[[2]string]retrieval.Number {
	values := map[[2]string]retrieval.Number{}
	for _, s := range g.runs[v] {
		values[[2]string{fmt.Sprint(s.Run.Seed)}] = history.Percent(s.Result, key)
	}
	return values
}

// verdict says in words whether the differences are as the claim expects.
func (c *ResultComparison) verdict() string {
	if c.Expect == "" {
		return ""
	}
	opposite := map[string]string{higher: lower, lower: higher}[c.Expect]
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
func (g *gathered) height(f Figure, v *Variant, key string) history.Sample {
	at, _, relative := g.Study.option(f.From)
	switch {
	case !relative:
		return g.sample(v, key)
	case v.Options[at] == f.From:
		return history.Sample{}
	}
	options := slices.Clone(v.Options)
	options[at] = f.From
	base := slices.IndexFunc(g.Variants, func(o *Variant) bool { return slices.Equal(o.Options, options) })
	if base < 0 {
		return history.Sample{} // beyond the limit
	}
	return history.Increase(g.bySeed(v, key), g.bySeed(g.Variants[base], key))
}

// figure collects the points of a figure.
func (g *gathered) figure(f Figure) (ResultFigure, error) {
	out := ResultFigure{Figure: f}
	out.Metrics = or(f.Metrics, g.Study.Metrics)
	choices, names := g.split(f.By, f.Only)
	for i, only := range choices {
		variants, labels := g.chosen(only)
		for _, key := range out.Metrics {
			curve := ResultCurve{Name: key}
			switch {
			case names[i] != "" && len(out.Metrics) == 1:
				curve.Name = names[i]
			case names[i] != "":
				curve.Name = names[i] + ", " + key
			}
			for _, v := range variants {
				x, err := g.number(v, f.X)
				if err != nil {
					return out, asFileError(fmt.Errorf("figure %.80q: x: %w", f.Title, err))
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
