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
		Description: "  hgld curate log edits.jsonl             one edit per line\n" +
			"  hgld curate log --stats edits.jsonl     what each curator did on each day\n" +
			"  hgld curate log --snapshots edits.jsonl states with a name, which the page compares and restores\n" +
			"  hgld curate log --json edits.jsonl      the edits as stored, after checking them",
		Flags: append(commonFlags(),
			&cli.BoolFlag{Name: "stats",
				Usage: "count the edits and the decided tags by day and curator, in place of listing them"},
			&cli.BoolFlag{Name: "snapshots", Usage: "list the snapshots in place of the edits"}),
		Action: actionWithArgs(1, 1, "one log of edits", func(c *cli.Context, j *job) error {
			return runCurateLog(j, j.args[0], c.Bool("stats"), c.Bool("snapshots"))
		}),
	}
}

// runCurateLog is `hgld curate log`.
func runCurateLog(j *job, path string, stats, snapshots bool) error {
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
	if stats && snapshots {
		return usagef("choose one of --stats and --snapshots")
	}
	if snapshots {
		list := curate.Snapshots(log.Edits)
		return j.show(map[string]any{"log": path, "snapshots": list}, curate.SnapshotsText(list))
	}
	if stats {
		list := curate.Statistics(log.Edits, time.Local)
		return j.show(map[string]any{"log": path, "days": list}, curate.StatisticsText(list))
	}
	if j.json {
		for _, e := range log.Edits {
			line, err := e.MarshalJSON()
			if err != nil {
				return err
			}
			j.print("%s\n", terminal.VisibleJSON(line))
		}
		return nil
	}
	holds := curate.Active(log.Edits)
	for i, e := range log.Edits {
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
