package space

import (
	"context"
	"math"
	"slices"
	"testing"

	"hgld/cluster"
	"hgld/internal/testing/must"
	"hgld/labels"
)

// compass returns a space of tags at angles, in degrees, all in one cluster, with room for three
// more groups.
func compass(t *testing.T, angles ...float64) *Space {
	t.Helper()
	d := &labels.Draft{Version: labels.DraftVersion}
	x := cluster.NewMatrix(len(angles), 2)
	in := make([]int, len(angles))
	var tags []int
	for i, a := range angles {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: string(rune('a' + i))}})
		copy(x.Row(i), at(a))
		tags = append(tags, i)
	}
	s := must.Get(inMemory(d, x))(t)
	s.Place(4, map[int]string{0: "all", 1: "east", 2: "north", 3: "west"}, tags, in, make([]bool, len(angles)))
	return s
}

// at returns the unit vector at an angle.
func at(degrees float64) []float32 {
	r := degrees * math.Pi / 180
	return []float32{float32(math.Cos(r)), float32(math.Sin(r))}
}

func TestEmptyDeclaredGroupIsNearItsName(t *testing.T) {
	s := compass(t, 10, 80, 60)
	any := func(int) bool { return false }
	if near, _ := s.Nearest([]int{0}, 5, any); !slices.Equal(near, []int{0}) {
		t.Errorf("before names are known: %v, want the cluster alone", near)
	}
	s.Name(1, at(0))
	s.Name(2, at(90))
	near, distances := s.Nearest([]int{0}, 5, any)
	if !slices.Equal(near, []int{1, 0, 2}) {
		t.Errorf("near 10° are %v, want east, all, north", near)
	}
	if want := 2 * math.Sin(5*math.Pi/180); math.Abs(distances[0]-want) > 1e-3 { // the vectors are binary16
		t.Errorf("10° is %v from 0°, want the chord %v", distances[0], want)
	}
	if tags, _ := s.Candidates(2, 2, func(int) bool { return true }); !slices.Equal(tags, []int{1, 2}) {
		t.Errorf("tags near north: %v, want 80° and 60°", tags)
	}
	s.Name(1, nil)
	if near, _ := s.Nearest([]int{0}, 5, any); slices.Contains(near, 1) {
		t.Error("a name that was taken away is still near")
	}
}

func TestOnlyDecidedTagsMoveAPrototype(t *testing.T) {
	s := compass(t, 30, 60, 90)
	s.Name(1, at(0))
	direction := func() float64 {
		u := s.groups[1].prototype.unit
		return math.Atan2(float64(u[1]), float64(u[0])) * 180 / math.Pi
	}
	s.Place(4, nil, []int{0}, []int{1}, []bool{false})
	if got := direction(); math.Abs(got) > 1e-3 {
		t.Errorf("an undecided member turns the group to %.2f°", got)
	}
	s.Place(4, nil, []int{1}, []int{1}, []bool{true})
	// The direction of twice 0° and once 60° is (2.5, √3/2).
	want := math.Atan2(math.Sqrt(3)/2, 2.5) * 180 / math.Pi
	if got := direction(); math.Abs(got-want) > 0.05 {
		t.Errorf("with a decided tag at 60° the group is at %.2f°, want %.2f°", got, want)
	}
	s.Name(1, at(0)) // named after the decisions
	if got := direction(); math.Abs(got-want) > 0.05 {
		t.Errorf("named again the group is at %.2f°, want %.2f°", got, want)
	}
	s.Place(4, nil, []int{1}, []int{1}, []bool{false}) // undone
	if got := direction(); math.Abs(got) > 0.05 {
		t.Errorf("after the undo the group is at %.2f°", got)
	}
	s.Place(1, nil, []int{0, 1}, []int{0, 0}, make([]bool, 2)) // a Revert removes the groups
	if s.named != 0 {
		t.Errorf("%d groups have names after they are gone", s.named)
	}
}

func TestProposalsAreTheClearestNames(t *testing.T) {
	s := compass(t, 10, 44, 100)
	s.Name(1, at(0))
	if groups, _, err := s.Proposals([]int{0, 1, 2}, 1)(context.Background()); groups != nil || err != nil {
		t.Errorf("with one name: %v, %v", groups, err)
	}
	s.Name(2, at(90))
	propose := s.Proposals([]int{0, 1, 2}, 1)
	s.Name(2, nil) // the prepared name does not change
	groups, leads, err := propose(t.Context())
	if err != nil || !slices.EqualFunc(groups, []int{1, 1, 2}, func(of []int, g int) bool { return of[0] == g }) {
		t.Fatalf("%v, %v", groups, err)
	}
	for i, a := range []float64{10, 44, 100} {
		r := a * math.Pi / 180
		if want := math.Abs(math.Cos(r) - math.Sin(r)); math.Abs(leads[i]-want) > 2e-3 { // two binary16 values
			t.Errorf("%v° leads by %.4f, want %.4f", a, leads[i], want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := propose(ctx); err == nil {
		t.Error("a cancelled computation ends without an error")
	}
}
