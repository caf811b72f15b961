package report

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"hgld/internal/testing/must"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

func TestNiceTicksAreRoundNumbers(t *testing.T) {
	var labels []string
	for _, tick := range (niceTicks{}).Ticks(0.03, 1.17) {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, " "); got != "0.2 0.4 0.6 0.8 1" {
		t.Errorf("%s", got)
	}
}

func TestLogTicksHaveLabelsWithinADecade(t *testing.T) {
	for want, ends := range map[string][2]float64{"0.9 1 1.1 1.2 1.3 1.4 1.5": {0.85, 1.55}, "0.01 0.1": {0.004, 0.3}} {
		var labels []string
		for _, tick := range (logTicks{}).Ticks(ends[0], ends[1]) {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The picture contains the names of the curves, and equal plots produce equal bytes.
func TestPlotIsDrawn(t *testing.T) {
	p := &Plot{YLabel: "loss", Curves: []Curve{
		{Name: "first", Points: []Point{{X: 1, Y: 3}, {X: 2, Y: 1}}}, {Name: "none"},
		{Name: "second", Points: []Point{{X: 1, Y: 2}, {X: 2, Y: 0}}, Dots: true}}}
	var pictures [2]bytes.Buffer
	for i := range pictures {
		drawing := must.Get(p.Draw())(t)
		must.Do(t, drawing.Write(&pictures[i], "svg"))
	}
	text := pictures[0].String()
	if !strings.Contains(text, "first") || !strings.Contains(text, "second") || strings.Contains(text, "none<") {
		t.Errorf("%.400s", text)
	}
	if text != pictures[1].String() {
		t.Error("the same plot has other bytes")
	}
	p = &Plot{Log: true, Curves: []Curve{{Name: "zeros", Points: []Point{{X: 1, Y: 0}, {X: 2, Y: -1}}}}}
	if _, err := p.Draw(); !errors.Is(err, ErrEmpty) {
		t.Errorf("%v, want ErrEmpty", err)
	}
}

// A curve is not drawn across steps without a value.
func TestCurvesHaveGaps(t *testing.T) {
	lines := func(gap bool) int {
		p := &Plot{Curves: []Curve{{Points: []Point{{X: 1, Y: 3}, {X: 2, Y: 1}, {X: 5, Y: 2, Gap: gap}, {X: 6, Y: 3}}}}}
		drawing := must.Get(p.Draw())(t)
		var picture bytes.Buffer
		must.Do(t, drawing.Write(&picture, "svg"))
		return strings.Count(picture.String(), "stroke:#0072B2")
	}
	if whole, cut := lines(false), lines(true); cut != whole+1 {
		t.Errorf("%d lines in the colour of the curve with a gap, %d without", cut, whole)
	}
}

func TestSmoothIsARunningMean(t *testing.T) {
	for i, v := range Smooth([]float64{2, 4, 6, 8}, 2) {
		if want := []float64{2, 3, 5, 7}[i]; v != want {
			t.Errorf("value %d is %v, want %v", i, v, want)
		}
	}
}

func TestPageHasOnlyTheGivenParts(t *testing.T) {
	var out bytes.Buffer
	table := &Table{Title: "Figures", Head: []string{"a"}, Rows: [][]Cell{{{Text: "1", Best: true}}}}
	page := &Page{Title: "T", Table: table}
	must.Do(t, page.Write(&out))
	if text := out.String(); !strings.Contains(text, "Figures") || strings.Contains(text, "<h2>Training</h2>") {
		t.Errorf("%s", text)
	}
}

func TestConstantCurveHasAnAxisAroundIt(t *testing.T) {
	for v, want := range map[float64][2]float64{1: {0.9, 1.1}, -20: {-22, -18}, 0: {0, 0}} {
		d, err := (&Plot{Curves: []Curve{{Points: []Point{{X: 1, Y: v}, {X: 2, Y: v}}}}}).Draw()
		if err != nil || math.Abs(d.plot.Y.Min-want[0])+math.Abs(d.plot.Y.Max-want[1]) > 1e-12 {
			t.Errorf("%v: %v, the axis of %v is from %v to %v", want, err, v, d.plot.Y.Min, d.plot.Y.Max)
		}
	}
}

func drawCanvas() draw.Canvas { return draw.New(vgimg.New(10*vg.Centimeter, 6*vg.Centimeter)) }

func TestPageShowsControlCharacters(t *testing.T) {
	var out bytes.Buffer
	must.Do(t, (&Page{Title: "a\x1b[2J\u202eb"}).Write(&out))
	if text := out.String(); strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, `a\x1b[2J\u202eb`) {
		t.Errorf("%.300s", text)
	}
}
