package space

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"hgld/cluster"
	"hgld/curate"
	"hgld/curate/serve"
	"hgld/internal/half"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// inMemory makes a Space from vectors: x has one row for each tag of d.
func inMemory(d *labels.Draft, x cluster.Matrix) (*Space, error) {
	s := empty(d, x.Cols)
	for i := range d.Tags {
		if err := s.setRow(i, x.Row(i)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// randomSpace returns a space of n labels with 384 random values each, in clusters of 38, and its
// session.
func randomSpace(t testing.TB, n int) (*Space, *curate.Session) {
	t.Helper()
	d := &labels.Draft{Version: labels.DraftVersion}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	x := cluster.NewMatrix(n, 384)
	var centre []float64
	for i := range n {
		if i%38 == 0 {
			d.Clusters = append(d.Clusters, labels.Cluster{ID: i / 38, Name: fmt.Sprintf("cluster %d", i/38)})
			centre = centre[:0]
			for range x.Cols {
				centre = append(centre, r.NormFloat64())
			}
		}
		c := &d.Clusters[len(d.Clusters)-1]
		c.Members = append(c.Members, labels.Member{Tag: i})
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: fmt.Sprintf("tag %d", i)}})
		for k, v := range centre {
			x.Row(i)[k] = float32(0.03 * (v + r.NormFloat64()))
		}
	}
	s := must.Get(inMemory(d, x))(t)
	session := must.Get(curate.NewSession(d, nil))(t)
	s.Place(serve.Where(session, session.Places()))
	return s, session
}

func TestCandidatesAreTheNearestTags(t *testing.T) {
	s, _ := randomSpace(t, 700)
	take := func(i int) bool { return i%3 > 0 }
	centre, _ := s.mean([]int{38, 39, 40})
	s.Place(len(s.groups), nil, []int{38, 39, 40}, []int{0, 0, 0}, make([]bool, 3))
	for i := range 38 { // leaves three of them in group 0
		s.Place(len(s.groups), nil, []int{i}, []int{1}, make([]bool, 1))
	}
	var want []near
	for i := range s.of {
		d := 0.0
		for k, h := range s.row(i) {
			d += math.Pow(float64(half.F16(h))-centre[k], 2)
		}
		if take(i) {
			want = append(want, near{i, math.Sqrt(d)})
		}
	}
	slices.SortFunc(want, byDistance)
	tags, distances := s.Candidates(0, 60, take)
	if len(tags) != 60 {
		t.Fatalf("%d candidates, want 60", len(tags))
	}
	for i, d := range distances { // sums of 384 float32, compared with float64
		if math.Abs(d-want[i].distance) > 1e-5*want[i].distance {
			t.Errorf("candidate %d is %d at %g, want %+v", i, tags[i], d, want[i])
		}
	}
	if all, _ := s.Candidates(0, 1000, func(i int) bool { return i < 5 }); len(all) != 5 {
		t.Errorf("%d candidates of 5", len(all))
	}
}

// TestSuggestionsAreTheNearestCentroids compares the running sums with recomputed means after
// random moves.
func TestSuggestionsAreTheNearestCentroids(t *testing.T) {
	s, session := randomSpace(t, 700)
	of, groups := make([]int, 700), len(session.Draft().Clusters)
	for i := range of {
		of[i] = session.Node(0, i).Parent
	}
	for step := range 400 {
		tag, group := step*7%len(of), step*13%(groups+1)-1
		of[tag] = group
		s.Place(groups, nil, []int{tag}, []int{group}, make([]bool, 1))
	}
	tags := []int{5, 99, 420}
	x, _ := s.mean(tags)
	var want []near
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
		want = append(want, near{g, math.Sqrt(d)})
	}
	slices.SortFunc(want, byDistance)
	got, distances := s.Nearest(tags, 5, func(int) bool { return false })
	for i := range got {
		if got[i] != want[i].at || math.Abs(distances[i]-want[i].distance) > 1e-9 {
			t.Errorf("suggestion %d is %d at %g, want %+v", i+1, got[i], distances[i], want[i])
		}
	}
}

// BenchmarkSuggest measures what the page requests after each edit: the five groups nearest to a
// label, and the edit's change of the centroids.
func BenchmarkSuggest(b *testing.B) {
	for _, n := range []int{5700, 57000} {
		b.Run(fmt.Sprintf("labels=%d", n), func(b *testing.B) {
			s, session := randomSpace(b, n)
			i := 0
			for b.Loop() {
				i = (i + 7919) % n
				e := curate.Edit{Base: session.Version(), Op: curate.Move, From: []curate.Ref{{Name: session.Draft().Tags[i].Name}},
					To: "cluster 5"}
				if _, err := session.Apply(e, nil); err != nil {
					b.Fatal(err)
				}
				s.Place(serve.Where(session, session.Changed()))
				if near, _ := s.Nearest([]int{(i + 1) % n}, 5, func(int) bool { return false }); len(near) != 5 {
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
