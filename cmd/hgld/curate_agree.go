package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/curate"
)

func curateAgreeCommand() *cli.Command {
	return &cli.Command{
		Name: "agree", Usage: "how far two or more curators agree, and where they differ", ArgsUsage: "LOG LOG...",
		Description: "  hgld curate agree anna.jsonl ben.jsonl                         on draft.json\n" +
			"  hgld curate agree --adjudication third.jsonl anna.jsonl ben.jsonl   what is still open\n" +
			"  hgld curate agree --json anna.jsonl ben.jsonl                  with the figures of every category\n" +
			"  hgld curate agree anna.jsonl ben.jsonl carla.jsonl             three curators: Fleiss' kappa, and that of each " +
			"pair",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "draft", Usage: "the `FILE` that was curated", DefaultText: "draft.json"},
			&cli.StringFlag{Name: "adjudication", Usage: "the adjudicator's log, which decides between the two"},
		),
		Action: func(c *cli.Context) error {
			j, err := jobWith(c, 2, anyNumber, "the logs of two or more curators")
			if err != nil {
				return err
			}
			if len(j.args) > 2 && c.String("adjudication") != "" {
				return usagef("--adjudication decides between two curators; got the logs of %d", len(j.args))
			}
			settings, err := curateStage().Load(j.project, nil)
			if err != nil {
				return err
			}
			return runCurateAgree(j, cmp.Or(c.String("draft"), settings.Draft), j.args, c.String("adjudication"))
		},
	}
}

// runCurateAgree is `hgld curate agree`.
func runCurateAgree(j *job, draft string, logs []string, adjudication string) error {
	curators := len(logs)
	if adjudication != "" {
		logs = append(slices.Clone(logs), adjudication)
	}
	files, err := readCuration(j, draft, logs)
	if err != nil {
		return err
	}
	sessions := make([]*curate.Session, curators)
	for k := range sessions {
		if sessions[k], err = files.Single(files.Logs[k], curate.Skip); err != nil {
			return logError(err)
		}
	}
	if curators > 2 {
		return agreeMany(j, files, sessions)
	}
	c, err := curate.Compare(sessions[0], sessions[1])
	if err != nil {
		return err
	}
	result := map[string]any{"comparison": c}
	openTags, openParents := c.Differences, c.Parents
	if adjudication != "" {
		if !files.Logs[2].Adjudicates() {
			return usagef("%s does not decide between two logs", adjudication)
		}
		session, err := files.Replay(curate.Skip)
		if err != nil {
			return logError(err)
		}
		openTags, openParents = c.Open(session)
		result["open"], result["open_parents"] = openTags, openParents
	}
	if j.json {
		return writeJSON(j, result)
	}
	names := [2]string{files.Logs[0].Curator(), files.Logs[1].Curator()}
	printAgreement(j, c, names)
	if adjudication != "" {
		j.print("\n%s leaves open:\n", adjudication)
	}
	printDifferences(j, openTags, openParents, names)
	return nil
}

// printFigure prints a measure, with its interval if it has one.
func printFigure(j *job, what string, v *float64, ci *[2]float64) {
	interval := ""
	if v != nil && ci != nil {
		// An interval by the normal distribution can exceed the range of the measure.
		interval = fmt.Sprintf("   (95 %%: %.3f to %.3f)", max(ci[0], -1), min(ci[1], 1))
	}
	j.print("%-34s %s%s\n", what, measure(v), interval)
}

// measure returns a measure with three decimals, "-" if it is undefined.
func measure(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *v)
}

// printAgreement prints the measures for two curators.
func printAgreement(j *job, c *curate.Comparison, names [2]string) {
	g := c.Agreement
	j.print("%s decided by both, declared categories: %d; %d by %s alone, %d by %s alone, %d by neither\n\n",
		count(g.N, "tag"), g.Categories, c.OnlyA, names[0], c.OnlyB, names[1], c.Neither)
	printFigure(j, "agreement", g.Raw, nil)
	printFigure(j, "Cohen's kappa", g.Kappa, g.KappaCI)
	printFigure(j, "Gwet's AC1", g.AC1, g.AC1CI)
	printFigure(j, "Krippendorff's alpha", g.Alpha, nil)
	if g.WeightedKappa != nil {
		printFigure(j, "kappa, weighted by parent", g.WeightedKappa, nil)
	}
	var worst []curate.CategoryAgreement
	for _, of := range g.ByCategory {
		if of.Specific != nil && *of.Specific < 1 {
			worst = append(worst, of)
		}
	}
	slices.SortStableFunc(worst, func(a, b curate.CategoryAgreement) int { return cmp.Compare(*a.Specific, *b.Specific) })
	if len(worst) == 0 {
		return
	}
	j.print("\n%9s %7s %7s %7s  categories with the lowest agreement\n", "agreement", names[0], names[1], "both")
	for _, of := range worst[:min(len(worst), 10)] {
		j.print("%9.3f %7d %7d %7d  %s\n", *of.Specific, of.A, of.B, of.Both, c.Categories[of.Category])
	}
}

// printDifferences lists what two curators have decided differently.
func printDifferences(j *job, tags []curate.Difference, parents []curate.ParentDifference, names [2]string) {
	j.print("\n%s", count(len(tags), "difference"))
	if len(tags) > 0 {
		j.print(" (landmarks, tag, %s, %s)", names[0], names[1])
	}
	j.print("\n")
	for _, d := range tags {
		j.print("%8d  %s: %s | %s\n", d.Landmarks, curate.Ref{Name: d.Name, QID: d.QID}, quoted(d.A), quoted(d.B))
	}
	for _, p := range parents {
		j.print("          parent of %q: %s | %s\n", p.Group, quoted(p.A), quoted(p.B))
	}
}

// quoted returns the name of a group in quotes, which show a trailing space.
func quoted(name string) string {
	if name == (curate.Category{Dropped: true}).String() {
		return name
	}
	return fmt.Sprintf("%.80q", name)
}
