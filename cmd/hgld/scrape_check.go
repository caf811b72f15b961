package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/labels"
	"hgld/scrape"
)

func scrapeStatsCommand() *cli.Command {
	return &cli.Command{
		Name: "stats", Usage: "show outcomes and what each policy would keep, beside the paper's counts", ArgsUsage: "[FILE]",
		Description: "  hgld scrape stats                 for the project's tags.jsonl\n  hgld scrape stats --json old.jsonl",
		Flags:       commonFlags(),
		Action:      action(runScrapeStats),
	}
}

// runScrapeStats is `hgld scrape stats`.
func runScrapeStats(c *cli.Context, j *job) error {
	s, err := scrapeStage().Load(j.project, nil)
	if err != nil {
		return err
	}
	path := s.Out
	switch len(j.args) {
	case 0:
	case 1:
		path = j.args[0]
	default:
		return usagef("scrape stats takes one file; got %d", len(j.args))
	}
	records, err := labels.OpenTags(path)
	if errors.As(err, new(*fs.PathError)) {
		err = withHint(err, "`hgld scrape run` creates it")
	}
	if err != nil {
		return err
	}
	stats := scrape.NewStats(records)
	if j.json {
		return writeJSON(j, stats)
	}
	for _, split := range stats.Splits {
		for _, p := range split.Populations {
			j.print("%s, %s: %s, %d with several values\n", split.Split, p.Name, count(p.Landmarks, "landmark"), p.Several)
			printOutcomes(j, p.Outcomes)
			for _, kept := range p.Kept {
				j.print("  %7d  kept by the policy %s (%.1f %%)\n", kept.Kept, kept.Policy,
					100*float64(kept.Kept)/float64(p.Landmarks))
			}
		}
		if split.PaperTagged > 0 {
			j.print("  %7d  kept by the paper, of %d (%.1f %%)\n", split.PaperTagged, split.PaperLandmarks,
				100*float64(split.PaperTagged)/float64(split.PaperLandmarks))
		}
	}
	return nil
}

// printOutcomes prints counts in the order of labels.Outcomes.
func printOutcomes(j *job, outcomes map[labels.Outcome]int) {
	for _, o := range slices.SortedFunc(maps.Keys(outcomes), func(a, b labels.Outcome) int {
		return slices.Index(labels.Outcomes, a) - slices.Index(labels.Outcomes, b)
	}) {
		j.print("  %7d  %s\n", outcomes[o], o)
	}
}

func scrapeVerifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "check that state, stored responses and tags.jsonl agree",
		Description: "  hgld scrape verify          reads and hashes every response; changes nothing",
		Flags:       append(flagsOf(scrapeStage().Defaults()), append(commonFlags(), overrideFlag())...),
		Action:      action(runScrapeVerify),
	}
}

// runScrapeVerify is `hgld scrape verify`.
func runScrapeVerify(c *cli.Context, j *job) error {
	s, err := scrapeStage().Load(j.project, c)
	if err != nil {
		return err
	}
	cfg, err := offlineConfig(j, s)
	if err != nil {
		return err
	}
	v, err := scrape.Verify(j.ctx, cfg)
	if err != nil {
		return scrapeError(s, err)
	}
	if j.json {
		if err := writeJSON(j, v); err != nil {
			return err
		}
	} else {
		j.print("%s, %s and %s compared", count(v.Responses, "response"), count(v.Facts, "fact"), count(v.Titles, "finding"))
		if v.Again > 0 {
			j.print("; %d to be fetched again", v.Again)
		}
		j.print("\n")
		for i, problem := range v.Problems {
			if i == 20 {
				j.print("  … and %d more; --json lists them\n", len(v.Problems)-i)
				break
			}
			j.print("  %s\n", problem)
		}
	}
	if len(v.Problems) > 0 {
		return withCode(exitIntegrity, fmt.Errorf("%s: %s found", s.State, count(len(v.Problems), "problem")))
	}
	return nil
}
