package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/curate"
	"hgld/curate/serve"
	"hgld/internal/half"
	"hgld/labels"
)

// randomSpace is the space of n labels with 384 random values each, in clusters of
// 38, and its session.
func randomSpace(t testing.TB, n int) (*space, *curate.Session) {
	t.Helper()
	d := &labels.Draft{Version: labels.DraftVersion}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	s := &space{draft: d, cols: 384, wide: halves(), byName: map[string]int{}}
	var centre []float64
	for i := range n {
		if i%38 == 0 {
			d.Clusters = append(d.Clusters, labels.Cluster{ID: i / 38, Name: fmt.Sprintf("cluster %d", i/38)})
			centre = centre[:0]
			for range s.cols {
				centre = append(centre, r.NormFloat64())
			}
		}
		c := &d.Clusters[len(d.Clusters)-1]
		c.Members = append(c.Members, labels.Member{Tag: i})
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: fmt.Sprintf("tag %d", i)}})
		for _, v := range centre {
			s.rows = append(s.rows, half.ToF16(float32(0.03*(v+r.NormFloat64()))))
		}
	}
	session, err := curate.NewSession(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Place(serve.Where(session, session.Places()))
	return s, session
}

func TestCandidatesAreTheNearestTags(t *testing.T) {
	s, _ := randomSpace(t, 700)
	take := func(i int) bool { return i%3 > 0 }
	centre, _ := s.mean([]int{38, 39, 40})
	s.Place(serve.Placement{Groups: len(s.groups), Tags: []serve.Placed{{Tag: 38, Group: 0}, {Tag: 39, Group: 0}, {Tag: 40, Group: 0}}})
	var rest []serve.Placed // leaves the three of them in group 0
	for i := range 38 {
		rest = append(rest, serve.Placed{Tag: i, Group: 1})
	}
	s.Place(serve.Placement{Groups: len(s.groups), Tags: rest})
	var want []serve.Near
	for i := range s.of {
		d := 0.0
		for k, h := range s.row(i) {
			d += math.Pow(float64(half.F16(h))-centre[k], 2)
		}
		if take(i) {
			want = append(want, serve.Near{At: i, Distance: math.Sqrt(d)})
		}
	}
	slices.SortFunc(want, byDistance)
	got := s.Candidates(0, 60, take)
	if len(got) != 60 {
		t.Fatalf("%d candidates, want 60", len(got))
	}
	for i, near := range got { // sums of 384 float32 against float64
		if math.Abs(near.Distance-want[i].Distance) > 1e-5*want[i].Distance {
			t.Errorf("candidate %d is %+v, want %+v", i, near, want[i])
		}
	}
	if all := s.Candidates(0, 1000, func(i int) bool { return i < 5 }); len(all) != 5 {
		t.Errorf("%d candidates of 5", len(all))
	}
}

// BenchmarkSuggest is what the page asks after each edit: the five groups nearest
// to a label, with the edit's change of the centroids.
func BenchmarkSuggest(b *testing.B) {
	for _, n := range []int{5700, 57000} {
		b.Run(fmt.Sprintf("labels=%d", n), func(b *testing.B) {
			s, session := randomSpace(b, n)
			i := 0
			for b.Loop() {
				i = (i + 7919) % n
				e := curate.Edit{Base: session.Version(), Op: curate.Move, From: []curate.Ref{{Name: session.Draft().Tags[i].Name}}, To: "cluster 5"}
				if _, err := session.Apply(e, nil); err != nil {
					b.Fatal(err)
				}
				s.Place(serve.Where(session, session.Changed()))
				if near := s.Nearest([]int{(i + 1) % n}, 5, func(int) bool { return false }); len(near) != 5 {
					b.Fatal(near)
				}
			}
		})
	}
}

// BenchmarkCandidates finds the 60 labels nearest to a group.
func BenchmarkCandidates(b *testing.B) {
	for _, n := range []int{5700, 57000} {
		b.Run(fmt.Sprintf("labels=%d", n), func(b *testing.B) {
			s, session := randomSpace(b, n)
			group := 0
			for b.Loop() {
				group = (group + 1) % len(s.groups)
				s.Candidates(group, 60, func(i int) bool { n := session.Node(0, i); return n.Parent != group && !n.Decided })
			}
		})
	}
}
