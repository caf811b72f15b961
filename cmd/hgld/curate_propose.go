package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/urfave/cli/v2"

	"hgld/cluster/space"
	"hgld/curate"
	"hgld/curate/serve"
)

func curateProposeCommand() *cli.Command {
	return &cli.Command{
		Name: "propose", Usage: "propose a group for every open tag, or kinds for groups; decides nothing",
		Description: "  hgld curate propose --dry-run                how many tags would be proposed, by group\n" +
			"  hgld curate propose --min-margin 0.1         one edit; then review it on the page or with `hgld curate review`\n" +
			"  hgld curate propose --kinds kinds.csv        a table of groups and kinds; change it where it is wrong\n" +
			"  hgld curate import kinds.csv                 set these kinds\n" +
			"  hgld curate propose --allow-command --command 'python model.py'   ask another program for groups\n\n" +
			"--kinds proposes for each group without a kind the kind of the groups with the most similar Wikidata\n" +
			"classes. If no group has a kind yet, it proposes at most -k classes of Wikidata. With --dry-run, it prints\n" +
			"the table.",
		Flags: append(appendFlags(
			&cli.Float64Flag{Name: "min-margin", Value: 0.05,
				Usage: "minimum lead of the best group over the second best, in score"},
			&cli.StringFlag{Name: "kinds", Usage: "write proposed kinds of groups to `FILE` (.csv), and propose no groups"},
			&cli.IntFlag{Name: "k", Value: 5, Usage: "with --kinds, if no group has a kind yet: at most so many classes"},
			&cli.StringFlag{Name: "command", Usage: "ask `PROGRAM` for a group of every open tag (docs/curation-formats.md)"},
			commandFlag(),
		), replaceFlag()),
		Action: actionWithArgs(0, 0, "no arguments", func(c *cli.Context, j *job) error {
			if c.IsSet("kinds") {
				return proposeKinds(c, j)
			}
			if c.IsSet("command") {
				return proposeByCommand(c, j)
			}
			return withLog(c, j, !c.Bool("dry-run"), func(l *openedLog) error {
				parts, err := planPropose(c, j, l.curation, l.session)
				if err != nil {
					return err
				}
				return editProposals(j, l, curate.Propose, parts)
			})
		}),
	}
}

func curateReviewCommand() *cli.Command {
	return &cli.Command{
		Name: "review", Usage: "list the open proposals; confirm or withdraw them",
		Description: "  hgld curate review                           the open proposals, by group\n" +
			"  hgld curate review --confirm all             put all proposed tags into their groups, in one edit\n" +
			"  hgld curate review --confirm church --confirm lake   only the proposals for these groups\n" +
			"  hgld curate review --withdraw church         withdraw proposals: the tags return to where they were",
		Flags: appendFlags(
			&cli.StringSliceFlag{Name: "confirm", Usage: "confirm the proposals for the group `GROUP`, or all; repeatable"},
			&cli.StringSliceFlag{Name: "withdraw", Usage: "withdraw the proposals for the group `GROUP`, or all; repeatable"},
		),
		Action: actionWithArgs(0, 0, "no arguments", func(c *cli.Context, j *job) error {
			op := curate.Confirm
			switch confirm, withdraw := c.IsSet("confirm"), c.IsSet("withdraw"); {
			case confirm && withdraw:
				return usagef("choose one of --confirm and --withdraw")
			case !confirm && !withdraw:
				return withLog(c, j, false, func(l *openedLog) error { return listProposals(j, l) })
			case withdraw:
				op = curate.Withdraw
			}
			return withLog(c, j, !c.Bool("dry-run"), func(l *openedLog) error {
				parts, err := chosenProposals(l.session, c.StringSlice(string(op)))
				if err != nil {
					return err
				}
				return editProposals(j, l, op, parts)
			})
		}),
	}
}

// everyGroup stands for all groups that tags are proposed for.
const everyGroup = "all"

// chosenProposals returns the open proposals for some groups, or for all.
func chosenProposals(s *curate.Session, groups []string) ([]curate.Part, error) {
	all := slices.Contains(groups, everyGroup)
	if all {
		groups = nil
	}
	parts, err := s.ProposedParts(groups)
	if err != nil {
		err = withHint(withCode(exitUsage, err), "`hgld curate review` lists what is proposed")
	}
	if len(parts) > 1 && all && slices.ContainsFunc(parts, func(p curate.Part) bool { return p.To == everyGroup }) {
		return nil, usagef("a group is called %.80q: name each of the %d groups", everyGroup, len(parts))
	}
	return parts, err
}

// listProposals lists the open proposals.
func listProposals(j *job, l *openedLog) error {
	parts, err := l.session.ProposedParts(nil)
	if err != nil {
		return err
	}
	n, undecided := curate.Members(parts), len(l.session.Undecided())
	if j.json {
		return writeJSON(j, map[string]any{"log": l.path, "tags": n, "parts": parts, "written": false, "proposed": n,
			"undecided": undecided})
	}
	j.print("%s%s: %d undecided%s\n", curate.PartsText(parts), l.path, undecided, curate.ProposedText(n))
	return nil
}

// appendFlags are the flags of a command that appends one edit to a log.
func appendFlags(more ...cli.Flag) []cli.Flag {
	return append(append(commonFlags(),
		&cli.StringFlag{Name: "draft", Usage: "draft of the tags (default: the project's)"},
		&cli.StringFlag{Name: "log", Usage: "log to append to (default: the project's, or its adjudicator's)"},
		&cli.StringFlag{Name: "by", Usage: "who decided (default: the log's curator)"},
		dryRunFlag()), more...)
}

// openedLog is the log that a command appends an edit to.
type openedLog struct {
	path     string
	curation *curate.Curation
	session  *curate.Session

	by   string                  // author of the edit
	save func(curate.Edit) error // nil in a dry run
}

// add makes an edit, unless this is a dry run.
func (l *openedLog) add(e curate.Edit) error {
	if l.save == nil {
		return nil
	}
	e.Base, e.At, e.By = l.session.Version(), editTime(), l.by
	_, err := l.session.Apply(e, l.save)
	return logError(err)
}

// withLog opens the log of --log or the project, for writing if write, and replays it on its draft.
func withLog(c *cli.Context, j *job, write bool, run func(*openedLog) error) (err error) {
	draft, _, err := curateFiles(c, j)
	if err != nil {
		return err
	}
	path, err := chosenLog(c, j)
	if err != nil {
		return err
	}
	l := &openedLog{path: path}
	sayAdjudicated(j, path)
	if write {
		log, _, openErr := curate.OpenLog(path)
		if openErr != nil {
			return logError(openErr)
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		l.save = log.Append
	}
	logs, err := logsUnder(j, path)
	if err != nil {
		return err
	}
	if l.curation, err = readCuration(j, draft, logs); err != nil {
		return err
	}
	own := l.curation.Logs[len(logs)-1]
	if !l.curation.Own(own) {
		return withHint(fmt.Errorf("%s was made for a draft other than %s", path, draft),
			"`hgld curate apply --on-conflict skip` replays the log on this draft")
	}
	if l.session, err = l.curation.Replay(curate.Stop); err != nil {
		return logError(err)
	}
	l.by = cmp.Or(c.String("by"), own.Contents.Curator())
	return run(l)
}

// editProposals makes an edit of proposals, unless this is a dry run or there is nothing to do, and reports it.
func editProposals(j *job, l *openedLog, op curate.Op, parts []curate.Part) error {
	if len(parts) > 0 {
		e := curate.Edit{Op: op, Parts: parts}
		if op == curate.Withdraw {
			e.Parts, e.From = nil, curate.Refs(parts)
		}
		if err := l.add(e); err != nil {
			return err
		}
	}
	return reportProposal(j, l.path, op, parts, l.session, l.save == nil)
}

// planPropose plans proposals for the open tags whose best group leads by --min-margin.
func planPropose(c *cli.Context, j *job, f *curate.Curation, s *curate.Session) ([]curate.Part, error) {
	draft, _, err := curateFiles(c, j)
	if err != nil {
		return nil, err
	}
	near, err := space.Open(vectorsBeside(draft, f.Draft), draft, f.Draft)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, withHint(err, "a proposal needs the vectors of the draft, in its folder")
	}
	if err != nil {
		return nil, vectorsHint(err, besideDraft)
	}
	namer, err := serveNamer(j, f.Draft)
	if err != nil {
		return nil, err
	}
	return serve.OfferParts(j.ctx, s, near, namer, c.Float64("min-margin"))
}

// reportProposal prints, by group, what was done or would be done.
func reportProposal(j *job, path string, op curate.Op, parts []curate.Part, s *curate.Session, dry bool) error {
	n, proposed, undecided := curate.Members(parts), len(s.Proposed()), len(s.Undecided())
	if j.json {
		return writeJSON(j, map[string]any{"log": path, "op": op, "tags": n, "parts": parts, "written": !dry && n > 0,
			"proposed": proposed, "undecided": undecided})
	}
	j.print("%s", curate.PartsText(parts))
	switch {
	case n == 0:
		j.print("%s: nothing to %s; %d undecided%s\n", path, op, undecided, curate.ProposedText(proposed))
	case dry:
		j.log("%s of %s would be one edit of %s", count(n, "tag"), count(len(parts), "group"), path)
	default:
		j.print("%s: %s: %s of %s; %d undecided%s\n", path, op, count(n, "tag"), count(len(parts), "group"), undecided,
			curate.ProposedText(proposed))
	}
	return nil
}
