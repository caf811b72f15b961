package curate

import "testing"

func TestSuccessorFollowsRenamesMergesAndSplits(t *testing.T) {
	s := start(t, churches(t))
	do(t, s,
		Edit{Op: Rename, Level: 1, From: refs("church"), To: "sacred"},
		Edit{Op: Merge, Level: 1, From: refs("sacred", "bridge"), To: "building"},
		Edit{Op: Rename, Level: 1, From: refs("building"), To: "built"},
		Edit{Op: Split, Level: 1, From: refs("peak"),
			Parts: []Part{{To: "top", Members: refs("mountain@Q3")}, {To: "high", Members: refs("hill", "volcano")}}},
		Edit{Op: Rename, Level: 1, From: refs("top"), To: "summit"},
		Edit{Op: Revert, Of: 5},
	)
	for name, want := range map[string]string{"church": "built", "sacred": "built", "bridge": "built", "building": "built",
		"built": "built", "peak": "top", "high": "high", "summit": "", "never": ""} {
		got, known := s.Successor(1, name)
		if got != want || known != (want != "") {
			t.Errorf("the successor of %q is %q (%v), want %q", name, got, known, want)
		}
	}
	do(t, s, Edit{Op: Merge, Level: 1, Parts: []Part{{To: "summits", Members: refs("top", "high")}}})
	if got, known := s.Successor(1, "high"); got != "summits" || !known {
		t.Errorf("the successor of a group that was merged with others is %q", got)
	}
	// A name that is taken again is that of the new group.
	do(t, s, Edit{Op: Move, From: refs("chapel@Q2"), To: "church"})
	if got, known := s.Successor(1, "church"); got != "church" || !known {
		t.Errorf("the successor of a group that there is again is %q", got)
	}
	if got, known := s.Successor(3, "church"); known {
		t.Errorf("a level that there is not has %q", got)
	}
}
