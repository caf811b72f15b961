package curate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/terminal"
	"hgld/internal/texttable"
)

// figure returns a row with a measure, and its interval if it has one.
func figure(what string, v *float64, ci *[2]float64) []string {
	if v == nil || ci == nil {
		return []string{what, measure(v)}
	}
	return []string{what, measure(v), fmt.Sprintf("(95 %%: %.3f to %.3f)", ci[0], ci[1])}
}

// figures is the table of rows by figure.
func figures(rows ...[]string) string { return texttable.Format("%-34s %-5s   %s", rows...) }

// measure returns a measure with three decimals, "-" if it is undefined.
func measure(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}

// Text returns the measures of a comparison as a table. The names are those of the two
// curators.
func (c *Comparison) Text(names [2]string) string {
	w := &strings.Builder{}
	g := c.Agreement
	fmt.Fprintf(w, "%s decided by both, declared categories: %d; %d by %s alone, %d by %s alone, %d by neither\n\n",
		terminal.Count(g.N, "tag"), g.Categories, c.OnlyA, names[0], c.OnlyB, names[1], c.Neither)
	rows := [][]string{figure("agreement", g.Raw, nil), figure("Cohen's kappa", g.Kappa, g.KappaCI),
		figure("Gwet's AC1", g.AC1, g.AC1CI), figure("Krippendorff's alpha", g.Alpha, nil)}
	if g.WeightedKappa != nil {
		rows = append(rows, figure("kappa, weighted by parent", g.WeightedKappa, nil))
	}
	w.WriteString(figures(rows...))
	var worst []CategoryAgreement
	for _, of := range g.ByCategory {
		if of.Specific != nil && *of.Specific < 1 {
			worst = append(worst, of)
		}
	}
	slices.SortStableFunc(worst, func(a, b CategoryAgreement) int { return cmp.Compare(*a.Specific, *b.Specific) })
	if len(worst) == 0 {
		return w.String()
	}
	rows = [][]string{{"agreement", names[0], names[1], "both", "categories with the lowest agreement"}}
	for _, of := range worst[:min(len(worst), 10)] {
		rows = append(rows, texttable.Row(measure(of.Specific), of.A, of.B, of.Both, c.Categories[of.Category]))
	}
	return w.String() + "\n" + texttable.Format("%9s %7s %7s %7s  %s", rows...)
}

// DifferencesText lists the tags and parents that curators decided differently. The names are
// those of the curators.
func DifferencesText(tags []Difference, parents []ParentDifference, names []string) string {
	w := &strings.Builder{}
	fmt.Fprintf(w, "\n%s", terminal.Count(len(tags), "difference"))
	if len(tags) > 0 {
		fmt.Fprintf(w, " (landmarks, tag, %s)", strings.Join(names, ", "))
	}
	fmt.Fprintf(w, "\n")
	for _, d := range tags {
		fmt.Fprintf(w, "%8d  %s: %s\n", d.Landmarks, Ref{Name: d.Name, QID: d.QID}, choicesText(d.Choices))
	}
	for _, p := range parents {
		fmt.Fprintf(w, "          parent of %q: %s\n", p.Group, choicesText(p.Choices))
	}
	return w.String()
}

// choicesText lists choices between bars, "-" for one that was not made.
func choicesText(choices []string) string {
	list := make([]string, len(choices))
	for k, choice := range choices {
		list[k] = "-"
		if choice != "" {
			list[k] = quoted(choice)
		}
	}
	return strings.Join(list, " | ")
}

// quoted returns the name of a group in quotes, which show a trailing space.
func quoted(name string) string {
	if name == (Category{Dropped: true}).String() {
		return name
	}
	return fmt.Sprintf("%.80q", name)
}

// Text returns the measures of a comparison of several curators as a table.
func (c *ManyComparison) Text(names []string) string {
	w := &strings.Builder{}
	g := c.Agreement
	fmt.Fprintf(w, "%s decided by two or more of %s, declared categories: %d\n\n", terminal.Count(g.Items, "tag"),
		terminal.Count(len(names), "curator"), len(c.Categories))
	fleiss := figure("Fleiss' kappa", g.FleissKappa, nil)
	if g.Raters == 0 {
		fleiss = []string{"Fleiss' kappa", "-", "(the tags have different numbers of decisions; use alpha instead)"}
	}
	w.WriteString(figures(figure("agreement of two of them", g.Raw, nil), fleiss, figure("Gwet's AC1", g.AC1, nil),
		figure("Krippendorff's alpha", g.Alpha, nil)))
	rows := [][]string{{"tags", "agreement", "kappa", "AC1", "curators"}}
	for _, p := range c.Pairs {
		rows = append(rows, texttable.Row(p.Tags, measure(p.Raw), measure(p.Kappa), measure(p.AC1),
			names[p.A]+", "+names[p.B]))
	}
	return w.String() + "\n" + texttable.Format("%7s %9s %7s %7s  %s", rows...)
}
