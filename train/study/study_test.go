package study

import (
	"testing"
)

func same(path string) string { return path }

func TestEveryStudyCanBePlanned(t *testing.T) {
	list, err := All()
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, s := range list {
		for _, scale := range []Scale{{}, {Small: true, Set: []string{"steps=5"}}} {
			p, err := s.Make("studies/x", scale, same)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
				continue
			}
			if want := len(p.Variants) * len(s.Seeds); len(p.Runs) != want {
				t.Errorf("%s: %d runs, want %d", s.Name, len(p.Runs), want)
			}
			if _, err := p.Report(); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
}
