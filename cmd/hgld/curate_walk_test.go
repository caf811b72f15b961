package main

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hgld/curate"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/tagdata"
	"hgld/labels"
)

// TestWalkFromRealTagsToLabels walks stages 2 to 4 on all the real tags there
// are: 3,358 labels of "instance of" with their MiniLM vectors, of which 237 stand
// in 850 real rows of GLDv2, are clustered into a draft of 150; a curator then
// does to each cluster what tag_pairs.tsv says, and the real rows get their
// labels.
func TestWalkFromRealTagsToLabels(t *testing.T) {
	records := tagdata.Records(t)
	draft := tagdata.Draft(t, records)
	log := filepath.Join(t.TempDir(), "edits.jsonl")
	wants := readWants(t)
	moves, actions := curateReal(t, draft, wants, log)

	// What the log alone gives, and not what the live session had.
	c, err := curate.ReadLog(log)
	if err != nil {
		t.Fatal(err)
	}
	session, err := curate.NewSession(draft, c.Header.Levels)
	if err != nil {
		t.Fatal(err)
	}
	must.Get(session.Load(c.Edits))(t)
	h, err := session.Hierarchy(false)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	must.Do(t, labels.WriteHierarchy(&file, h))
	if h, err = labels.ReadHierarchy(&file, "hierarchy.json"); err != nil {
		t.Fatal(err)
	}
	checkRealHierarchy(t, h, wants)

	table, err := labels.Build(records, h)
	if err != nil {
		t.Fatal(err)
	}
	tagged, labelled := 0, 0
	for _, r := range table.Rows {
		if r.Tag != "" {
			tagged++
		}
		if r.Reason == "" {
			labelled++
		}
	}
	if tagged != 850 || labelled != 757 {
		t.Errorf("%d of %d rows with a tag have a label, want 757 of 850", labelled, tagged)
	}
	judged := 753
	t.Logf("%d tags of 150 clusters: %d had to move; %d edits, %.2f actions a tag with one decision a cluster and one a "+
		"move (reference 0.45)",
		judged, moves, len(c.Edits), float64(actions)/float64(judged))
	// The reference's figures for K = 150 and this prompt, 216 moves and 0.45
	// actions, are means over three seeds; one seed stays within a tenth of the tags.
	if moves < 140 || moves > 290 {
		t.Errorf("%d tags had to move, want about 216", moves)
	}
}

// wants is what the curator has in mind.
type wants struct {
	group map[string]string // group of each tag; "" to drop it
	kind  map[string]string // kind of each of the 78 groups
}

func readWants(t *testing.T) wants {
	t.Helper()
	w := wants{map[string]string{}, map[string]string{}}
	for _, row := range tagdata.Table(t, '\t', filepath.Join(goldens.Dir(t, "cluster"), "tag_pairs.tsv"))[1:] {
		w.group[row[0]] = row[1]
	}
	for _, row := range tagdata.Table(t, ',',
		goldens.Shared(t, "data", "wikimedia", "gldv2", "hierarchical_labels_78_index_counts.csv"))[1:] {
		w.kind[row[0]] = row[1]
	}
	if len(w.kind) != 78 {
		t.Fatalf("%d groups with a kind, want 78", len(w.kind))
	}
	return w
}

// curateReal is the curator: the 78 groups get their kinds, and for each cluster
// the largest group among its tags is accepted, what belongs elsewhere is moved
// there, group by group, and what has no group is dropped. It returns how many
// tags had to move, and how many actions that is if each move counts by itself.
func curateReal(t *testing.T, draft *labels.Draft, w wants, path string) (moves, actions int) {
	t.Helper()
	session := must.Get(curate.NewSession(draft, nil))(t)
	must.Do(t, curate.CreateLog(path, curate.Header{By: "walk", DraftSHA256: "draft"}))
	log, _, err := curate.OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	do := func(e curate.Edit) {
		e.Base, e.By = session.Version(), "walk"
		e.At = time.Date(2026, 11, 21, 9, 0, session.Version(), 0, time.UTC)
		must.Get(session.Apply(e, log.Append))(t)
	}
	for _, kind := range curate.Kinds {
		var groups []curate.Ref
		for _, name := range slices.Sorted(maps.Keys(w.kind)) {
			if w.kind[name] == kind {
				groups = append(groups, curate.Ref{Name: name})
			}
		}
		do(curate.Edit{Op: curate.SetParent, Level: 1, From: groups, To: kind})
	}
	for _, c := range draft.Clusters {
		members := map[string]([]curate.Ref){}
		judged, largest := 0, ""
		for _, m := range c.Members {
			tag := draft.Tags[m.Tag]
			group, known := w.group[tag.Name]
			if !known {
				continue
			}
			members[group] = append(members[group], curate.Ref{Name: tag.Name})
			if group != "" {
				judged++
			}
		}
		for _, group := range groupNames(members) {
			if group != "" && len(members[group]) > len(members[largest]) || largest == "" {
				largest = group
			}
		}
		for _, group := range groupNames(members) {
			e := curate.Edit{Op: curate.Move, From: members[group], To: group}
			switch group {
			case "":
				e.Op, e.Note = curate.Drop, "too generic, or no group fits"
			case largest:
				e.Op = curate.Accept
			}
			do(e)
		}
		if judged > 0 {
			actions += 1 + judged - len(members[largest])
			moves += judged - len(members[largest])
		}
	}
	return moves, actions
}

func groupNames(m map[string][]curate.Ref) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// checkRealHierarchy holds the hierarchy to the pairs and the kinds.
func checkRealHierarchy(t *testing.T, h *labels.Hierarchy, w wants) {
	t.Helper()
	dropped, undecided := 0, 0
	for i, c := range h.Levels[0].Classes {
		group, known := w.group[c.Name]
		switch names := h.Names(h.PathOf(int32(i))); {
		case !known:
			undecided++
		case group == "":
			if dropped++; c.Dropped == "" {
				t.Errorf("tag %q is not dropped", c.Name)
			}
		case names[1] != group || names[2] != w.kind[group]:
			t.Errorf("tag %q is %q, want %q, %q", c.Name, names, group, w.kind[group])
		}
	}
	if len(h.Levels) != 3 || len(h.Levels[1].Classes) != 75 || len(h.Levels[2].Classes) != 2 || dropped != 42 ||
		undecided != 3358-795 {
		t.Errorf("%d groups, %d kinds, %d tags dropped, %d undecided; want 75, 2, 42, %d",
			len(h.Levels[1].Classes), len(h.Levels[2].Classes), dropped, undecided, 3358-795)
	}
	if i := slices.IndexFunc(h.Levels[1].Classes, func(c labels.Class) bool { return c.Name == "ocean area " }); i < 0 ||
		h.Levels[2].Classes[h.Levels[1].Classes[i].Parent].Name != "natural" {
		t.Error(`the group "ocean area " has lost its space or its kind`)
	}
}
