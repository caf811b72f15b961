package curate

import (
	"fmt"
	"testing"

	"hgld/internal/testing/must"
	"hgld/labels"
)

// benchDraft is a draft of n tags in clusters of 38, as many as those of H-GLDv2
// have.
func benchDraft(n int) *labels.Draft {
	d := &labels.Draft{Version: labels.DraftVersion}
	for i := range n {
		if i%38 == 0 {
			d.Clusters = append(d.Clusters, labels.Cluster{ID: i / 38, Name: fmt.Sprintf("cluster %d", i/38)})
		}
		c := &d.Clusters[len(d.Clusters)-1]
		c.Members = append(c.Members, labels.Member{Tag: i})
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: fmt.Sprintf("tag %d", i), QID: fmt.Sprintf("Q%d", i+1)},
			Landmarks: 1})
	}
	return d
}

// eachSize runs a benchmark on a session with the given number of edits, with as many labels as
// GLDv2 has and with ten times as many.
func eachSize(b *testing.B, edits int, bench func(b *testing.B, s *Session)) {
	for _, n := range []int{5700, 57000} {
		b.Run(fmt.Sprintf("labels=%d", n), func(b *testing.B) {
			s := start(b, benchDraft(n))
			for range edits {
				moveNext(b, s)
			}
			b.ResetTimer()
			bench(b, s)
		})
	}
}

// moveNext moves the next label to another group.
func moveNext(b *testing.B, s *Session) {
	i := s.Version() * 7919 % len(s.Draft().Tags)
	t := s.Draft().Tags[i]
	if _, err := s.Apply(Edit{Base: s.Version(), Op: Move, From: []Ref{{t.Name, t.QID}},
		To: fmt.Sprintf("group %d", s.Version()%78)}, nil); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkApply applies an edit of one label.
func BenchmarkApply(b *testing.B) {
	eachSize(b, 0, func(b *testing.B, s *Session) {
		for b.Loop() {
			moveNext(b, s)
		}
	})
}

// BenchmarkUndo undoes the last of 5,000 edits and redoes it.
func BenchmarkUndo(b *testing.B) {
	eachSize(b, 5000, func(b *testing.B, s *Session) {
		for b.Loop() {
			undo, redo := s.Undo("")
			of := undo
			if redo > 0 {
				of = redo
			}
			if _, err := s.Apply(Edit{Base: s.Version(), Op: Revert, Of: of}, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRevert reverts the first of 5,000 edits and restores it. All later edits are applied
// again.
func BenchmarkRevert(b *testing.B) {
	eachSize(b, 5000, func(b *testing.B, s *Session) {
		of := 1
		for b.Loop() {
			e := must.Get(s.Apply(Edit{Base: s.Version(), Op: Revert, Of: of}, nil))(b)
			of = e.Seq
		}
	})
}
