package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"hgld/curate"
	"hgld/curate/format"
	"hgld/labels"
	"hgld/train/external"
)

// Bounds of a program that suggests groups.
const (
	modelLimit = 10 * time.Minute // without a byte of its answer
	modelMost  = 64 << 20         // bytes of its answer
)

// askedExamples is the number of decided tags that a group is shown with, those with the most landmarks.
const askedExamples = 5

// askedGroup is a group as a line of the question; the one without a name drops its tags.
type askedGroup struct {
	Group    *string  `json:"group"`
	Parent   string   `json:"parent,omitempty"`
	Examples []string `json:"examples"`
}

// askedTag is an open tag as a line of the question.
type askedTag struct {
	Tag       string `json:"tag"`
	QID       string `json:"qid,omitempty"`
	Landmarks int    `json:"landmarks"`
}

// proposeByCommand is `hgld curate propose --command`: another program suggests a group for every open tag. The log is
// locked only once it has answered.
func proposeByCommand(c *cli.Context, j *job) error {
	command := strings.Fields(c.String("command"))
	if len(command) == 0 {
		return usagef("--command is empty; want a program and its arguments")
	}
	if !j.allowCommand {
		return withHint(usagef("--command runs a program, which is not allowed yet: %s", external.Words(command)),
			"review the command, then pass --allow-command")
	}
	var question []byte
	var by, path string
	err := withLog(c, j, false, func(l *openedLog) (err error) {
		by, path = l.by, l.path
		if question, err = questionOf(l.session); err == nil && question == nil {
			return editProposals(j, l, curate.Propose, nil) // which says so
		}
		return err
	})
	if err != nil || question == nil {
		return err
	}
	draft, _, err := curateFiles(c, j)
	if err != nil {
		return err
	}
	j.log("asking %s", external.Words(command))
	answer, err := external.Ask(j.ctx, "the suggestions", command, j.project.Dir, modelLimit, question, modelMost)
	if err != nil {
		return err
	}
	name := "the answer of " + command[0]
	d, err := format.Read(answer, name, "suggestions", labels.ReadOptions{})
	if err != nil {
		return withHint(err, "docs/curation-formats.md shows what the program has to print; the log is as it was")
	}
	j.args = []string{name}
	return importDocument(c, j, d, by, path, draft, curate.Skip)
}

// questionOf asks for a group of every open tag, as JSON lines: first the groups that have a name of their own, with
// examples, then the tags. It is nil if no tag is open.
func questionOf(s *curate.Session) ([]byte, error) {
	tags := s.Unproposed()
	if len(tags) == 0 {
		return nil, nil
	}
	examples := map[int][]int{}
	all := s.Draft().Tags
	for i := range all {
		if n := s.Node(0, i); n.Decided {
			examples[n.Parent] = append(examples[n.Parent], i)
		}
	}
	var b bytes.Buffer
	lines, groups := json.NewEncoder(&b), 0
	write := func(g int, about askedGroup) error {
		of := examples[g]
		slices.SortStableFunc(of, func(x, y int) int { return cmp.Compare(all[y].Landmarks, all[x].Landmarks) })
		about.Examples = []string{}
		for _, i := range of[:min(len(of), askedExamples)] {
			about.Examples = append(about.Examples, all[i].Name)
		}
		return lines.Encode(about)
	}
	for g := range s.Size(1) {
		name := s.OwnName(g)
		if name == "" {
			continue
		}
		groups++
		about := askedGroup{Group: &name}
		if at := s.Node(1, g).Parent; at >= 0 {
			about.Parent = s.Node(2, at).Name
		}
		if err := write(g, about); err != nil {
			return nil, err
		}
	}
	if groups == 0 {
		return nil, withHint(usagef("no group has a name of its own, so there is nothing to choose from"),
			"`hgld curate import groups.txt` declares groups, one name a line")
	}
	if err := write(-1, askedGroup{}); err != nil {
		return nil, err
	}
	for _, i := range tags {
		if err := lines.Encode(askedTag{all[i].Name, all[i].QID, all[i].Landmarks}); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
