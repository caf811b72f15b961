package curate

import (
	"slices"
	"testing"
)

// Groups that only a cluster named are no decision of anybody. A tag is also found in another spelling.
func TestDroppedNamesakesAreTagsWithTheNameOfADeclaredGroup(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: Drop, From: refs("bridge", "mountain@Q3", "volcano"), Note: "too generic"},
		Edit{Op: Move, From: refs("hill"), To: "Mountain"}, Edit{Op: Move, From: refs("chapel@Q2"), To: "volcano"})
	want := []Namesake{{3, "Mountain"}, {5, "volcano"}}
	if got := s.DroppedNamesakes(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	do(t, s, Edit{Op: Move, From: refs("mountain@Q3"), To: "Mountain"})
	if got := s.DroppedNamesakes(); !slices.Equal(got, want[1:]) {
		t.Errorf("after it was moved: %v", got)
	}
}
