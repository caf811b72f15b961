package curate

import (
	"slices"
	"strings"
	"testing"
)

// One edit merges many groups, and one revert restores them.
func TestMergeWithPartsIsOneEdit(t *testing.T) {
	s := start(t, churches(t))
	before := s.Places()
	do(t, s, Edit{Op: Merge, Level: 1, Parts: []Part{{To: "Church", Members: refs("church")},
		{To: "Peak", Members: refs("peak", "bridge")}}})
	if tag := s.Tag(0); tag.Group != "Church" || tag.Decided {
		t.Errorf("the first tag is %+v, want an open one in Church", tag)
	}
	do(t, s, Edit{Op: Revert, Of: 1})
	if after := s.Places(); !slices.Equal(after, before) || s.Tag(0).Group != "church" {
		t.Errorf("after the revert the first tag is %+v", s.Tag(0))
	}
	for why, parts := range map[string][]Part{
		"cannot take": {{To: "peak", Members: refs("church")}, {To: "hills", Members: refs("peak")}},
		"is repeated": {{To: "hills", Members: refs("peak")}, {To: "rocks", Members: refs("peak")}},
		"no group":    {{To: "hills", Members: refs("nowhere")}},
	} {
		e := Edit{Base: s.Version(), Op: Merge, Level: 1, Parts: parts}
		if _, err := s.Apply(e, nil); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v: %v, want %q", parts, err, why)
		}
	}
}

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
