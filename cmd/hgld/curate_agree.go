package main

import (
	"cmp"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/curate"
)

func curateAgreeCommand() *cli.Command {
	return &cli.Command{
		Name: "agree", Usage: "how well two or more curators agree, and where they differ", ArgsUsage: "LOG LOG...",
		Description: "  hgld curate agree anna.jsonl ben.jsonl                         on draft.json\n" +
			"  hgld curate agree --adjudication third.jsonl anna.jsonl ben.jsonl   what the adjudicator left open\n" +
			"  hgld curate agree --json anna.jsonl ben.jsonl                  with the figures of every category\n" +
			"  hgld curate agree anna.jsonl ben.jsonl carla.jsonl             three curators: Fleiss' kappa, Cohen's for each " +
			"pair",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "draft", Usage: "the `FILE` that was curated", DefaultText: "draft.json"},
			&cli.StringFlag{Name: "adjudication", Usage: "the adjudicator's log, which decides between the two"},
		),
		Action: actionWithArgs(2, anyNumber, "the logs of two or more curators", func(c *cli.Context, j *job) error {
			if len(j.args) > 2 && c.String("adjudication") != "" {
				return usagef("--adjudication decides between exactly two curators; got %d logs", len(j.args))
			}
			settings, err := curateStage().Load(j.project, nil)
			if err != nil {
				return err
			}
			return runCurateAgree(j, cmp.Or(c.String("draft"), settings.Draft), j.args, c.String("adjudication"))
		}),
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
			return usagef("%s is not an adjudicator's log: it names no two logs to decide between", adjudication)
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
	j.print("%s", c.Text(names))
	if adjudication != "" {
		j.print("\n%s leaves open:\n", adjudication)
	}
	j.print("%s", curate.DifferencesText(openTags, openParents, names))
	return nil
}

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
	return j.show(struct {
		Curators   []string               `json:"curators"`
		Comparison *curate.ManyComparison `json:"comparison"`
	}{names, c}, c.Text(names))
}
