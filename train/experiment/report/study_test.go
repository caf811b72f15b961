package report

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/report"
	"hgld/internal/testing/must"
	"hgld/internal/testing/testfile"
	"hgld/train/experiment/plan"
	"hgld/train/retrieval"
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

// finished reports a study whose runs have the given values in percent, by variant, seed and metric.
func finished(t *testing.T, text string, values map[string][][]float64) (*Report, *plan.Plan) {
	t.Helper()
	dir := t.TempDir()
	testfile.Write(t, dir, "tiny.yaml", text)
	s, err := plan.GetStudy(filepath.Join(dir, "tiny.yaml"))
	must.Do(t, err)
	p, err := s.Make(dir, plan.Scale{}, func(path string) string { return path })
	must.Do(t, err)
	var states []*plan.State
	for _, r := range p.Runs {
		state := &plan.State{Run: r, Phase: plan.Pending}
		if of := values[r.Variant.Label()]; len(of) >= int(r.Seed) {
			state.Phase, state.Result = plan.Finished, &retrieval.Result{On: "test"}
			for i, key := range s.Metrics {
				state.Result.Values = append(state.Result.Values,
					retrieval.Value{Key: key, Mean: retrieval.Number(of[r.Seed-1][i] / 100)})
			}
		}
		states = append(states, state)
	}
	r, err := of(p, states, report.Style{})
	must.Do(t, err)
	return r, p
}

// The means and intervals are computed by hand: for three values with deviation s, Student's interval
// is the mean ± 4.3027·s/√3; 99, 100 and 98 reach 101.48, which is cut off. The differences of H-AP are
// 1, 2 and 3: t = 2√3 with two degrees of freedom has P = 1 − t/√(t²+2) = 0.0742. Those of AP_level0 are
// 9.9, 10 and 10.1: t = 100√3 has P = 3.3e-5, twice which is Holm's.
func TestReportHasKnownValues(t *testing.T) {
	r, p := finished(t, tiny, map[string][][]float64{
		"A":   {{89, 41}, {90, 42}, {88, 43}},
		"B_2": {{98.9, 42}, {100, 44}, {98.1, 46}},
	})
	for _, c := range []struct{ format, want string }{
		{"markdown", `# Two losses

6 of 6 runs are finished.

## Two losses

| % | n | AP_level0 | H-AP |
|---|---:|---:|---:|
| A | 3 | 89.00 [86.52, 91.48] | 42.00 [39.52, 44.48] |
| quoted: Smooth-AP, table V, sop |  | 60.8 | 42.9 |
| B_2 | 3 | 99.00 [96.63, 100.00] | 44.00 [39.03, 48.97] |

n runs: their mean and its 95 % interval by Student's t; not comparable with the quoted numbers: other images

## B is better

| % | metric | difference | 95 % interval | P | Holm | pairs | verdict |
|---|---:|---:|---:|---:|---:|---:|---:|
| B_2 − A | AP_level0 | +10.00 | +9.75 to +10.25 | <0.0001 | <0.0001 | 3 | higher |
| B_2 − A | H-AP | +2.00 | -0.48 to +4.48 | 0.0742 | 0.0742 | 3 | undecided |

the claim is supported in part: 1 of 2 differences are higher, the others undecided; in the paper (quoted): yes; Student's interval of differences seed by seed; Holm: P corrected for all differences of this table; a verdict needs one of at most 0.05
`},
		{"latex", `% Two losses
% 6 of 6 runs are finished.

% Two losses
\begin{tabular}{lrr}
\toprule
\% & AP\_level0 & H-AP \\
\midrule
Smooth-AP & \underline{89.0} $\pm$ 1.0 & \underline{42.0} $\pm$ 1.0 \\
quoted, table V & 60.8 & 42.9 \\
B\_2 & \textbf{99.0} $\pm$ 1.0 & \textbf{44.0} $\pm$ 2.0 \\
\bottomrule
\end{tabular}
% mean and deviation over the seeds; bold: the best mean, underlined: the second
% not comparable with the quoted numbers: other images
`},
		{"csv", `table,variant,metric,mean,deviation,low,high,runs,diverged,quoted,paper,paper_table,paper_row,verdict
Two losses,A,AP_level0,89.0000,1.0000,86.5159,91.4841,3,0,60.80,"Ramzi et al., Optimization of Rank Losses for Image Retrieval",V,"Smooth-AP, sop",not comparable: other images
Two losses,A,H-AP,42.0000,1.0000,39.5159,44.4841,3,0,42.90,"Ramzi et al., Optimization of Rank Losses for Image Retrieval",V,"Smooth-AP, sop",not comparable: other images
Two losses,B_2,AP_level0,99.0000,0.9539,96.6303,100.0000,3,0,,,,,
Two losses,B_2,H-AP,44.0000,2.0000,39.0317,48.9683,3,0,,,,,
`},
	} {
		var b bytes.Buffer
		must.Do(t, r.Text(&b, c.format))
		got := b.String()
		if c.format == "latex" {
			got, _, _ = strings.Cut(got, "\n\n% B is better")
			got += map[bool]string{true: "", false: "\n"}[strings.HasSuffix(got, "\n")]
		}
		if got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.format, got, c.want)
		}
	}
	must.Do(t, r.Write(p.Dir))
	for _, name := range r.Files() {
		if info, err := os.Stat(filepath.Join(p.Dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, "figure-1.csv"))
	want := "curve,variant,optim.lr,mean,deviation,low,high,runs\n" +
		"H-AP,A,0.001,42.0000,1.0000,39.5159,44.4841,3\nH-AP,B_2,0.001,44.0000,2.0000,39.0317,48.9683,3\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}

// A logarithmic axis shows 0 at its edge, beside other values: a figure with that point alone is left out. The bars of
// two seeds are drawn, too, which made a study panic.
func TestLogarithmicFigureShowsZeroAtItsEdge(t *testing.T) {
	text := `hgld_study: 1
title: Slopes
vary: {loss.settings.rho: [0, 10]}
train: {loss: sup-ap}
seeds: [1, 2]
metrics: [H-AP]
figures: [{title: slope, x: loss.settings.rho, log: true}]
`
	for _, c := range []struct {
		values map[string][][]float64
		want   int
	}{
		{map[string][][]float64{"rho=0": {{40}, {42}}}, 0},
		{map[string][][]float64{"rho=0": {{40}, {42}}, "rho=10": {{41}, {43}}}, 4},
	} {
		r, p := finished(t, text, c.values)
		must.Do(t, r.Write(p.Dir))
		pictures, err := filepath.Glob(filepath.Join(p.Dir, "figure-*"))
		if err != nil || len(pictures) != c.want || r.Figures[0].Failure != "" {
			t.Errorf("%v: %v, %v, %s", c.values, pictures, err, r.Figures[0].Failure)
		}
	}
}

// The increase over an option is relative and taken seed by seed; its interval may leave 0 to 100 %.
func TestAFigureDrawsTheIncreaseOverAnOption(t *testing.T) {
	text := `hgld_study: 1
title: Batches
vary:
  method:
    plain: {loss: smooth-ap}
    better: {loss: sup-ap}
  sampler.batch: [8, 16]
seeds: [1, 2]
metrics: [H-AP]
figures: [{title: gain, x: sampler.batch, from: plain}]
`
	r, _ := finished(t, text, map[string][][]float64{"plain, batch=8": {{20}, {40}}, "better, batch=8": {{50}, {80}},
		"plain, batch=16": {{50}, {50}}, "better, batch=16": {{40}, {45}}})
	if len(r.Figures) != 1 || len(r.Figures[0].Curves) != 1 {
		t.Fatalf("%+v", r)
	}
	points := r.Figures[0].Curves[0].Points
	if len(points) != 2 || points[0].X != 8 || points[0].Y.Mean != 125 || math.Abs(float64(points[1].Y.Mean)+15) > 1e-9 ||
		points[0].Y.High < 200 || points[1].Y.Low > -20 || points[0].Y.Count != 2 {
		t.Errorf("%+v, want 150 and 100, and −20 and −10 %%", points)
	}
}

// Legends, axes and LaTeX have the papers' names of losses, and files of numbers those of options.
func TestFiguresHaveTheNamesOfThePapers(t *testing.T) {
	text := `hgld_study: 1
title: Batches
vary:
  method:
    sup-ap: {loss: sup-ap}
    loss=roadmap: {loss: roadmap}
  sampler.batch: [8, 16]
seeds: [1]
metrics: [H-AP]
tables: [{title: All, by: sampler.batch}]
comparisons: [{title: gain, from: sup-ap}]
figures: [{title: each, x: sampler.batch, by: method}, {title: gain, x: sampler.batch, from: sup-ap}]
`
	r, p := finished(t, text, map[string][][]float64{"sup-ap, batch=8": {{20}}, "sup-ap, batch=16": {{30}},
		"loss=roadmap, batch=8": {{25}}, "loss=roadmap, batch=16": {{40}}})
	must.Do(t, r.Write(p.Dir))
	for name, want := range map[string][]string{
		"figure-1.svg": {">Sup-AP<", ">ROADMAP<"}, "figure-2.svg": {"over Sup-AP (%)"},
		"figure-1.csv": {"\nsup-ap,", "\nloss=roadmap,"}, LatexFile: {"\nSup-AP & ", "\nROADMAP & ", "\nROADMAP $-$ Sup-AP"},
	} {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		for _, w := range want {
			if err != nil || !strings.Contains(string(text), w) {
				t.Errorf("%s: %v\n%s\nlacks %s", name, err, text, w)
			}
		}
	}
}

// A published number counts as within the interval if one that is rounded to it is.
func TestVerdictsBesideAPublishedNumber(t *testing.T) {
	text := strings.Replace(tiny, "differs: [other images]\n", "", 1)
	for _, c := range []struct {
		ap   [3]float64
		want string
	}{
		{[3]float64{60, 61, 62}, "the paper's number is within the interval"}, // 60.8
		{[3]float64{60.8399, 60.84, 60.8401}, "the paper's number is within the interval"},
		{[3]float64{60.8599, 60.86, 60.8601}, "above the paper's number"},
		{[3]float64{60.7399, 60.74, 60.7401}, "below the paper's number"},
		{[3]float64{61, 61, 61}, "+0.20; equal runs have no interval"}, // which say nothing about their spread
	} {
		r, _ := finished(t, text, map[string][][]float64{"A": {{c.ap[0], 1}, {c.ap[1], 2}, {c.ap[2], 3}}})
		if got := r.Tables[0].Rows[0].Quoted.Verdicts[0]; got != c.want {
			t.Errorf("%v: %s, want %s", c.ap, got, c.want)
		}
	}
	r, _ := finished(t, text, map[string][][]float64{"A": {{61, 1}}})
	if q := r.Tables[0].Rows[0].Quoted; q.Verdicts[0] != "+0.20; one run has no interval" {
		t.Errorf("%+v", q)
	}
}

func TestClaimsHaveVerdicts(t *testing.T) {
	for _, c := range []struct {
		verdicts []string
		want     string
	}{
		{[]string{plan.Higher, plan.Higher}, "supported: higher in all 2 differences"},
		{[]string{plan.Higher, ""}, "supported in part: 1 of 2 differences are higher, the others undecided"},
		{[]string{"", ""}, "undecided: none of 2 differences excludes 0"},
		{[]string{plan.Lower, ""}, "contradicted: 1 of 2 differences are lower, none is higher"},
		{[]string{plan.Lower, plan.Higher}, "mixed: 1 of 2 differences are higher, 1 are lower"},
	} {
		claim := ResultComparison{Comparison: plan.Comparison{Expect: plan.Higher}}
		for _, v := range c.verdicts {
			d := Difference{}
			d.Pairs, d.Verdict = 2, v
			claim.Rows = append(claim.Rows, d)
		}
		if got := claim.verdict(); got != c.want {
			t.Errorf("%v: %s, want %s", c.verdicts, got, c.want)
		}
	}
}

// A figure that cannot be drawn is a line of the report, and the rest of the report is written.
func TestFigureThatFailsIsALineOfTheReport(t *testing.T) {
	r, p := finished(t, tiny, map[string][][]float64{"A": {{89, 41}, {90, 42}}, "B_2": {{98, 42}, {99, 44}}})
	f := &r.Figures[0]
	f.drawing, f.Curves = nil, append(f.Curves, ResultCurve{Points: []ResultPoint{{X: math.NaN()}}})
	if f.prepare(report.Style{}); f.Failure == "" {
		t.Fatal("a point without a place was drawn")
	}
	must.Do(t, r.Write(p.Dir))
	for _, name := range []string{PageFile, MarkdownFile} {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil || !strings.Contains(string(text), "could not be drawn") {
			t.Errorf("%s: %v, want the failure", name, err)
		}
	}
}

// Parts with the same rows are one table, each with its columns.
func TestPartsOfATableAreGroupsOfColumns(t *testing.T) {
	text := `hgld_study: 1
title: Two sets
vary:
  set:
    sop: {data: a}
    cub: {data: b}
  loss:
    A: {loss: smooth-ap}
    B: {loss: happier}
seeds: [1]
metrics: [H-AP]
tables: [{title: Both, by: set}]
`
	r, _ := finished(t, text, map[string][][]float64{"sop, A": {{40}}, "sop, B": {{50}}, "cub, A": {{70}},
		"cub, B": {{60}}})
	var b bytes.Buffer
	must.Do(t, r.Text(&b, "latex"))
	for _, want := range []string{"% Both\n", ` & \multicolumn{1}{c}{sop} & \multicolumn{1}{c}{cub} \\`,
		`\cmidrule(lr){2-2}\cmidrule(lr){3-3}`, `A & \underline{40.0} & \textbf{70.0} \\`,
		`B & \textbf{50.0} & \underline{60.0} \\`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s\nlacks %s", b.String(), want)
		}
	}
}

// A claim is about the study as it was planned.
func TestClaimOfAScaledStudyHasNoVerdict(t *testing.T) {
	_, p := finished(t, tiny, nil)
	p.Scale.Set = []string{"steps=20"}
	var states []*plan.State
	for _, r := range p.Runs {
		states = append(states, &plan.State{Run: r, Phase: plan.Finished, Result: &retrieval.Result{On: "test",
			Values: []retrieval.Value{{Key: "AP_level0", Mean: 0.5}, {Key: "H-AP", Mean: 0.5}}}})
	}
	r, err := of(p, states, report.Style{})
	must.Do(t, err)
	if got := r.Comparisons[0].Verdict; got != "not comparable: scaled down (steps=20)" {
		t.Errorf("%s", got)
	}
}

// The networks before training are a row of their own where they are the same for all variants of a seed.
func TestTableBeginsWithTheNetworksBeforeTraining(t *testing.T) {
	_, p := finished(t, tiny, nil)
	result := func(ap float64) *retrieval.Result {
		return &retrieval.Result{On: "test", Values: []retrieval.Value{{Key: "AP_level0", Mean: retrieval.Number(ap)},
			{Key: "H-AP", Mean: retrieval.Number(ap / 2)}}}
	}
	for _, c := range []struct {
		other float64 // of B_2 before training
		want  int
	}{{0, 3}, {0.01, 2}} {
		var states []*plan.State
		for _, r := range p.Runs {
			before := 0.5 + float64(r.Seed)/10
			if r.Variant.Label() == "B_2" {
				before += c.other
			}
			states = append(states, &plan.State{Run: r, Phase: plan.Finished, Result: result(0.9), Before: result(before)})
		}
		r, err := of(p, states, report.Style{})
		must.Do(t, err)
		rows := r.Tables[0].Rows
		if len(rows) != c.want {
			t.Fatalf("%d rows, want %d", len(rows), c.want)
		}
		if first := rows[0]; c.want == 3 && (first.Label != "before training" || first.Count != 3 ||
			math.Abs(float64(first.Cells[0].Mean)-70) > 1e-9 || math.Abs(float64(first.Cells[1].Mean)-35) > 1e-9) {
			t.Errorf("%+v, want the mean of 60, 70 and 80 and half of it", first)
		}
	}
}

// A published name has its subscript.
func TestPublishedNamesHaveSubscripts(t *testing.T) {
	r, _ := finished(t, strings.Replace(tiny, "method: Smooth-AP", "method: TL_SH", 1),
		map[string][][]float64{"A": {{89, 41}, {90, 42}}, "B_2": {{98, 42}, {99, 44}}})
	var b bytes.Buffer
	must.Do(t, r.Text(&b, "latex"))
	for _, want := range []string{`TL$_{\mathrm{SH}}$ & `, `B\_2 & `, // a name of the study
		`B\_2 $-$ TL$_{\mathrm{SH}}$ & `} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s\nlacks %s", b.String(), want)
		}
	}
}

// Why numbers cannot be compared stands once in a report, and later tables point to it.
func TestReasonsAgainstComparisonsStandOnce(t *testing.T) {
	r, _ := finished(t, tiny, map[string][][]float64{"A": {{89, 41}, {90, 42}}, "B_2": {{98, 42}, {99, 44}}})
	r.Comparisons[0].Verdict = "not comparable: scaled down (steps=20)"
	r.Tables, r.Comparisons = append(r.Tables, r.Tables[0]), append(r.Comparisons, r.Comparisons[0])
	for _, format := range []string{"text", "markdown"} {
		var b bytes.Buffer
		must.Do(t, r.Text(&b, format))
		for text, want := range map[string]int{"quoted numbers: other images": 1, "quoted numbers: as above": 1,
			"scaled down (steps=20)": 1, "the claim is not comparable: as above": 1} {
			if n := strings.Count(b.String(), text); n != want {
				t.Errorf("%s: %q stands %d times, want %d", format, text, n, want)
			}
		}
	}
	r.Tables[0].part, r.Tables[1].part = "sop", "cub"
	var b bytes.Buffer
	must.Do(t, r.Text(&b, "latex"))
	if n := strings.Count(b.String(), "quoted numbers: other images"); n != 1 {
		t.Errorf("one table of two parts says %d times why", n)
	}
}

// The axis has the paper's word for a setting.
func TestAxisHasTheWordOfThePapers(t *testing.T) {
	f := ResultFigure{Figure: plan.Figure{X: "sampler.batch", Metrics: []string{"H-AP"}}, heads: []string{"H-AP"},
		Curves: []ResultCurve{{Points: []ResultPoint{{X: 32, Y: Sample{Count: 1, Mean: 50}}, {X: 64, Y: Sample{Count: 1,
			Mean: 60}}}}}}
	drawing, err := f.draw(report.Style{})
	must.Do(t, err)
	var b bytes.Buffer
	must.Do(t, drawing.Write(&b, "svg"))
	if !strings.Contains(b.String(), ">batch size<") {
		t.Errorf("no axis is called batch size:\n%s", b.String())
	}
}
