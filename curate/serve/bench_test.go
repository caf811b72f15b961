package serve

import (
	"encoding/json"
	"fmt"
	"testing"

	"hgld/curate"
)

// BenchmarkEdit is an edit of one label among 57,000 as the page sees it: request,
// session, disk, answer.
func BenchmarkEdit(b *testing.B) {
	_, a, _ := newServer(b, testDraft(57000), nil)
	version := 0
	for b.Loop() {
		body, err := json.Marshal(move(version, fmt.Sprint(version), "group", version%57000))
		if err != nil {
			b.Fatal(err)
		}
		resp, text := a.do("POST", "/api/edit", string(body), nil)
		if version++; resp.StatusCode != 200 {
			b.Fatal(text)
		}
	}
}

// BenchmarkApply is the part of it that the session does.
func BenchmarkApply(b *testing.B) {
	s, err := curate.NewSession(testDraft(57000), nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		e := curate.Edit{Base: s.Version(), Op: curate.Move, To: "group", From: []curate.Ref{{Name: fmt.Sprintf("tag %d", s.Version()%57000)}}}
		if _, err := s.Apply(e, nil); err != nil {
			b.Fatal(err)
		}
	}
}
