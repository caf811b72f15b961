package main

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/cluster"
	"hgld/cluster/space"
	"hgld/curate"
	"hgld/curate/serve"
	"hgld/internal/tensorfile"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/tagdata"
	"hgld/labels"
)

// greedy is a curator who knows tag_pairs.tsv by heart and does what the page
// offers: of the screens that there are (a cluster, the labels that hold a word,
// the 60 open labels close by a group) it takes the one with most labels of one
// group, marks these and moves them at once. A move of a selection is one action.
// On the page marks may be gathered on several screens, so that one move a group
// would do; that counts what is typed and not what is looked at.
type greedy struct {
	t       *testing.T
	session *curate.Session
	space   *space.Space
	want    map[string]string // group of each tag that is judged

	actions, hits int              // moves, and those whose group was one of the five suggestions
	kinds         map[string]int   // moves by kind of screen
	open          map[int]bool     // judged tags that are not where they belong
	close         map[string][]int // what was close by a group when it last changed
}

// screen is a group and where many of its labels are seen at once.
type screen struct{ group, kind, name string }

// run curates from the draft to the mapping.
func (g *greedy) run() {
	g.open, g.kinds, g.close = map[int]bool{}, map[string]int{}, map[string][]int{}
	for i, tag := range g.session.Draft().Tags {
		if _, judged := g.want[tag.Name]; judged {
			g.open[i] = true
		}
	}
	for len(g.open) > 0 {
		seen := map[screen][]int{}
		for i := range g.open {
			name := g.session.Draft().Tags[i].Name
			group := g.want[name]
			cluster := screen{group, "cluster", g.session.Tag(i).Group}
			seen[cluster] = append(seen[cluster], i)
			for _, word := range slices.Compact(slices.Sorted(slices.Values(strings.Fields(strings.ToLower(name))))) {
				found := screen{group, "find", word}
				seen[found] = append(seen[found], i)
			}
		}
		for _, group := range g.groups() {
			for _, i := range g.closeBy(group) {
				if g.open[i] && g.want[g.session.Draft().Tags[i].Name] == group {
					near := screen{group, "close by", group}
					seen[near] = append(seen[near], i)
				}
			}
		}
		best := slices.MaxFunc(slices.SortedFunc(maps.Keys(seen), compareScreens),
			func(a, b screen) int { return cmp.Compare(len(seen[a]), len(seen[b])) })
		g.kinds[best.kind]++
		g.move(slices.Sorted(slices.Values(seen[best])), best.group)
	}
}

func compareScreens(a, b screen) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.group, b.group), cmp.Compare(a.name, b.name))
}

// closeBy lists what is close by a group; the list is made anew when labels were
// moved to it.
func (g *greedy) closeBy(group string) []int {
	if _, known := g.close[group]; !known {
		g.close[group], _ = g.space.Candidates(g.find(group), 60, func(i int) bool { return !g.session.Node(0, i).Decided })
	}
	return g.close[group]
}

// groups lists the groups that have a judged tag.
func (g *greedy) groups() []string {
	return slices.Compact(slices.Sorted(maps.Values(g.want)))
}

func (g *greedy) find(group string) int {
	for i := range g.session.Size(1) {
		if n := g.session.Node(1, i); !n.Gone && n.Name == group {
			return i
		}
	}
	g.t.Fatalf("there is no group %q", group)
	return -1
}

func (g *greedy) move(tags []int, group string) {
	g.actions++
	delete(g.close, group)
	own := g.session.Node(0, tags[0]).Parent
	near, _ := g.space.Nearest(tags, 5, func(at int) bool { return at == own && g.session.Node(1, at).Name != group })
	for _, at := range near {
		if g.session.Node(1, at).Name == group {
			g.hits++
		}
	}
	var from []curate.Ref
	for _, i := range tags {
		from = append(from, curate.Ref{Name: g.session.Draft().Tags[i].Name})
		delete(g.open, i)
	}
	g.do(curate.Edit{Op: curate.Move, From: from, To: group})
}

func (g *greedy) do(e curate.Edit) {
	e.Base, e.By = g.session.Version(), "greedy"
	if _, err := g.session.Apply(e, nil); err != nil {
		g.t.Fatal(err)
	}
	g.space.Place(serve.Where(g.session, g.session.Changed()))
}

// TestGreedyCuratorNeedsFewActions takes the draft of the 3,358 real labels to the
// mapping by hand, with the 78 names imported; a page that moved labels one by one
// would need .42 to .58 actions a label (goldens/cluster/draft_quality.json).
func TestGreedyCuratorNeedsFewActions(t *testing.T) {
	draft := tagdata.Draft(t, tagdata.Records(t))
	w := readWants(t)
	real := map[string]bool{}
	for _, row := range tagdata.Table(t, '\t', filepath.Join(goldens.Dir(t, "cluster"), "tag_pairs.tsv"))[1:] {
		real[row[0]] = row[3] == "hand"
	}
	for _, c := range []struct {
		name          string
		judged        func(tag string) bool
		labels, group int
		most          float64
	}{
		{"all mapped labels", func(string) bool { return true }, 753, 75, 0.30},
		{"mapped by hand", func(tag string) bool { return real[tag] }, 200, 54, 0.60},
	} {
		session, err := curate.NewSession(draft, nil)
		if err != nil {
			t.Fatal(err)
		}
		near := realSpace(t, draft)
		near.Place(serve.Where(session, session.Places()))
		g := &greedy{t: t, session: session, space: near, want: map[string]string{}}
		var names []curate.Ref
		for name := range maps.Keys(w.kind) {
			names = append(names, curate.Ref{Name: name})
		}
		slices.SortFunc(names, func(a, b curate.Ref) int { return cmp.Compare(a.Name, b.Name) })
		g.do(curate.Edit{Op: curate.SetParent, Level: 1, From: names})
		for _, tag := range draft.Tags {
			if group := w.group[tag.Name]; group != "" && c.judged(tag.Name) {
				g.want[tag.Name] = group
			}
		}
		if len(g.want) != c.labels || len(g.groups()) != c.group {
			t.Fatalf("%s: %d labels in %d groups, want %d in %d", c.name, len(g.want), len(g.groups()), c.labels, c.group)
		}
		g.run()
		for i, tag := range draft.Tags {
			if group, judged := g.want[tag.Name]; judged && session.Tag(i).Group != group {
				t.Errorf("%q is in %q, want %q", tag.Name, session.Tag(i).Group, group)
			}
		}
		rate := float64(g.actions) / float64(c.labels)
		t.Logf("%s: %d actions for %d labels, %.3f a label, by screens %v; the group was among the five suggestions in %d "+
			"of them", c.name, g.actions, c.labels, rate, g.kinds, g.hits)
		if rate > c.most {
			t.Errorf("%s: %.3f actions a label, want at most %.2f", c.name, rate, c.most)
		}
	}
}

// realSpace is the space of the real labels' vectors, which a draft has.
func realSpace(t *testing.T, d *labels.Draft) *space.Space {
	t.Helper()
	f, err := tensorfile.OpenSafetensors(filepath.Join(goldens.Dir(t, "cluster"), "label_embeddings.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.Float32("photo")
	if err != nil {
		t.Fatal(err)
	}
	s, err := space.New(d, cluster.Matrix{Rows: len(d.Tags), Cols: 384, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
