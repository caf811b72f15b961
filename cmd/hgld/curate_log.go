package main

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/internal/terminal"
)

func curateLogCommand() *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "list the edits of a log", ArgsUsage: "LOG",
		Description: "  hgld curate log edits.jsonl               one edit per line\n" +
			"  hgld curate log --stats edits.jsonl       what each curator did on each day\n" +
			"  hgld curate log --snapshots edits.jsonl   states with a name, which the page and hgld curate snapshot make\n" +
			"  hgld curate log --compare lunch edits.jsonl   the labels that differ now from the snapshot lunch\n" +
			"  hgld curate log --compare lunch --compare dinner edits.jsonl   those that differ between two\n" +
			"  hgld curate log --json edits.jsonl        the edits as stored, after checking them",
		Flags: append(commonFlags(),
			&cli.BoolFlag{Name: "stats",
				Usage: "count the edits and the decided tags by day and curator, in place of listing them"},
			&cli.BoolFlag{Name: "snapshots", Usage: "list the snapshots in place of the edits"},
			&cli.StringSliceFlag{Name: "compare",
				Usage: "`NAME` of a snapshot: list the tags that differ from it now; twice: from one to the other"},
			&cli.StringFlag{Name: "draft", Usage: "draft of the tags, for --compare (default: the project's)"}),
		Action: actionWithArgs(1, 1, "one log of edits", runCurateLog),
	}
}

// runCurateLog is `hgld curate log`.
func runCurateLog(c *cli.Context, j *job) error {
	path := j.args[0]
	log, err := curate.ReadLog(path)
	if err != nil {
		return logError(err)
	}
	h := log.Header
	j.say("%s: %s by %s on %s (sha256 %.12s…), levels %s", path, count(len(log.Edits), "edit"), orUnknown(h.By),
		orUnknown(h.Draft), h.DraftSHA256, strings.Join(h.Levels, " < "))
	if log.Torn != nil {
		j.say("%v", log.Torn)
	}
	chosen := 0
	for _, flag := range []string{"stats", "snapshots", "compare"} {
		if c.IsSet(flag) {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return usagef("choose one of --stats, --snapshots and --compare")
	case c.IsSet("draft") && !c.IsSet("compare"):
		return usagef("--draft is for --compare; a list of edits needs no draft")
	case c.IsSet("compare"):
		return compareSnapshots(c, j, log.Edits)
	case c.Bool("snapshots"):
		list := curate.Snapshots(log.Edits)
		return j.show(map[string]any{"log": path, "snapshots": list}, curate.SnapshotsText(list))
	case c.Bool("stats"):
		list := curate.Statistics(log.Edits, time.Local)
		return j.show(map[string]any{"log": path, "days": list}, curate.StatisticsText(list))
	}
	return listEdits(j, log.Edits)
}

// listEdits prints the edits of a log, as JSON lines or as text.
func listEdits(j *job, edits []curate.Edit) error {
	if j.json {
		for _, e := range edits {
			line, err := e.MarshalJSON()
			if err != nil {
				return err
			}
			j.print("%s\n", terminal.VisibleJSON(line))
		}
		return nil
	}
	holds := curate.Active(edits)
	for i, e := range edits {
		mark := ""
		if !holds[i] {
			mark = "  [reverted]"
		}
		j.print("%4d  %s  %s  %s%s\n", e.Seq, e.At.UTC().Format("2006-01-02 15:04:05"), orUnknown(e.By), e.Text(), mark)
	}
	return nil
}

func orUnknown(s string) string {
	if s == "" {
		return "(unknown)"
	}
	return s
}
