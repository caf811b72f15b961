package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v2"

	"hgld/labels"
	"hgld/scrape"
)

func scrapeStatsCommand() *cli.Command {
	return &cli.Command{
		Name: "stats", Usage: "count outcomes, and tags by policy, next to the paper's counts", ArgsUsage: "[FILE]",
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
	return j.show(stats, stats.Text())
}

func scrapeVerifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "check that state, stored responses and tags.jsonl agree",
		Description: "  hgld scrape verify          read and hash every response; change nothing",
		Flags:       append(flagsOf(scrapeStage().Defaults()), append(commonFlags(), overrideFlag())...),
		Action:      action(runScrapeVerify),
	}
}

// runScrapeVerify is `hgld scrape verify`.
func runScrapeVerify(c *cli.Context, j *job) error {
	s, err := scrapeStage().Recall(j.project, c)
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
	if err := j.show(v, v.Text(20, "--json lists them")); err != nil {
		return err
	}
	if len(v.Problems) > 0 {
		err := withCode(exitIntegrity, fmt.Errorf("%s: %s found", s.State, count(len(v.Problems), "problem")))
		if v.Derived {
			err = withHint(err, "`hgld scrape run --reparse` rebuilds facts, findings and tags from the stored responses")
		}
		return err
	}
	return nil
}
