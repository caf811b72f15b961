package main

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"hgld/cluster"
	"hgld/curate"
	"hgld/curate/format"
	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
)

func curateParentsCommand() *cli.Command {
	return &cli.Command{
		Name: "parents", Usage: "propose kinds of groups by Wikidata's classes, as a table to import", ArgsUsage: "[OUT]",
		Description: "  hgld curate parents                     to stdout\n" +
			"  hgld curate parents parents.csv         a table of groups and kinds; change it where it is wrong\n" +
			"  hgld curate import parents.csv          set these kinds\n\n" +
			"Once some groups have a kind, the others get that of the groups with the most similar classes. Before, --k\n" +
			"classes of Wikidata are proposed as kinds. Nothing is decided.",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "draft", Usage: "draft that is curated (default: the project's)"},
			&cli.StringFlag{Name: "log", Usage: "log of edits (default: the project's, or its adjudicator's)"},
			&cli.StringFlag{Name: "items", Usage: "items.jsonl of stage 1 (default: the project's)"},
			&cli.IntFlag{Name: "k", Value: 5, Usage: "if no group has a kind yet: at most so many classes"},
			replaceFlag()),
		Action: actionWithArgs(0, 1, "a file to write", runCurateParents),
	}
}

// proposedKind is a kind for a group.
type proposedKind struct {
	format.ListedGroup
	Score float64 `json:"score"`
}

func runCurateParents(c *cli.Context, j *job) error {
	if c.Int("k") < 2 {
		return usagef("--k is %d; want two kinds or more", c.Int("k"))
	}
	draft, _, err := curateFiles(c, j)
	if err != nil {
		return err
	}
	log, err := chosenLog(c, j)
	if err != nil {
		return err
	}
	clusters, err := clusterStage().Load(j.project, nil)
	if err != nil {
		return err
	}
	if len(j.args) == 1 {
		in := []string{draft, log, c.String("items"), clusters.Items}
		if err := j.checkOutputs("curate parents", in, pipeline.Output{Path: j.args[0], Kind: kindForeign}); err != nil {
			return err
		}
	}
	session, err := curatedOrDraft(c, j, draft, log)
	if err != nil {
		return err
	}
	items, err := readClassItems(cmp.Or(c.String("items"), clusters.Items))
	if err != nil {
		return err
	}
	of, groups := groupsOf(session)
	list, err := cluster.ProposeParents(session.Draft().Tags, items, of, groups.parents, c.Int("k"))
	if err != nil {
		if errors.As(err, new(*cluster.OptionError)) {
			err = withHint(withCode(exitUsage, err), "tags of the API route have items: `hgld scrape run --source api`")
		}
		return err
	}
	return groups.write(j, list)
}

// curatedOrDraft replays a log on a draft. Unless --log names the log, it need not exist: the groups are then the
// clusters.
func curatedOrDraft(c *cli.Context, j *job, draft, log string) (*curate.Session, error) {
	if _, err := os.Stat(log); !c.IsSet("log") && errors.Is(err, fs.ErrNotExist) {
		j.say("%s does not exist yet: the groups are the clusters of %s", log, draft)
		f, err := openDraft(draft)
		if err != nil {
			return nil, err
		}
		return f.Replay(curate.Skip)
	}
	logs, err := logsUnder(j, log)
	if err != nil {
		return nil, err
	}
	f, err := readCuration(j, draft, logs)
	if err != nil {
		return nil, err
	}
	session, err := f.Replay(curate.Skip)
	return session, logError(err)
}

// groupsOfTags are the groups of a session that have tags, by number.
type groupsOfTags struct {
	names, parents []string
	landmarks      []int
}

// groupsOf returns the group of each tag, −1 for none, and the groups.
func groupsOf(s *curate.Session) (of []int32, g *groupsOfTags) {
	g = &groupsOfTags{}
	number := map[int]int32{}
	for i, tag := range s.Draft().Tags {
		n := s.Node(0, i)
		if n.Parent < 0 || n.Dropped {
			of = append(of, -1)
			continue
		}
		at, known := number[n.Parent]
		if !known {
			at = int32(len(g.names))
			number[n.Parent] = at
			group, kind := s.Node(1, n.Parent), ""
			if group.Parent >= 0 {
				kind = s.Node(2, group.Parent).Name
			}
			g.names, g.parents, g.landmarks = append(g.names, group.Name), append(g.parents, kind), append(g.landmarks, 0)
		}
		g.landmarks[at] += tag.Landmarks
		of = append(of, at)
	}
	return of, g
}

// write prints the proposals, and writes them as a list of groups.
func (g *groupsOfTags) write(j *job, list []cluster.ParentProposal) error {
	shown, rows := []proposedKind{}, []format.ListedGroup{}
	for _, p := range list {
		row := format.ListedGroup{Name: g.names[p.Group], Parent: p.Parent, Landmarks: g.landmarks[p.Group]}
		shown, rows = append(shown, proposedKind{row, p.Score}), append(rows, row)
	}
	var b bytes.Buffer
	if err := format.WriteGroupList(&b, rows); err != nil {
		return err
	}
	open := 0
	for _, name := range g.parents {
		if name == "" {
			open++
		}
	}
	j.say("%d of %s without a kind have a proposal", len(list), count(open, "group"))
	if len(j.args) == 0 {
		return j.show(map[string]any{"proposals": shown, "open": open}, b.String())
	}
	if err := atomicfile.WriteFile(j.args[0], b.Bytes()); err != nil {
		return err
	}
	return j.show(map[string]any{"proposals": shown, "open": open, "out": j.args[0]},
		j.args[0]+" written; `hgld curate import "+word(j.args[0])+"` sets these kinds\n")
}
