package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hgld/cluster/space"
	"hgld/curate"
	"hgld/curate/serve"
)

func curateProposeCommand() *cli.Command {
	return proposalCommand("propose", "propose a group for every open tag, by the nearest name; decides nothing",
		"  hgld curate propose --dry-run                how many tags would be proposed, by group\n"+
			"  hgld curate propose --least 0.1              one edit; review it on the page, then `confirm` or `withdraw`",
		[]cli.Flag{
			&cli.Float64Flag{Name: "least", Value: 0.05,
				Usage: "minimum lead of the nearest name over the second nearest, in cosine similarity"},
			&cli.StringFlag{Name: "vectors", Usage: "`FILE` of the draft's vectors (default: in the draft's folder)"},
		}, planPropose)
}

func curateConfirmCommand() *cli.Command {
	return proposalCommand("confirm", "put proposed tags into their proposed groups",
		"  hgld curate confirm --dry-run                the open proposals, by group\n"+
			"  hgld curate confirm                          confirm all of them, in one edit\n"+
			"  hgld curate confirm --group church --group lake   only the proposals for these groups",
		[]cli.Flag{groupFlag()}, planParts(curate.Confirm))
}

func curateWithdrawCommand() *cli.Command {
	return proposalCommand("withdraw", "withdraw proposals: their tags return to where they were",
		"  hgld curate withdraw                         all of them, in one edit\n"+
			"  hgld curate withdraw --group church          only the proposals for this group",
		[]cli.Flag{groupFlag()}, planParts(curate.Withdraw))
}

func groupFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "group", Usage: "`NAME` of a group; repeat for more (default: all groups)"}
}

// proposalPlan returns the parts of an edit and its operation.
type proposalPlan func(c *cli.Context, j *job, f *curate.Curation, s *curate.Session) (curate.Op, []curate.Part, error)

// proposalCommand returns a command that appends one edit to a log.
func proposalCommand(name, usage, examples string, flags []cli.Flag, plan proposalPlan) *cli.Command {
	return &cli.Command{Name: name, Usage: usage, Description: examples,
		Flags: append(appendFlags("list the tags by group and write nothing"), flags...),
		Action: actionWithArgs(0, 0, "no arguments", func(c *cli.Context, j *job) error {
			return runProposal(c, j, plan)
		})}
}

// appendFlags are those of a command that appends one edit to a log.
func appendFlags(dryRun string) []cli.Flag {
	return append(commonFlags(),
		&cli.StringFlag{Name: "draft", Usage: "draft of the tags (default: the project's)"},
		&cli.StringFlag{Name: "log", Usage: "log to append to (default: the project's, or its adjudicator's)"},
		&cli.StringFlag{Name: "by", Usage: "who decided (default: the log's curator)"},
		&cli.BoolFlag{Name: "dry-run", Usage: dryRun})
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

// withLog opens the log of --log or the project, for writing unless this is a dry run, and replays it on its draft.
func withLog(c *cli.Context, j *job, run func(*openedLog) error) (err error) {
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
	if !c.Bool("dry-run") {
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
	l.by = cmp.Or(c.String("by"), own.Contents.Header.By)
	return run(l)
}

// runProposal makes the planned edit, unless this is a dry run or there is nothing to do.
func runProposal(c *cli.Context, j *job, plan proposalPlan) error {
	return withLog(c, j, func(l *openedLog) error {
		op, parts, err := plan(c, j, l.curation, l.session)
		if err != nil {
			return err
		}
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
	})
}

// planParts plans an edit of the open proposals, for all groups or those of --group.
func planParts(op curate.Op) proposalPlan {
	return func(c *cli.Context, _ *job, _ *curate.Curation, s *curate.Session) (curate.Op, []curate.Part, error) {
		parts, err := s.ProposedParts(c.StringSlice("group"))
		if err != nil {
			err = withHint(withCode(exitUsage, err), "`hgld curate confirm --dry-run` lists what is proposed")
		}
		return op, parts, err
	}
}

// planPropose plans proposals for the open tags whose nearest name leads by --least.
func planPropose(c *cli.Context, j *job, f *curate.Curation, s *curate.Session) (curate.Op, []curate.Part, error) {
	path := c.String("vectors")
	draft, _, err := curateFiles(c, j)
	if err != nil {
		return "", nil, err
	}
	if path == "" && f.Draft.Origin.Vectors != "" {
		path = filepath.Join(filepath.Dir(draft), filepath.Base(f.Draft.Origin.Vectors))
	}
	near, err := space.Open(path, draft, f.Draft)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, withHint(err, "a proposal needs the vectors of the draft; name them with --vectors")
	}
	if err != nil {
		return "", nil, vectorsHint(err)
	}
	namer, err := serveNamer(j, f.Draft)
	if err != nil {
		return "", nil, err
	}
	parts, err := serve.OfferParts(j.ctx, s, near, namer, c.Float64("least"))
	return curate.Propose, parts, err
}

// reportProposal prints, by group, what was done or would be done.
func reportProposal(j *job, path string, op curate.Op, parts []curate.Part, s *curate.Session, dry bool) error {
	n, proposed, undecided := curate.Members(parts), len(s.Proposed()), len(s.Undecided())
	if j.json {
		return writeJSON(j, map[string]any{"log": path, "op": op, "tags": n, "parts": parts, "written": !dry && n > 0,
			"proposed": proposed, "undecided": undecided})
	}
	for _, p := range parts {
		j.print("%6d  %q:%s\n", len(p.Members), p.To, curate.RefsText(p.Members))
	}
	switch {
	case n == 0:
		j.print("%s: nothing to %s; %d undecided%s\n", path, op, undecided, curate.ProposedText(proposed))
	case dry:
		j.say("%s of %s would be one edit of %s", count(n, "tag"), count(len(parts), "group"), path)
	default:
		j.print("%s: %s: %s of %s; %d undecided%s\n", path, op, count(n, "tag"), count(len(parts), "group"), undecided,
			curate.ProposedText(proposed))
	}
	return nil
}
