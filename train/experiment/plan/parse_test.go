package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/usage"
)

// Every mistake in a file is an error that names its place and, where there is one, the right word.
func TestMistakesInAStudyAreNamed(t *testing.T) {
	const good = `hgld_study: 1
title: T
train: {steps: 5}
vary:
  loss: {A: {loss: smooth-ap}, B: {loss: happier}}
  optim.lr: [1.0e-3, 1.0e-2]
seeds: [1]
metrics: [H-AP]
tables: [{title: T, by: loss, only: [A]}]
comparisons: [{title: C, from: A}]
figures: [{title: F, x: optim.lr}]
`
	make := func(text string) error {
		s, err := parse("x", "x.yaml", []byte(text))
		if err != nil {
			return err
		}
		_, err = s.Make("d", Scale{}, same)
		return err
	}
	must.Do(t, make(good))
	for _, c := range []struct{ old, new, want string }{
		{"hgld_study: 1", "hgld_study: 2", "reads format version 1"},
		{"hgld_study: 1\n", "", "hgld_study is missing"},
		{"title: T\n", "titel: T\n", `x.yaml:2: unknown key "study.titel": did you mean "study.title"`},
		{"title: T\n", "", "title is missing"},
		{"seeds: [1]", "seeds: []", "seeds is empty"},
		{"seeds: [1]", "seeds: [1, 1]", "seeds has 1 twice"},
		{"seeds: [1]", "seeds: [x]", "x.yaml:7: study.seeds"},
		{"metrics: [H-AP]", "metrics: []", "metrics is empty"},
		{"metrics: [H-AP]", "metrics: [mAP@7_level0]", `no run measures "mAP@7"`},
		{"steps: 5", "stps: 5", `x.yaml:3: unknown key "train.stps": did you mean "train.steps"`},
		{"A: {loss: smooth-ap}", "A: {loss: smooth-app}", `did you mean "smooth-ap"`},
		{"A: {loss: smooth-ap}", "A: {recipe: sop/hapier}", `did you mean "sop/happier"`},
		{"A: {loss: smooth-ap}", "A: {paper: {table: V, method: X, part: sop}}", `table V has no row "X"`},
		{"A: {loss: smooth-ap}", "A: smooth-ap", "x.yaml:5: vary.loss.A: want settings"},
		{"B: {loss: happier}", "A: {loss: happier}", `the option "A" is also one of`},
		{"optim.lr: [", "optim.lrr: [", `x.yaml:6: vary: unknown setting "optim.lrr": did you mean "optim.lr"`},
		{"optim.lr: [1.0e-3, 1.0e-2]", "optim.lr: 1", "vary.optim.lr: want a list of values"},
		{"optim.lr: [1.0e-3, 1.0e-2]", "optim.lr: []", "vary.optim.lr has no options"},
		{"optim.lr: [1.0e-3, 1.0e-2]", "optim.lr: [a]", "train.optim.lr"},
		{"optim.lr: [1.0e-3, 1.0e-2]", "optim.lr: [-1]", "optim.lr is -1"},
		{"by: loss", "by: los", `tables[0].by: unknown factor "los": did you mean "loss"`},
		{"only: [A]", "only: [C]", `tables[0].only: unknown option "C"`},
		{"only: [A]", "onli: [A]", `did you mean "tables.only"`},
		{"from: A", "from: C", `comparisons[0].from: unknown option "C"`},
		{"from: A", "from: A, of: [lr=1.0e-3]", "are options of different factors"},
		{"from: A", "from: A, expect: better", `expect is "better", want higher or lower`},
		{"x: optim.lr", "x: optim.rate", `unknown setting "optim.rate"`},
		{"x: optim.lr", "x: loss.name", "want a number"},
		{"metrics: [H-AP]", "metrics: [H-AP]\ninterval: normal", `unknown interval "normal"`},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		err := make(text)
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, new(*usage.Error)) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

// The backbone of a head on vectors, and so its settings, is known once the vectors are read.
func TestHeadsOnVectorsCanBePlanned(t *testing.T) {
	s, err := parse("x", "x.yaml", []byte(`hgld_study: 1
title: T
train: {embeddings: v.npy, labels: "v-{seed}.csv"}
vary: {model.backbone.settings.hidden: [0, 32]}
seeds: [1]
metrics: [H-AP]
figures: [{title: F, x: model.backbone.settings.hidden}]
`))
	must.Do(t, err)
	p, err := s.Make("d", Scale{}, same)
	must.Do(t, err)
	if got := p.Runs[1].Files(); !slices.Equal(got, []string{"v.npy", "v-1.csv"}) {
		t.Errorf("inputs %v", got)
	}
}

// Later sources override earlier ones: recipe, train, options, the small form, assignments, seed. A small
// form keeps what a factor varies.
func TestSettingsComeFromTheirSources(t *testing.T) {
	s, err := parse("x", "x.yaml", []byte(`hgld_study: 1
title: T
recipe: "sop/{method}"
train: {optim: {weight_decay: 0.5}, hold_out: 0.5}
vary:
  method: [happier, csl]
  sampler.batch: [80, 160]
  rate: {slow: {optim.lr: 2.0e-5}}
seeds: [7]
hold_out_by_seed: true
metrics: [H-AP]
`))
	must.Do(t, err)
	p, err := s.Make("d", Scale{Set: []string{"steps=9"}, Seeds: 2}, func(path string) string { return "project/" + path })
	must.Do(t, err)
	if len(p.Runs) != 8 || p.Runs[7].Name != "csl-batch-160-slow-seed8" {
		t.Fatalf("%d runs, the last is %s", len(p.Runs), p.Runs[len(p.Runs)-1].Name)
	}
	own := p.Runs[1].Settings
	if own.Loss.Name != "happier" || own.Loss.Preset != "released" || own.Optim.Decay != 0.5 || own.Optim.Rate != 2e-5 ||
		own.Sampler.Batch != 160 || own.Steps != 9 || own.Seed != 7 || own.Images.HoldOutSeed != 7 ||
		own.Images.Data != "project/shards" || own.Model.Weights != "project/resnet50.safetensors" {
		t.Errorf("%+v", own)
	}
	if p, err = s.Make("d", Scale{Small: true}, same); err != nil {
		t.Fatal(err)
	}
	own = p.Runs[1].Settings
	if own.Sampler.Batch != 160 || own.Sampler.Name != "m-per-class" || len(own.Sampler.Settings) > 0 ||
		own.Model.Backbone.Name != "convnet" || own.Model.Weights != "" || own.Loss.Name != "happier" ||
		own.Images.Query != "" {
		t.Errorf("%+v", own)
	}
}

// A file of a few kilobytes can name more runs than fit into memory: they are counted before one is made.
func TestRunsAreCountedBeforeTheyAreMade(t *testing.T) {
	text := "hgld_study: 1\ntitle: t\nseeds: [1]\nmetrics: [R@1_level0]\nvary:\n"
	for i, key := range []string{"optim.lr", "optim.weight_decay", "loss.settings.tau"} {
		var values []string
		for k := range 1000 {
			values = append(values, fmt.Sprintf("0.%d%03d", i+1, k+1))
		}
		text += fmt.Sprintf("  %s: [%s]\n", key, strings.Join(values, ", "))
	}
	s, err := parse("s", "s.yaml", []byte(text))
	must.Do(t, err)
	same := func(path string) string { return path }
	if _, err := s.Make("", Scale{}, same); err == nil || !strings.Contains(err.Error(), "make more than 10000 runs") {
		t.Errorf("%v, want a refusal of a billion runs", err)
	}
	if _, err := s.Make("", Scale{Limit: 2, Seeds: 1 << 40}, same); err == nil {
		t.Error("a trillion seeds were accepted")
	}
	p, err := s.Make("", Scale{Limit: 2}, same)
	must.Do(t, err)
	if len(p.Runs) != 2 || p.All < 1e9 {
		t.Errorf("%d runs of %d variants, want 2 of a billion", len(p.Runs), p.All)
	}
}
