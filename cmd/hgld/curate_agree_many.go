package main

import (
	"slices"
	"strings"

	"hgld/curate"
)

// agreeMany is `hgld curate agree` for three or more curators.
func agreeMany(j *job, files *curate.Curation, sessions []*curate.Session) error {
	c, err := curate.CompareMany(sessions)
	if err != nil {
		return err
	}
	names := make([]string, len(sessions))
	for k := range names {
		names[k] = files.Logs[k].Curator()
		if slices.Contains(names[:k], names[k]) {
			names[k] = files.Logs[k].Name
		}
	}
	if j.json {
		return writeJSON(j, struct {
			Curators   []string               `json:"curators"`
			Comparison *curate.ManyComparison `json:"comparison"`
		}{names, c})
	}
	g := c.Agreement
	j.print("%s decided by two or more of %s, declared categories: %d\n\n", count(g.Items, "tag"),
		count(len(names), "curator"), len(c.Categories))
	printFigure(j, "agreement of two of them", g.Raw, nil)
	if g.Raters > 0 {
		printFigure(j, "Fleiss' kappa", g.FleissKappa, nil)
	} else {
		j.print("%-34s -   (not every tag has the same number of decisions; see alpha instead)\n", "Fleiss' kappa")
	}
	printFigure(j, "Gwet's AC1", g.AC1, nil)
	printFigure(j, "Krippendorff's alpha", g.Alpha, nil)
	j.print("\n%7s %9s %7s %7s  curators\n", "tags", "agreement", "kappa", "AC1")
	for _, p := range c.Pairs {
		j.print("%7d %9s %7s %7s  %s, %s\n", p.Tags, measure(p.Raw), measure(p.Kappa), measure(p.AC1), names[p.A], names[p.B])
	}
	j.print("\n%s", count(len(c.Disagreements), "difference"))
	if len(c.Disagreements) > 0 {
		j.print(" (landmarks, tag, %s)", strings.Join(names, ", "))
	}
	j.print("\n")
	for _, d := range c.Disagreements {
		var choices []string
		for _, choice := range d.Choices {
			if choice == "" {
				choices = append(choices, "-")
				continue
			}
			choices = append(choices, quoted(choice))
		}
		j.print("%8d  %s: %s\n", d.Landmarks, curate.Ref{Name: d.Name, QID: d.QID}, strings.Join(choices, " | "))
	}
	return nil
}
