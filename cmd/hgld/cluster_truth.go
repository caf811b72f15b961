package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"hgld/cluster"
	"hgld/labels"
)

// truth is a list of tags whose groups are known: a tab-separated file with one
// line of column names, of which the first column is the tag and the second its
// group. A tag without a group is not judged.
type truth struct {
	path   string
	groups map[string]string // of each tag
}

// judgement is how far the clusters of the judged tags are from their groups, over
// the seeds. All judged tags are clustered with the others; only they count.
type judgement struct {
	Tags     int      `json:"tags"`
	Purity   estimate `json:"purity"`
	ARI      estimate `json:"ari"`
	NMI      estimate `json:"nmi"`
	AMI      estimate `json:"ami"`
	Moves    estimate `json:"moves"`    // tags whose group is not the majority of their cluster
	Clusters estimate `json:"clusters"` // that hold a judged tag
	Actions  estimate `json:"actions"`  // moves and a decision for each cluster, a tag
}

// readTruth reads the file at path, if there is one; judge is COLUMN=VALUE or "".
func readTruth(path, judge string) (*truth, error) {
	if path == "" {
		if judge != "" {
			return nil, usagef("--judge chooses rows of a list; name it with --truth")
		}
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &truth{path: path, groups: map[string]string{}}
	lines := bufio.NewScanner(f)
	lines.Scan()
	columns := strings.Split(lines.Text(), "\t")
	if len(columns) < 2 {
		return nil, fmt.Errorf("%s: line 1 has no tab; want the names of columns, the tag's first and its group's second", path)
	}
	by, value, only := strings.Cut(judge, "=")
	at := slices.Index(columns, by)
	if judge != "" && (!only || at < 0) {
		return nil, usagef("--judge %s: want COLUMN=VALUE with a column of %s: %s", judge, path, strings.Join(columns, ", "))
	}
	for row := 2; lines.Scan(); row++ {
		cells := strings.Split(lines.Text(), "\t")
		if len(cells) != len(columns) {
			return nil, fmt.Errorf("%s: line %d has %d columns, want %d", path, row, len(cells), len(columns))
		}
		if cells[1] == "" || only && cells[at] != value {
			continue
		}
		if have, twice := t.groups[cells[0]]; twice && have != cells[1] {
			return nil, fmt.Errorf("%s: line %d puts tag %.80q into %.80q, and an earlier one into %.80q", path, row, cells[0], cells[1], have)
		}
		t.groups[cells[0]] = cells[1]
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(t.groups) == 0 {
		return nil, errors.New(path + ": no row has a group to judge by")
	}
	return t, nil
}

// has reports whether a tag is judged.
func (t *truth) has(tag string) bool {
	if t == nil {
		return false
	}
	_, judged := t.groups[tag]
	return judged
}

// judge measures a partition of tags by the known groups.
func (t *truth) judge(g *judgement, add func(*estimate, float64), tags []labels.DraftTag, partition []int32) error {
	number := map[string]int{}
	var want, got []int
	for i, tag := range tags {
		group, judged := t.groups[tag.Name]
		if !judged {
			continue
		}
		if _, known := number[group]; !known {
			number[group] = len(number)
		}
		want, got = append(want, number[group]), append(got, int(partition[i]))
	}
	if len(want) == 0 {
		return fmt.Errorf("%s: none of its %s is among those to cluster", t.path, count(len(t.groups), "tag"))
	}
	e, err := cluster.Compare(want, got)
	if err != nil {
		return err
	}
	g.Tags = e.Items
	for _, m := range []struct {
		of *estimate
		v  float64
	}{{&g.Purity, e.Purity}, {&g.ARI, e.ARI}, {&g.NMI, e.NMI}, {&g.AMI, e.AMI}, {&g.Moves, float64(e.Moves)},
		{&g.Clusters, float64(e.Clusters)}, {&g.Actions, e.ActionsPerItem()}} {
		add(m.of, m.v)
	}
	return nil
}

// cells is the judgement in the columns of the table.
func (g *judgement) cells() []string {
	return []string{digits(g.Purity.Mean, 'f', 3), digits(g.ARI.Mean, 'f', 3), digits(g.ARI.Deviation, 'f', 3),
		digits(g.NMI.Mean, 'f', 3), digits(g.AMI.Mean, 'f', 3), digits(g.Moves.Mean, 'f', 1), digits(g.Clusters.Mean, 'f', 1),
		digits(g.Actions.Mean, 'f', 3), digits(g.Actions.Deviation, 'f', 3)}
}
