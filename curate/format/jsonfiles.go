package format

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"hgld/curate"
	"hgld/labels"
)

func readHierarchy(data []byte, name string, _ labels.ReadOptions) (*Document, error) {
	h, err := labels.ReadHierarchy(bytes.NewReader(data), name)
	if err != nil {
		return nil, err
	}
	return &Document{Hierarchy: h}, nil
}

func writeHierarchy(w io.Writer, d *Document) error { return labels.WriteHierarchy(w, d.Hierarchy) }

// readDraft takes the clusters of a draft as groups.
func readDraft(data []byte, name string, _ labels.ReadOptions) (*Document, error) {
	draft, err := labels.ReadDraft(bytes.NewReader(data), name)
	if err != nil {
		return nil, err
	}
	s, err := curate.NewSession(draft, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d := &Document{Draft: draft}
	if d.Hierarchy, err = s.Hierarchy(true); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d.CountBy(draft)
	return d, nil
}

// looseCluster is the cluster of the tags without a group in a draft made from a
// hierarchy. It gets more parentheses if a group has this name.
const looseCluster = "(no group)"

// writeDraft writes d.Draft, or makes a draft whose clusters are the groups, the
// largest first, and whose members have no distances.
func writeDraft(w io.Writer, d *Document) error {
	if d.Draft != nil {
		return labels.WriteDraft(w, d.Draft)
	}
	draft := &labels.Draft{Version: labels.DraftVersion}
	var clusters []labels.Cluster
	names := []string{}
	if len(d.Hierarchy.Levels) > 1 {
		for _, c := range d.Hierarchy.Levels[1].Classes {
			names = append(names, c.Name)
		}
	}
	loose := looseCluster
	for slices.Contains(names, loose) {
		loose = "(" + loose + ")"
	}
	for _, name := range append(names, loose) {
		clusters = append(clusters, labels.Cluster{Name: name})
	}
	for i, c := range d.Hierarchy.Levels[0].Classes {
		t := labels.DraftTag{Tag: labels.Tag{Name: c.Name, QID: c.QID}, Landmarks: d.count(0)[c.Name],
			Images: d.Images[c.Name]}
		draft.Tags = append(draft.Tags, t)
		at := int(c.Parent)
		if at < 0 || len(names) == 0 {
			at = len(names)
		}
		clusters[at].Members = append(clusters[at].Members, labels.Member{Tag: i})
		clusters[at].Landmarks += t.Landmarks
		clusters[at].Images += t.Images
	}
	clusters = slices.DeleteFunc(clusters, func(c labels.Cluster) bool { return len(c.Members) == 0 })
	slices.SortStableFunc(clusters, func(a, b labels.Cluster) int { return cmp.Compare(b.Landmarks, a.Landmarks) })
	for i := range clusters {
		clusters[i].ID = i
	}
	draft.Clusters, draft.Origin.K = clusters, len(clusters)
	return labels.WriteDraft(w, draft)
}

func isLabels(data []byte) bool {
	if isDocument("hgld_labels")(data) {
		return true
	}
	_, err := labels.ParseCSV(bytes.NewReader([]byte(firstLine(data)+"\n")), "header",
		labels.ReadOptions{Split: labels.Train})
	return err == nil
}

// readLabels takes the tags and groups from the rows of a label file. A row without a
// label only counts for its tag, if no other row labels it.
func readLabels(data []byte, name string, o labels.ReadOptions) (*Document, error) {
	t, err := labels.Read(bytes.NewReader(data), name, o)
	if err != nil {
		return nil, err
	}
	d := &Document{Table: t}
	if isDocument("hgld_labels")(data) {
		d.form = labels.JSONForm
	}
	if len(t.Levels) < 2 {
		return nil, fmt.Errorf("%s: has landmarks but no classes; want a label file", name)
	}
	if t.Levels[0] != labels.LandmarkLevel {
		d.Hierarchy = t.Hierarchy
		return d, nil
	}
	levels := append([]string{curate.DefaultLevels[0]}, t.Levels[1:]...)
	d.Landmarks = []map[string]int{{}, {}}
	var entries []entry
	seen := map[[2]string]bool{}
	labelled := map[string]bool{}
	where := func(i int) string {
		if d.form != "" {
			return fmt.Sprintf("%s: %s", name, t.Rows[i].Key())
		}
		return fmt.Sprintf("%s:%d", name, i+2) // below the header
	}
	for _, pass := range []bool{true, false} { // labelled rows first
		for i := range t.Rows {
			l := &t.Rows[i]
			if l.Labelled() != pass || !pass && (l.Tag == "" || labelled[l.Tag]) {
				continue
			}
			if l.Tag != "" {
				d.Landmarks[0][l.Tag]++
				labelled[l.Tag] = labelled[l.Tag] || pass
			}
			if pass {
				d.Landmarks[1][l.Names[1]]++
			}
			if key := [2]string{l.Tag, l.Names[1]}; !seen[key] {
				seen[key] = true
				entries = append(entries, entry{names: append([]string{l.Tag}, l.Names[1:]...), where: where(i)})
			}
		}
	}
	d.Hierarchy, err = gather(levels, entries)
	return d, err
}

// writeLabels writes the landmarks of d. A file that was read is written byte for byte.
func writeLabels(w io.Writer, d *Document) error {
	if d.Table == nil {
		return ErrNoLandmarks
	}
	if d.form == "" {
		return labels.WriteCSV(w, d.Table, "")
	}
	return d.Table.Write(w, d.form)
}
