package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"github.com/urfave/cli/v2"

	"hgld/cluster"
	"hgld/curate"
	"hgld/curate/format"
	"hgld/internal/atomicfile"
	"hgld/internal/pipeline"
	"hgld/internal/usage"
)

// proposedKind is a kind for a group.
type proposedKind struct {
	format.ListedGroup
	Score float64 `json:"score"`
}

// proposeKinds is `hgld curate propose --kinds`.
func proposeKinds(c *cli.Context, j *job) error {
	if c.Int("k") < 2 {
		return usagef("-k is %d; want two kinds or more", c.Int("k"))
	}
	draft, _, err := curateFiles(c, j)
	if err != nil {
		return err
	}
	log, err := chosenLog(c, j)
	if err != nil {
		return err
	}
	scraped, err := scrapeStage().Load(j.project, nil)
	if err != nil {
		return err
	}
	out := c.String("kinds")
	if out == "" {
		return usagef("--kinds is empty; want the name of a file")
	}
	in := []string{draft, log, scraped.Items}
	if err := j.checkOutputs("curate propose", in, pipeline.Output{Path: out, Kind: kindForeign}); err != nil {
		return err
	}
	session, err := curatedOrDraft(c, j, draft, log)
	if err != nil {
		return err
	}
	items, err := readClassItems(scraped.Items)
	if err != nil {
		return err
	}
	of, groups := session.TagGroups()
	kinds, open := make([]string, len(groups)), 0
	for g, group := range groups {
		if kinds[g] = group.Kind; group.Kind == "" {
			open++
		}
	}
	list, err := cluster.ProposeParents(session.Draft().Tags, items, of, kinds, c.Int("k"))
	if err != nil {
		if errors.As(err, new(*usage.Error)) {
			err = withHint(withCode(exitUsage, err), "tags of the API route have items: `hgld scrape run --source api`")
		}
		return err
	}
	shown, rows := []proposedKind{}, []format.ListedGroup{}
	for _, p := range list {
		row := format.ListedGroup{Name: groups[p.Group].Name, Parent: p.Parent, Landmarks: groups[p.Group].Landmarks}
		shown, rows = append(shown, proposedKind{row, p.Score}), append(rows, row)
	}
	var b bytes.Buffer
	if err := format.WriteGroupList(&b, rows); err != nil {
		return err
	}
	j.log("%d of %s without a kind have a proposal", len(list), count(open, "group"))
	if c.Bool("dry-run") {
		return j.show(map[string]any{"proposals": shown, "open": open}, b.String())
	}
	if err := atomicfile.WriteFile(out, b.Bytes()); err != nil {
		return err
	}
	return j.show(map[string]any{"proposals": shown, "open": open, "out": out},
		out+" written; `hgld curate import "+word(out)+"` sets these kinds\n")
}

// curatedOrDraft replays a log on a draft. Unless --log names the log, it need not exist: the groups are then the
// clusters.
func curatedOrDraft(c *cli.Context, j *job, draft, log string) (*curate.Session, error) {
	if _, err := os.Stat(log); !c.IsSet("log") && errors.Is(err, fs.ErrNotExist) {
		j.log("%s does not exist yet: the groups are the clusters of %s", log, draft)
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
