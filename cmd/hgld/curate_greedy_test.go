package main

import (
	"cmp"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/curate/serve"
	"hgld/internal/goldens"
	"hgld/internal/half"
	"hgld/internal/tensorfile"
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
	space   *space
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
		best := slices.MaxFunc(slices.SortedFunc(maps.Keys(seen), compareScreens), func(a, b screen) int { return cmp.Compare(len(seen[a]), len(seen[b])) })
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
		g.close[group] = []int{}
		for _, near := range g.space.Candidates(g.find(group), 60, func(i int) bool { return !g.session.Node(0, i).Decided }) {
			g.close[group] = append(g.close[group], near.At)
		}
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
	for _, near := range g.space.Nearest(tags, 5, func(at int) bool { return at == own && g.session.Node(1, at).Name != group }) {
		if g.session.Node(1, near.At).Name == group {
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
	draft := realDraft(t, realRecords(t))
	space := realSpace(t)
	space.draft = draft
	w := readWants(t)
	real := map[string]bool{}
	for _, row := range readTable(t, '\t', filepath.Join(goldens.Dir(t, "cluster"), "tag_pairs.tsv"))[1:] {
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
		space.of, space.groups = nil, nil
		space.Place(serve.Where(session, session.Places()))
		g := &greedy{t: t, session: session, space: space, want: map[string]string{}}
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
		t.Logf("%s: %d actions for %d labels, %.3f a label, by screens %v; the group was among the five suggestions in %d of them", c.name, g.actions, c.labels, rate, g.kinds, g.hits)
		if rate > c.most {
			t.Errorf("%s: %.3f actions a label, want at most %.2f", c.name, rate, c.most)
		}
	}
}

// realSpace is the space of the real labels' vectors.
func realSpace(t *testing.T) *space {
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
	s := &space{cols: 384, wide: halves(), byName: map[string]int{}, rows: make([]uint16, len(data))}
	for i, v := range data {
		s.rows[i] = half.ToF16(v)
	}
	return s
}

// TestSuggestionsAreTheNearestCentroids compares the sums that are kept with means
// computed anew, after random moves.
func TestSuggestionsAreTheNearestCentroids(t *testing.T) {
	draft := realDraft(t, realRecords(t))
	s := realSpace(t)
	s.draft = draft
	session, err := curate.NewSession(draft, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Place(serve.Where(session, session.Places()))
	of, groups := make([]int, len(draft.Tags)), len(draft.Clusters)
	for i := range of {
		of[i] = session.Node(0, i).Parent
	}
	for step := range 400 {
		tag, group := step*7%len(of), step*13%(groups+1)-1
		of[tag] = group
		s.Place(serve.Placement{Groups: groups, Tags: []serve.Placed{{Tag: tag, Group: group}}})
	}
	tags := []int{5, 99, 1200}
	x, _ := s.mean(tags)
	var want []serve.Near
	for g := range groups {
		var members []int
		for i, at := range of {
			if at == g {
				members = append(members, i)
			}
		}
		mean, _ := s.mean(members)
		d := 0.0
		for k := range x {
			d += (x[k] - mean[k]) * (x[k] - mean[k])
		}
		want = append(want, serve.Near{At: g, Distance: math.Sqrt(d)})
	}
	slices.SortFunc(want, byDistance)
	for i, got := range s.Nearest(tags, 5, func(int) bool { return false }) {
		if got.At != want[i].At || math.Abs(got.Distance-want[i].Distance) > 1e-9 {
			t.Errorf("suggestion %d is %+v, want %+v", i+1, got, want[i])
		}
	}
}
