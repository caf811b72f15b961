package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/urfave/cli/v2"

	"hgld/labels"
	"hgld/scrape"
)

func scrapeShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "count outcomes, and tags by policy, next to the paper's counts", ArgsUsage: "[FILE]",
		Description: "  hgld scrape show                  the project's tags.jsonl\n  hgld scrape show --json old.jsonl",
		Flags:       commonFlags(),
		Action:      actionWithArgs(0, 1, "one file", runScrapeShow),
	}
}

// runScrapeShow is `hgld scrape show`.
func runScrapeShow(_ *cli.Context, j *job) error {
	s, err := scrapeStage().Load(j.project, nil)
	if err != nil {
		return err
	}
	path := s.Out
	if len(j.args) > 0 {
		path = j.args[0]
	}
	var stats scrape.Stats
	err = labels.EachTag(path, stats.Add)
	if errors.As(err, new(*fs.PathError)) {
		err = withHint(err, "`hgld scrape run` creates it")
	}
	if err != nil {
		return err
	}
	return j.show(stats, stats.Text())
}

func scrapeCheckCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "check that state, stored responses and tags.jsonl agree",
		Description: "  hgld scrape check                   read and hash every response; change nothing\n" +
			"  hgld scrape check -o state=another  another state folder",
		UsageText: overrideOnly("scrape"),
		Flags:     append(commonFlags(), overrideFlag()),
		Action:    action(runScrapeCheck),
	}
}

// runScrapeCheck is `hgld scrape check`.
func runScrapeCheck(c *cli.Context, j *job) error {
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
