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
		Name: "agree", Usage: "how well two or more curators agree, and where they differ", ArgsUsage: "LOG LOG...",
		Description: "  hgld curate agree anna.jsonl ben.jsonl                         on draft.json\n" +
			"  hgld curate agree --adjudication third.jsonl anna.jsonl ben.jsonl   what the adjudicator left open\n" +
			"  hgld curate agree --json anna.jsonl ben.jsonl                  with the figures of every category\n" +
			"  hgld curate agree anna.jsonl ben.jsonl carla.jsonl             three curators: Fleiss' kappa, Cohen's for each " +
			"pair",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "draft", Usage: "the `FILE` that was curated", DefaultText: "draft.json"},
			&cli.StringFlag{Name: "adjudication", Usage: "the adjudicator's log, which decides between them"},
		),
		Action: actionWithArgs(2, anyNumber, "the logs of two or more curators", func(c *cli.Context, j *job) error {
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
	if err := namedOnce(logs); err != nil {
		return err
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
	names := curate.Curators(files.Logs[:curators])
	result, text, differences, err := compareCurators(sessions, names)
	if err != nil {
		return err
	}
	extra, err := curate.CompareExtraParents(sessions...)
	if err != nil {
		return err
	}
	result["extra_parents"] = extra
	text += extra.Text()
	if adjudication != "" {
		if !files.Logs[curators].Adjudicates() {
			return usagef("%s is not an adjudicator's log: it names no logs to decide between", adjudication)
		}
		session, err := files.Replay(curate.Skip)
		if err != nil {
			return logError(err)
		}
		tags, parents := files.Open(session)
		result["open"], result["open_parents"] = tags, parents
		differences = fmt.Sprintf("\n%s leaves open:\n%s", adjudication, curate.DifferencesText(tags, parents, names))
	}
	return j.show(result, text+differences)
}

// compareCurators returns the agreement of curators for --json and as text, and the differences as
// text. For more than two it has Fleiss' kappa and those of Cohen by pairs.
func compareCurators(sessions []*curate.Session, names []string) (result map[string]any, text, differences string,
	err error) {
	if len(sessions) == 2 {
		c, err := curate.Compare(sessions[0], sessions[1])
		if err != nil {
			return nil, "", "", err
		}
		return map[string]any{"comparison": c}, c.Text([2]string(names)),
			curate.DifferencesText(c.Differences, c.Parents, names), nil
	}
	c, err := curate.CompareMany(sessions)
	if err != nil {
		return nil, "", "", err
	}
	return map[string]any{"curators": names, "comparison": c}, c.Text(names),
		curate.DifferencesText(c.Differences, c.Parents, names), nil
}
