package loss_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/testing/conformance"
	"hgld/train/loss"
	"hgld/train/loss/definition"
)

// golden is a file of goldens/losses; its README describes the fields.
type golden struct {
	Loss, Compare    string
	Settings         settings
	Embeddings       [][]float64
	Labels           [][]int32
	Gallery          [][]float64
	GalleryLabels    [][]int32 `json:"gallery_labels"`
	GallerySelfIndex []int32   `json:"gallery_self_index"`
	Proxies          [][]float64
	ProxyLabels      [][]int32 `json:"proxy_labels"`
	Bias             []float64
	Amplitude        [][]float64  `json:"deviation_amplitude"`
	Mix              [][]float64  `json:"mix_coefficients"`
	Steps            []goldenStep `json:",omitempty"`
	NormalisedInside bool         `json:"normalised_inside"`
	Value            float64
	Grad             [][]float64 `json:"grad_embeddings"`
	GradProxies      [][]float64 `json:"grad_proxies"`
	GradBias         []float64   `json:"grad_bias"`

	GradNorm             float64   `json:"grad_norm"`
	GradRowNorms         []float64 `json:"grad_row_norms"`
	GradEntries          []entry   `json:"grad_entries,omitempty"`
	GradProxiesRowNorms  []float64 `json:"grad_proxies_row_norms"`
	memoryBesideTheBatch bool
	on                   device.Backend
	centers              int // proxies of a class
}

type entry struct {
	Row, Col int
	Value    float64
}

// row returns the row of a loss.
func row(t *testing.T, name string) loss.Row {
	t.Helper()
	for _, r := range loss.Rows {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no loss %s", name)
	return loss.Row{}
}

// allowed returns how far value and gradient of a loss in float32 may be from its golden values. Another
// order of sums deserves ten times the error of the reference, and not less than 1e-6 for values and 1e-5 for
// gradients.
func allowed(t *testing.T, name string) (value, gradient float64) {
	t.Helper()
	e := row(t, name).Rounding
	return max(1e-6, 10*e.Value), max(1e-5, 10*e.Gradient)
}

// float64Tolerance is what two implementations in float64 may differ by.
const float64Tolerance = 1e-9

// nothing is what a value may be off whatever its size: a loss is one minus a ratio,
// or a sum of such, and that is 1 within 1e-16 in float64, 6e-8 in float32. A perfect
// ranking has no relative error.
func nothing(tolerance float64) float64 {
	if tolerance > float64Tolerance {
		return 1e-8
	}
	return 1e-14
}

func TestGoldenDefinitions(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) (string, float64, float64) {
		if g.Steps != nil {
			return g.sequence(t, false)
		}
		tolerance := float64Tolerance
		if g.Loss == "csl" {
			tolerance = 3e-9 // torch's softplus is z from 20 on, where its slope is 2e-9 below 1
		}
		return compare(t, g, define(t, g.kind(t), g.batch()), float64Tolerance, tolerance)
	})
}

func TestGoldenLosses(t *testing.T) {
	eachGolden(t, func(t *testing.T, g *golden) (string, float64, float64) {
		if g.Steps != nil {
			return g.sequence(t, true)
		}
		value, gradient := allowed(t, g.Loss)
		return compare(t, g, forward(t, g.on, g.kind(t), g.batch()), value, gradient)
	})
}

// goldenFiles lists the files of goldens/losses, and those of testdata/losses, which
// scripts/build_detection_goldens.py writes.
func goldenFiles(t *testing.T) (files []string) {
	t.Helper()
	for _, dir := range []string{goldens.Dir(t, "losses"), filepath.Join("testdata", "losses")} {
		list, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(list) == 0 {
			t.Fatalf("no cases in %s: %v", dir, err)
		}
		files = append(files, list...)
	}
	return files
}

// eachGolden runs test on every file and logs the largest errors of each loss.
func eachGolden(t *testing.T, test func(*testing.T, *golden) (name string, value, grad float64)) {
	files := goldenFiles(t)
	b := conformance.CardOr(t, backend())
	type worst struct {
		cases       int
		value, grad float64
	}
	all := map[string]worst{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run("losses/"+name, func(t *testing.T) {
			g := golden{on: b}
			goldens.ReadJSON(t, file, &g)
			l, v, d := test(t, &g)
			w := all[l]
			all[l] = worst{w.cases + 1, max(w.value, v), max(w.grad, d)}
		})
	}
	for _, l := range slices.Sorted(maps.Keys(all)) {
		t.Logf("%-22s %3d cases, largest error: value %.1e, gradient %.1e", l, all[l].cases, all[l].value, all[l].grad)
	}
}

func (g *golden) batch() *batch {
	b := &batch{Query: g.Embeddings, Labels: g.Labels, Proxies: g.Proxies, Bias: g.Bias, Paths: g.ProxyLabels,
		Centers: g.centers}
	switch {
	case g.Amplitude != nil:
		b.Drawn = g.Amplitude
	case g.Mix != nil:
		b.Drawn, b.PerClass = g.Mix, int(math.Round((1+math.Sqrt(1+8*float64(len(g.Mix[0]))))/2)) // P·(P−1)/2 pairs
	}
	switch {
	case g.Gallery == nil:
		return b.Own()
	case g.memoryBesideTheBatch:
		b.Own().Memory = &batch{Gallery: g.Gallery, Against: g.GalleryLabels, Self: g.GallerySelfIndex}
	default:
		b.Gallery, b.Against, b.Self = g.Gallery, g.GalleryLabels, g.GallerySelfIndex
	}
	return b
}

// compare checks value and gradients, relative to the largest number of each.
func compare(t *testing.T, g *golden, got result, valueTolerance, gradTolerance float64) (name string, value,
	worst float64) {
	off := math.Abs(got.Value - g.Value)
	if value = off; math.Abs(g.Value) > nothing(valueTolerance) {
		value /= math.Abs(g.Value)
	}
	if !(off <= nothing(valueTolerance) || value <= valueTolerance) {
		t.Errorf("value %.17g, want %.17g: relative error %.2g, allowed %.2g", got.Value, g.Value, value, valueTolerance)
	}
	check := func(what string, err float64) {
		worst = max(worst, err)
		if !(err <= gradTolerance) {
			t.Errorf("%s: relative error %.2g, allowed %.2g", what, err, gradTolerance)
		}
	}
	if g.Compare == "tangent" {
		// A large case has norms and entries of the whole gradient, whose radial part
		// depends on the side of the kink on which rounding puts a row's own score.
		if g.Grad == nil && gradTolerance > float64Tolerance {
			return g.Loss, value, worst
		}
		if g.Grad != nil {
			got.Query, g.Grad = definition.Tangent(got.Query, g.Embeddings), definition.Tangent(g.Grad, g.Embeddings)
		}
	} else if g.Compare != "full" {
		t.Errorf("compare is %q", g.Compare)
	}
	if g.Grad != nil && largest(g.Grad) <= nothing(gradTolerance) {
		check("gradient, which is 0", largest(got.Query)/nothing(gradTolerance)*gradTolerance)
	} else if g.Grad != nil {
		check("gradient", farthest(got.Query, g.Grad))
	} else {
		check("gradient's norm", farthest([][]float64{{norm(got.Query...)}}, [][]float64{{g.GradNorm}}))
		check("gradient's rows", farthest([][]float64{rowNorms(got.Query)}, [][]float64{g.GradRowNorms}))
		most := largest(got.Query)
		for _, e := range g.GradEntries {
			check("gradient's entries", math.Abs(got.Query[e.Row][e.Col]-e.Value)/most)
		}
	}
	if g.GradProxies != nil {
		check("gradient of the proxies", farthest(got.Proxies, g.GradProxies))
	} else if g.GradProxiesRowNorms != nil {
		check("gradient's rows of the proxies",
			farthest([][]float64{rowNorms(got.Proxies)}, [][]float64{g.GradProxiesRowNorms}))
	}
	if g.GradBias != nil {
		check("gradient of the bias", farthest([][]float64{got.Bias}, [][]float64{g.GradBias}))
	}
	return g.Loss, value, worst
}

func norm(rows ...[]float64) float64 {
	s := 0.0
	for _, r := range rows {
		s += dot(r, r)
	}
	return math.Sqrt(s)
}

func largest(x [][]float64) (m float64) {
	for _, row := range x {
		for _, v := range row {
			m = max(m, math.Abs(v))
		}
	}
	return m
}

func rowNorms(x [][]float64) (n []float64) {
	for _, r := range x {
		n = append(n, norm(r))
	}
	return n
}

// settings are the parameters of a case. What a test has understood it takes out,
// and nothing may be left.
type settings map[string]json.RawMessage

// kind is the loss with every setting as the file has it, none at its default.
func (g *golden) kind(t *testing.T) loss.Kind {
	t.Helper()
	s := maps.Clone(g.Settings)
	if g.Loss == "recall-at-k-original" {
		return g.recallAtKOriginal(t, s)
	}
	switch g.Loss {
	case "roadmap", "happier", "rod-ndcg", "rod-recall":
		return g.composition(t, s)
	case "sum-triplet":
		return into(t, s, loss.SumTriplet{}).Released()
	}
	for key, only := range map[string]string{"reduction": "mean", "level": "MULTI"} { // what the losses do
		if string(s[key]) == `"`+only+`"` {
			delete(s, key)
		}
	}
	if s["relevance"] != nil {
		s.relevance(t)
	}
	g.translate(t, s)
	if s["num_centers"] != nil {
		must.Do(t, json.Unmarshal(s["num_centers"], &g.centers))
	}
	k := reflect.New(reflect.TypeOf(row(t, g.Loss).Value))
	decode(t, s, k.Interface())
	return k.Elem().Interface().(loss.Kind)
}

// recallAtKOriginal writes its rules as sentences; they are what the loss does.
func (g *golden) recallAtKOriginal(t *testing.T, s settings) loss.Kind {
	t.Helper()
	if s["self_in_gallery"] != nil {
		s.expect(t, "self_in_gallery", "counted in the ranks, not a positive")
	}
	s.expect(t, "clip_at_k", true)
	if g.Mix == nil {
		s.expect(t, "normaliser", "min(k, m-1)")
		s.expect(t, "reduction", "sum over queries / B")
	} else {
		g.mixedRows(t, s)
	}
	if s["temps"] != nil {
		s.rename("temps", "temp")
	}
	return into(t, s, loss.RecallAtKOriginal{})
}

// mixedRows brings the coefficients of SiMix, given for the classes as they stand in
// the batch and for pairs in the file's order, into ours.
func (g *golden) mixedRows(t *testing.T, s settings) {
	t.Helper()
	rows := g.batch().PerClass
	n := rows + len(g.Mix[0])
	s.expect(t, "normaliser", fmt.Sprintf("min(k, m-1) with m = %d", n))
	s.expect(t, "reduction", fmt.Sprintf("sum over the B*%d/%d rows / that number", n, rows))
	var order [][2]int
	s.take(t, "pair_order", &order)
	type class struct {
		label int32
		mix   []float64
	}
	var classes []class
	for c, mix := range g.Mix {
		in := class{g.Labels[c*rows][0], nil}
		for _, p := range definition.Circle(rows) {
			at := slices.Index(order, p)
			if at < 0 {
				t.Fatalf("pair_order has no %v", p)
			}
			in.mix = append(in.mix, mix[at])
		}
		classes = append(classes, in)
	}
	slices.SortFunc(classes, func(a, b class) int { return int(b.label - a.label) })
	for c := range classes {
		g.Mix[c] = classes[c].mix
	}
}

func (s settings) take(t *testing.T, key string, v any) {
	t.Helper()
	if err := json.Unmarshal(s[key], v); err != nil {
		t.Fatalf("setting %s: %v", key, err)
	}
	delete(s, key)
}

// expect takes a setting that must have the one value that we have.
func (s settings) expect(t *testing.T, key string, want any) {
	t.Helper()
	text, err := json.Marshal(want)
	if sentence, ok := want.(string); ok {
		text = []byte(`"` + sentence + `"`) // Marshal would escape a <
	}
	if err != nil || string(s[key]) != string(text) {
		t.Fatalf("setting %s is %s, want %s", key, s[key], text)
	}
	delete(s, key)
}

// push moves a setting into others that are structs.
func (s settings) push(t *testing.T, key string, into ...string) {
	t.Helper()
	for _, name := range into {
		var inner settings
		if err := json.Unmarshal(s[name], &inner); err != nil {
			t.Fatalf("setting %s: %v", name, err)
		}
		inner[key] = s[key]
		s[name], _ = json.Marshal(inner)
	}
	delete(s, key)
}

// relevance renames the alpha of a map, which is a list, to weights.
func (s settings) relevance(t *testing.T) {
	t.Helper()
	var r settings
	if err := json.Unmarshal(s["relevance"], &r); err != nil {
		t.Fatalf("setting relevance: %v", err)
	}
	if string(r["type"]) == `"map"` {
		r["weights"] = r["alpha"]
		delete(r, "alpha")
	}
	s["relevance"], _ = json.Marshal(r)
}
