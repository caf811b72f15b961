package curate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// randomEdit returns an edit that may or may not be possible.
func randomEdit(s *Session, random *rand.Rand) Edit {
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	var tags []Ref
	for range 1 + random.IntN(3) {
		t := s.Tag(random.IntN(len(s.Draft().Tags)))
		tags = append(tags, t.Ref)
	}
	var names [3][]string
	for l := 1; l <= 2; l++ {
		groups, _ := s.Groups(l)
		for _, g := range groups {
			names[l] = append(names[l], g.Name)
		}
		names[l] = append(names[l], fmt.Sprintf("new %d", random.IntN(6)))
	}
	e := Edit{Base: s.Version(), By: "fuzz", Op: Ops[random.IntN(len(Ops))],
		Note: pick([]string{"", "why", "a\nb \u2028\""})}
	switch e.Op {
	case Accept, Move:
		e.From, e.To = tags, pick(names[1])
	case Drop:
		e.From = tags
	case Rename:
		e.Level = 1 + random.IntN(2)
		e.From, e.To = refs(pick(names[e.Level])), pick(names[e.Level])
	case Merge:
		e.Level = 1 + random.IntN(2)
		e.From, e.To = refs(pick(names[e.Level]), pick(names[e.Level])), pick(names[e.Level])
	case SetParent:
		e.Level, e.From, e.To = 1, refs(pick(names[1])), pick(append(names[2], ""))
	case Flag, Note:
		e.Level = random.IntN(3)
		e.From = tags[:1]
		if e.Level > 0 {
			e.From = refs(pick(names[e.Level]))
		}
	case Split:
		e.Level, e.From = 1, refs(pick(names[1]))
		e.Parts = randomParts(s, e.From[0].Name, random)
	case Propose, Confirm:
		e.Parts = []Part{{To: pick(names[1]), Members: tags}}
	case Withdraw:
		e.From = tags
	case Revert:
		e.Note, e.Of = "", 1+random.IntN(s.Version()+1)
	}
	return e
}

// randomParts divides a group's members at random.
func randomParts(s *Session, name string, random *rand.Rand) []Part {
	parts := []Part{{To: name}, {To: "part " + name}}
	for i := range s.Draft().Tags {
		if t := s.Tag(i); t.Group == name {
			p := &parts[random.IntN(2)]
			p.Members = append(p.Members, t.Ref)
		}
	}
	return parts
}

// wander applies random edits, checks the invariants of the session after each, and returns it.
func wander(t testing.TB, d *labels.Draft, seed uint64, edits int) *Session {
	random := rand.New(rand.NewPCG(seed, 1))
	s := start(t, d)
	before := snapshot(t, s)
	for range edits {
		e := randomEdit(s, random)
		done, err := s.Apply(e, nil)
		after := snapshot(t, s)
		if err != nil {
			if !reflect.DeepEqual(before, after) {
				t.Fatalf("seed %d: %s %v was refused (%v) and changed the session", seed, e.Op, e.From, err)
			}
			continue
		}
		if random.IntN(4) == 0 {
			if _, err := s.Apply(Edit{Base: s.Version(), Op: Revert, Of: done.Seq}, nil); err != nil {
				t.Fatalf("seed %d: revert of the last edit %s: %v", seed, e.Op, err)
			}
			if undone := snapshot(t, s); !reflect.DeepEqual(before, undone) {
				t.Fatalf("seed %d: revert of %s %v does not bring back what was\n%v\n%v", seed, e.Op, e.From, before, undone)
			}
			after = before
		}
		before = after
	}
	return s
}

func checkReplay(t testing.TB, seed uint64) {
	d := churches(t)
	live := wander(t, d, seed, 60)
	again := start(t, d)
	report, err := again.Load(live.Edits())
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if !reflect.DeepEqual(snapshot(t, live), snapshot(t, again)) {
		t.Fatalf("seed %d: the replayed session differs from the live one", seed)
	}
	if sum := report.Applied + report.AlreadyTrue + report.Reverted; sum != report.Edits {
		t.Fatalf("seed %d: %+v does not add up", seed, report)
	}
	// What holds without the reverted edits is the same.
	plain := start(t, d)
	var kept []Edit
	for i, on := range Active(live.Edits()) {
		if e := live.Edits()[i]; on && e.Op != Revert {
			e.Seq, e.Base = len(kept)+1, len(kept)
			kept = append(kept, e)
		}
	}
	if _, err := plain.Load(kept); err != nil {
		t.Fatalf("seed %d: without the reverted edits: %v", seed, err)
	}
	if !reflect.DeepEqual(snapshot(t, live), snapshot(t, plain)) {
		t.Fatalf("seed %d: reverted edits left something behind", seed)
	}
}

func TestReplayEqualsTheLiveSession(t *testing.T) {
	for seed := range uint64(150) {
		checkReplay(t, seed)
	}
}

func FuzzReplayEqualsTheLiveSession(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkReplay(t, seed) })
}

// A log may come from anywhere. Whatever it contains, a replay ends with an error or a report.
func TestReplayOnAnotherDraftKeepsInvariants(t *testing.T) {
	other := draftOf(t, "peak: mountain@Q3 hillock", "church: church chapel2@Q2 temple", "span: bridge@Q77 viaduct@Q4")
	for seed := range uint64(60) {
		live := wander(t, churches(t), seed, 40)
		s := start(t, other)
		report, err := s.Replay(live.Edits(), Skip)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		done := report.Applied + report.AlreadyTrue + report.Partly + report.TargetGone + report.Impossible + report.Reverted
		if done != report.Edits || len(report.Conflicts) != report.Partly+report.TargetGone+report.Impossible {
			t.Fatalf("seed %d: %+v does not add up", seed, report)
		}
		before := snapshot(t, s)
		do(t, s, Edit{Op: Move, From: refs("viaduct@Q4"), To: "elsewhere"}, Edit{Op: Revert, Of: s.Version() + 1})
		if !reflect.DeepEqual(before, snapshot(t, s)) {
			t.Fatalf("seed %d: revert on another draft does not bring back what was", seed)
		}
	}
}

func TestReplayOnAnotherDraftReportsOutcomes(t *testing.T) {
	s := start(t, churches(t))
	do(t, s,
		Edit{Op: Accept, From: refs("church@Q1", "chapel@Q2"), To: "church"}, // chapel has another text now
		Edit{Op: Move, From: refs("hill"), To: "peak"},                       // gone
		Edit{Op: Move, From: refs("volcano", "aqueduct@Q4"), To: "odd"},      // volcano is gone
		Edit{Op: Rename, Level: 1, From: refs("bridge"), To: "span"},         // is called so already
		Edit{Op: Accept, From: refs("bridge"), To: "span"},                   // has an item now
		Edit{Op: Accept, From: refs("bridge"), To: "span"},                   // true by then
		Edit{Op: Drop, From: refs("cathedral")},
		Edit{Op: Revert, Of: 7},
	)
	other := draftOf(t, "peak: mountain@Q3 hillock", "church: church@Q1 chapelle@Q2", "span: bridge@Q77 viaduct@Q4")
	next := start(t, other)
	report := must.Get(next.Replay(s.Edits(), Skip))(t)
	want := Report{Edits: 8, Applied: 2, AlreadyTrue: 2, Partly: 1, TargetGone: 1, Reverted: 2,
		Conflicts: []Replayed{
			{Seq: 2, Op: Move, Outcome: TargetGone, Missing: refs("hill")},
			{Seq: 3, Op: Move, Outcome: Partly, Missing: refs("volcano")},
		},
		Unassigned: refs("mountain@Q3", "hillock"),
	}
	if !reflect.DeepEqual(report, want) {
		t.Errorf("report %+v,\nwant   %+v", report, want)
	}
	if g := group(t, next, 1, "church"); g == nil || g.Decided != 2 {
		t.Errorf("church %+v, want chapelle (Q2) in it as chapel was", g)
	}
	if g := group(t, next, 1, "odd"); g == nil || len(g.Members) != 1 || g.Members[0].Name != "viaduct" {
		t.Errorf("odd %+v, want viaduct (Q4), as aqueduct (Q4) was", g)
	}
	stopped := start(t, other)
	if _, err := stopped.Replay(s.Edits(), Stop); !errors.Is(err, ErrConflict) ||
		!strings.Contains(err.Error(), "edit 2") || stopped.Version() != 0 {
		t.Errorf("stop at the first conflict: %v", err)
	}
}

func TestReplaySkipsAmbiguousTags(t *testing.T) {
	s := start(t, draftOf(t, "a: fort@Q1 wall"))
	do(t, s, Edit{Op: Move, From: refs("fort@Q1"), To: "castle"})
	for _, tags := range []string{"a: fort@Q5 fort@Q6", "a: fort@Q9", "a: keep@Q1 ward@Q1"} {
		next := start(t, draftOf(t, tags))
		report, err := next.Replay(s.Edits(), Skip)
		if err != nil || report.TargetGone != 1 {
			t.Errorf("%s: %+v, %v; want the target gone", tags, report, err)
		}
	}
}

func TestLoadRejectsALogOfAnotherDraft(t *testing.T) {
	s := start(t, churches(t))
	do(t, s, Edit{Op: Move, From: refs("hill"), To: "church"})
	other := start(t, draftOf(t, "peak: mountain@Q3 hillock"))
	if _, err := other.Load(s.Edits()); err == nil || !strings.Contains(err.Error(), `no tag "hill"`) {
		t.Errorf("error %v", err)
	}
	for what, change := range map[string]func(*Edit){
		"numbered": func(e *Edit) { e.Seq = 2 }, "did not exist": func(e *Edit) { e.Base = 1 },
		"comes later": func(e *Edit) { *e = Edit{Seq: 1, Op: Revert, Of: 1} },
	} {
		edits := s.Edits()
		change(&edits[0])
		if _, err := start(t, churches(t)).Load(edits); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want one with %q", err, what)
		}
	}
}
