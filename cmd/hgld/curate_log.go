package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/internal/terminal"
)

func curateLogCommand() *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "list, count or compare the edits of a log; save the edits before a damage", ArgsUsage: "LOG",
		Description: "  hgld curate log edits.jsonl               one edit per line\n" +
			"  hgld curate log --stats edits.jsonl       what each curator did on each day\n" +
			"  hgld curate log --compare lunch edits.jsonl   the tags that differ now from the snapshot lunch\n" +
			"  hgld curate log --compare lunch --compare dinner edits.jsonl   the tags that differ between two snapshots\n" +
			"  hgld curate log --salvage sound.jsonl edits.jsonl   copy the edits before the damage in a log to a new log\n" +
			"  hgld curate log --json edits.jsonl        the edits as stored, after checking them",
		Flags: append(commonFlags(),
			&cli.BoolFlag{Name: "stats", Usage: "count the edits and the decided tags by day and curator"},
			&cli.StringSliceFlag{Name: "compare",
				Usage: "`NAME` of a snapshot: list the tags that differ from it now; twice: from one to the other"},
			&cli.StringFlag{Name: "draft", Usage: "draft of the tags, for --compare (default: the project's)"},
			&cli.StringFlag{Name: "salvage", Usage: "`NEW` log for the edits before the damage; \"\": LOG.salvaged.jsonl. The " +
				"damaged log stays unchanged"}),
		Action: actionWithArgs(1, 1, "one log of edits", runCurateLog),
	}
}

// runCurateLog is `hgld curate log`.
func runCurateLog(c *cli.Context, j *job) error {
	path, chosen := j.args[0], 0
	for _, flag := range []string{"stats", "compare", "salvage"} {
		if c.IsSet(flag) {
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return usagef("choose one of --stats, --compare and --salvage")
	case c.IsSet("draft") && !c.IsSet("compare"):
		return usagef("--draft is for --compare; the rest needs no draft")
	case c.IsSet("salvage"):
		ext := filepath.Ext(path)
		return salvage(j, path, cmp.Or(c.String("salvage"), strings.TrimSuffix(path, ext)+".salvaged"+ext))
	}
	log, err := curate.ReadLog(path)
	if err != nil {
		return logError(err)
	}
	h := log.Header
	j.log("%s: %s by %s on %s (sha256 %.12s…), levels %s", path, count(len(log.Edits), "edit"), orUnknown(h.By),
		orUnknown(h.Draft), h.DraftSHA256, strings.Join(h.Levels, " < "))
	if log.Torn != nil {
		j.log("%v", log.Torn)
	}
	switch {
	case c.IsSet("compare"):
		return compareSnapshots(c, j, log.Edits)
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

// salvage is `hgld curate log --salvage`. It returns exit code 3 if edits are lost.
func salvage(j *job, from, to string) error {
	s, err := curate.Salvage(from, to)
	var damage *curate.DamageError
	switch {
	case errors.As(err, &damage):
		return withHint(err,
			"no edit can be kept without the header, which names the draft: restore the log from a backup")
	case errors.Is(err, fs.ErrExist):
		return withHint(err, "name another file after %s", filepath.Base(from))
	case err != nil:
		return logError(err)
	}
	edits := count(len(s.Edits), "edit")
	if j.json {
		result := map[string]any{"log": from, "edits": len(s.Edits), "sound": s.Damage == nil}
		if s.Damage != nil {
			result["new"], result["damage"], result["lines_left_out"] = to, s.Damage.Error(), s.Left
		}
		if err := writeJSON(j, result); err != nil {
			return err
		}
	}
	if s.Damage == nil {
		if !j.json {
			j.print("%s is sound: %s; nothing to salvage\n", from, edits)
		}
		return nil
	}
	if !j.json {
		j.print("%s written: %s; %s left out\n", to, edits, count(s.Left, "line"))
		j.print("continue with it: hgld curate serve --log %s\n", word(to))
	}
	return withCode(exitSomeFailed,
		fmt.Errorf("edit %d and all edits after it could not be kept: %w", len(s.Edits)+1, s.Damage))
}

func orUnknown(s string) string {
	if s == "" {
		return "(unknown)"
	}
	return s
}
