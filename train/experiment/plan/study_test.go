package plan

import (
	"testing"
)

const tiny = `hgld_study: 1
title: Two losses
differs: [other images]
vary:
  loss:
    A: {loss: smooth-ap, paper: {table: V, method: Smooth-AP, part: sop}}
    B_2: {loss: happier}
seeds: [1, 2, 3]
metrics: [AP_level0, H-AP]
comparisons:
  - title: B is better
    from: A
    expect: higher
    paper: "yes"
figures:
  - title: Metrics over the rate
    x: optim.lr
    metrics: [H-AP]
`

func same(path string) string { return path }

func TestEveryStudyCanBePlanned(t *testing.T) {
	list, err := Studies()
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
		}
	}
}
