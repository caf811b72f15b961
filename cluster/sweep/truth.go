package sweep

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hgld/cluster"
	"hgld/internal/regular"
	"hgld/internal/usage"
	"hgld/labels"
)

// Truth is a list of tags whose groups are known: a tab-separated file whose first line
// names the columns. The first column is the tag, the second its group. A tag without a
// group is not judged.
type Truth struct {
	path   string
	groups map[string]string // of each tag
}

// Judgement measures the clusters of the judged tags against their groups, over the
// seeds. All tags are clustered together; only the judged ones count.
type Judgement struct {
	Tags     int      `json:"tags"`     // the number of judged tags
	Purity   Estimate `json:"purity"`   // the share of tags that are in the majority group of their cluster
	ARI      Estimate `json:"ari"`      // the adjusted Rand index
	NMI      Estimate `json:"nmi"`      // the normalised mutual information, by the arithmetic mean
	AMI      Estimate `json:"ami"`      // the adjusted mutual information
	Moves    Estimate `json:"moves"`    // the number of tags that are not in the majority group of their cluster
	Clusters Estimate `json:"clusters"` // the number of clusters that hold a judged tag
	// Actions is the work of a curator for each tag: the moves, and a decision for each
	// cluster.
	Actions Estimate `json:"actions"`
}

// ReadTruth reads the file at path. judge is COLUMN=VALUE to take only the rows with that
// value, or "". A column that is not there is a usage error.
func ReadTruth(path, judge string) (*Truth, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := &Truth{path: path, groups: map[string]string{}}
	lines := bufio.NewScanner(f)
	lines.Scan()
	columns := strings.Split(lines.Text(), "\t")
	if len(columns) < 2 {
		return nil, fmt.Errorf("%s: line 1 has no tab; want the names of columns, the tag's first and its group's second",
			path)
	}
	by, value, only := strings.Cut(judge, "=")
	at := slices.Index(columns, by)
	if judge != "" && (!only || at < 0) {
		return nil, usage.Errorf("judge %.80q: want COLUMN=VALUE with a column of %s: %s", judge, path,
			strings.Join(columns, ", "))
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
			return nil, fmt.Errorf("%s: line %d puts tag %.80q into %.80q, but an earlier line puts it into "+
				"%.80q", path, row, cells[0],
				cells[1], have)
		}
		t.groups[cells[0]] = cells[1]
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(t.groups) == 0 {
		return nil, errors.New(path + ": no row has a group to compare with")
	}
	return t, nil
}

// has reports whether a tag is judged; a nil Truth judges none.
func (t *Truth) has(tag string) bool {
	if t == nil {
		return false
	}
	_, judged := t.groups[tag]
	return judged
}

// judge measures a partition of tags by the known groups.
func (t *Truth) judge(g *Judgement, add func(*Estimate, float64), tags []labels.DraftTag, partition []int32) error {
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
		return fmt.Errorf("%s: none of its %d tags is among the tags to cluster", t.path, len(t.groups))
	}
	e, err := cluster.Compare(want, got)
	if err != nil {
		return err
	}
	g.Tags = e.Items
	for _, m := range []struct {
		of *Estimate
		v  float64
	}{{&g.Purity, e.Purity}, {&g.ARI, e.ARI}, {&g.NMI, e.NMI}, {&g.AMI, e.AMI}, {&g.Moves, float64(e.Moves)},
		{&g.Clusters, float64(e.Clusters)}, {&g.Actions, e.ActionsPerItem()}} {
		add(m.of, m.v)
	}
	return nil
}

// cells returns the judgement as columns of the table.
func (g *Judgement) cells() []string {
	return []string{digits(g.Purity.Mean, 'f', 3), digits(g.ARI.Mean, 'f', 3), digits(g.ARI.Deviation, 'f', 3),
		digits(g.NMI.Mean, 'f', 3), digits(g.AMI.Mean, 'f', 3), digits(g.Moves.Mean, 'f', 1), digits(g.Clusters.Mean, 'f', 1),
		digits(g.Actions.Mean, 'f', 3), digits(g.Actions.Deviation, 'f', 3)}
}
