package main

import (
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/config"
	"hgld/train/experiment/plan"
	"hgld/train/experiment/report"
	"hgld/train/loss"
)

// hasProxies reports whether a recipe's loss trains proxies.
func hasProxies(t *testing.T, r plan.Recipe, c *config.Config) bool {
	t.Helper()
	table := must.Get(loss.Presets.Get("preset", c.Loss.Preset))(t)
	kind := must.Get(table.Get("loss", c.Loss.Name))(t)
	facts := loss.Facts{Classes: []int{4, 2}, Dim: 8, Batch: 8, PerClass: 4}
	if c.Loss.Name == "csl" {
		return true
	}
	l, err := kind.New(facts)
	if err != nil {
		t.Fatalf("%s: %v", r.Name, err)
	}
	trained, is := l.(loss.Trained)
	return is && len(trained.Params()) > 0
}

// Proxies are trained as the released configurations have it: DyML's by SGD, those of
// transformers by AdamW, and by the head's optimizer where they name that.
func TestRecipesTrainProxiesAsPublished(t *testing.T) {
	list := must.Get(plan.Recipes())(t)
	rules := map[string]int{}
	for _, r := range list {
		s := must.Get(recipeSettings(r))(t)
		proxies := hasProxies(t, r, &s.Config)
		notes := strings.Join(append(r.Differs, r.Guessed...), "\n")
		if !proxies {
			if strings.Contains(notes, "prox") || s.Optim.Proxies.Name != "" {
				t.Errorf("%s has no proxies, and speaks of them: %s", r.Name, notes)
			}
			continue
		}
		want := ""
		switch {
		case strings.HasPrefix(r.Name, "dyml-"):
			want = "sgd"
		case strings.Contains(r.Name, "deit") || strings.Contains(r.Name, "vit"):
			want = "adamw"
		}
		if s.Optim.Proxies.Name != want {
			t.Errorf("%s: the proxies' rule is %q, want %q", r.Name, s.Optim.Proxies.Name, want)
		}
		if want != "" && (s.Optim.ProxyDecay != s.Optim.Decay ||
			s.Optim.ProxyRate != s.Optim.Rate*s.Optim.HeadFactor && s.Optim.ProxyRate != s.Optim.Rate) {
			t.Errorf("%s: proxies have rate %v and decay %v, the network %v and %v", r.Name, s.Optim.ProxyRate,
				s.Optim.ProxyDecay, s.Optim.Rate, s.Optim.Decay)
		}
		rules[want]++
	}
	if rules["sgd"] != 15 || rules["adamw"] != 6 {
		t.Errorf("%v, want 15 recipes of DyML and 6 of transformers", rules)
	}
	for name, want := range map[string][2]float64{"inat-base/nsm": {2e-5, 4e-4}, "inat-full/nsm": {2e-5, 4e-4},
		"inat-full/sum-nsm": {2e-5, 4e-4}, "sop/sum-nsm": {10, 0}} {
		r := must.Get(plan.GetRecipe(name))(t)
		s := must.Get(recipeSettings(r))(t)
		if got := [2]float64{s.Optim.ProxyRate, s.Optim.ProxyDecay}; got != want || len(r.Guessed) > 0 ||
			(s.Schedule.Proxies.Name == "cosine") != (want[0] == 10) {
			t.Errorf("%s: rate and decay %v, want %v; schedule %q, guessed %v", name, got, want,
				s.Schedule.Proxies.Name, r.Guessed)
		}
	}
}

func TestRecipesAreValidAndHaveTheirRows(t *testing.T) {
	list := must.Get(plan.Recipes())(t)
	for _, r := range list {
		s, err := recipeSettings(r)
		if err == nil {
			err = s.Config.Check(r.Classes...)
		}
		if err == nil {
			_, err = report.PaperRows(r, nil)
		}
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}
