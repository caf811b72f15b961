package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/internal/registry"
	"hgld/internal/terminal"
)

// snapshotNamed finds a snapshot of a log by its name, or by "#" and its number. A name that several have is an error.
func snapshotNamed(path string, edits []curate.Edit, name string) (curate.Named, error) {
	list := curate.Snapshots(edits)
	var names, numbers []string
	var found curate.Named
	for _, s := range list {
		if names = append(names, s.Name); s.Name == name {
			found, numbers = s, append(numbers, fmt.Sprintf("#%d", s.Seq))
		}
	}
	if len(numbers) > 1 {
		return found, usagef("%s has %d snapshots %.80q; give the number of one instead: %s", path, len(numbers), name,
			strings.Join(numbers, ", "))
	}
	if number, isNumber := strings.CutPrefix(name, "#"); len(numbers) == 0 && isNumber {
		seq, err := strconv.Atoi(number)
		if at := slices.IndexFunc(list, func(s curate.Named) bool { return s.Seq == seq }); err == nil && at >= 0 {
			return list[at], nil
		}
	}
	if len(numbers) == 0 {
		return found, withHint(withCode(exitUsage, registry.Unknown("snapshot", name, names)),
			"`hgld curate snapshot --log %s` lists them; with a name, or by `P` on the page, it makes one", word(path))
	}
	return found, nil
}

// changedTag is a tag that differs between two states, for --json.
type changedTag struct {
	curate.TagChange
	Name      string `json:"name"`
	QID       string `json:"qid,omitempty"`
	Landmarks int    `json:"landmarks"`
}

// changedTags names the tags of changes.
func changedTags(s *curate.Session, changes []curate.TagChange) []changedTag {
	list := make([]changedTag, len(changes))
	for i, x := range changes {
		t := s.Tag(x.Tag)
		list[i] = changedTag{TagChange: x, Name: t.Name, QID: t.QID, Landmarks: t.Landmarks}
	}
	return list
}

// compareSnapshots is `hgld curate log --compare`.
func compareSnapshots(c *cli.Context, j *job, edits []curate.Edit) error {
	path, names := j.args[0], c.StringSlice("compare")
	if len(names) > 2 {
		return usagef("--compare takes one snapshot or two; got %d", len(names))
	}
	now := curate.Named{Seq: len(edits)}
	ends := []curate.Named{now, now}
	for k, name := range names {
		var err error
		if ends[k], err = snapshotNamed(path, edits, name); err != nil {
			return err
		}
	}
	draft, _, err := curateFiles(c, j)
	if err != nil {
		return err
	}
	logs, err := logsUnder(j, path)
	if err != nil {
		return err
	}
	f, err := readCuration(j, draft, logs)
	if err != nil {
		return err
	}
	session, err := f.Replay(curate.Skip)
	if err != nil {
		return logError(err)
	}
	changes, err := session.ChangesBetween(ends[0].Seq, ends[1].Seq)
	if err != nil {
		return err
	}
	details, err := session.DetailsBetween(ends[0].Seq, ends[1].Seq)
	if err != nil {
		return err
	}
	to, result := "now", map[string]any{"log": path, "from": ends[0], "to": nil, "changes": changedTags(session, changes),
		"details": details}
	if len(names) == 2 {
		to, result["to"] = stateText(ends[1]), ends[1]
	}
	return j.show(result, fmt.Sprintf("%s between %s and %s (landmarks, tag, then, now)\n%s",
		terminal.Count(len(changes), "difference"), stateText(ends[0]), to, session.ChangesText(changes))+
		detailsText(session, details))
}

// detailsText lists details below their number, "" for none.
func detailsText(s *curate.Session, details []curate.Detail) string {
	if len(details) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of names, parents, notes, flags or reasons (then, now)\n%s",
		terminal.Count(len(details), "difference"), s.DetailsText(details))
}

// stateText names a snapshot and the edit that made it.
func stateText(s curate.Named) string { return fmt.Sprintf("%.80q (edit %d)", s.Name, s.Seq) }

func curateSnapshotCommand() *cli.Command {
	return &cli.Command{
		Name: "snapshot", Usage: "list the named states of a log, name the present one, or restore one", ArgsUsage: "[NAME]",
		Description: "  hgld curate snapshot                         the snapshots of the log\n" +
			"  hgld curate snapshot lunch                   name this state, by one edit; `P` on the page does the same\n" +
			"  hgld curate log --compare lunch edits.jsonl  what differs now\n" +
			"  hgld curate snapshot --restore lunch --dry-run   the tags that would change\n" +
			"  hgld curate snapshot --restore lunch         restore it, by one edit; the later edits stay in the log\n" +
			"  hgld curate snapshot --restore '#12'         the snapshot of edit 12",
		Flags: appendFlags(&cli.StringFlag{Name: "restore", Usage: "`NAME` of the snapshot to restore"}),
		Action: actionWithArgs(0, 1, "the name of a snapshot", func(c *cli.Context, j *job) error {
			if !c.IsSet("restore") {
				return runCurateSnapshot(c, j)
			}
			if len(j.args) > 0 {
				return usagef("--restore names the snapshot; got the argument %.80q as well", j.args[0])
			}
			return withLog(c, j, !c.Bool("dry-run"), func(l *openedLog) error { return restore(j, l, c.String("restore")) })
		}),
	}
}

// runCurateSnapshot is `hgld curate snapshot`.
func runCurateSnapshot(c *cli.Context, j *job) error {
	if len(j.args) == 0 {
		path, err := chosenLog(c, j)
		if err != nil {
			return err
		}
		log, err := curate.ReadLog(path)
		if err != nil {
			return logError(err)
		}
		list := curate.Snapshots(log.Edits)
		return j.show(map[string]any{"log": path, "snapshots": list}, curate.SnapshotsText(list))
	}
	name := j.args[0]
	if strings.TrimSpace(name) == "" {
		return usagef("the name of a snapshot is empty")
	}
	return withLog(c, j, !c.Bool("dry-run"), func(l *openedLog) error {
		for _, s := range curate.Snapshots(l.session.Edits()) {
			if s.Name == name {
				return usagef("%s has a snapshot %s already; give this state another name", l.path, stateText(s))
			}
		}
		if err := l.add(curate.Edit{Op: curate.Snapshot, Note: name}); err != nil {
			return err
		}
		if l.save == nil {
			j.log("%.80q would be a snapshot of %s, after %s", name, l.path, count(l.session.Version(), "edit"))
			return j.show(map[string]any{"log": l.path, "snapshot": nil}, "")
		}
		list := curate.Snapshots(l.session.Edits())
		made := list[len(list)-1]
		text := fmt.Sprintf("%s: this state is called %s; %s in force\n", l.path, stateText(made), count(made.Edits, "edit"))
		return j.show(map[string]any{"log": l.path, "snapshot": made}, text)
	})
}

// restore brings back the state of a snapshot, unless this is a dry run.
func restore(j *job, l *openedLog, name string) error {
	edits := l.session.Edits()
	to, err := snapshotNamed(l.path, edits, name)
	if err != nil {
		return err
	}
	changes, err := l.session.ChangesBetween(len(edits), to.Seq)
	if err != nil {
		return err
	}
	details, err := l.session.DetailsBetween(len(edits), to.Seq)
	if err != nil {
		return err
	}
	lost, back := curate.RestoreEffect(edits, to.Seq)
	differs, written := lost+back > 0, l.save != nil
	if differs {
		if err := l.add(curate.Edit{Op: curate.Restore, Of: to.Seq, Note: to.Name}); err != nil {
			return err
		}
	}
	if j.json {
		return writeJSON(j, map[string]any{"log": l.path, "snapshot": to, "changes": changedTags(l.session, changes),
			"details": details, "edits_out": lost, "edits_back": back, "written": written && differs})
	}
	if !differs {
		j.print("%s: nothing to restore: the state is that of %s\n", l.path, stateText(to))
		return nil
	}
	j.print("%s%s", l.session.ChangesText(changes), detailsText(l.session, details))
	effect := fmt.Sprintf("%s; %s out of force, %d back in force", count(len(changes), "tag"), count(lost, "edit"), back)
	if written {
		j.print("%s: restore %s: %s\n", l.path, stateText(to), effect)
	} else {
		j.log("restoring %s would be one edit of %s: %s", stateText(to), l.path, effect)
	}
	return nil
}
