package report

import (
	"bytes"
	"encoding/binary"
	"image/png"
	"math"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// logPlot has a value at 0 of a logarithmic axis, with a bar.
func logPlot() *Plot {
	return &Plot{LogX: true, YMost: 100, XTicks: []float64{0.1, 1}, Curves: []Curve{{Name: "a", Points: []Point{
		{X: 0, Y: 90, Low: 80, High: 100}, {X: 0.1, Y: 95, Low: 90, High: 100}, {X: 1, Y: 96}}}}}
}

func TestZeroStandsAtTheEdgeOfALogarithmicAxis(t *testing.T) {
	d := must.Get(logPlot().Draw())(t)
	if x := d.plot.X; x.Min <= 0 || x.Min > 0.05 || x.Max != 1 {
		t.Errorf("the axis is from %v to %v, want an edge below 0.1", x.Min, x.Max)
	}
	var labels []string
	for _, tick := range d.plot.X.Tick.Marker.Ticks(d.plot.X.Min, d.plot.X.Max) {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, " "); got != "0 0.1 1" {
		t.Errorf("ticks %s", got)
	}
	for _, format := range Formats {
		must.Do(t, d.Write(&bytes.Buffer{}, format))
	}
}

// A legend that would raise the axis above 100 % stands outside.
func TestPercentEndAt100(t *testing.T) {
	d := must.Get(logPlot().Draw())(t)
	if d.plot.Y.Max != 100 || len(d.side.Rectangle(drawCanvas()).Path()) == 0 {
		t.Errorf("the axis ends at %v", d.plot.Y.Max)
	}
	p := &Plot{Unit: true, Curves: []Curve{{Name: "a", Points: []Point{{X: 0.2, Y: 0.9}, {X: 0.7, Y: 0.3}}}}}
	if d := must.Get(p.Draw())(t); d.plot.X.Min != 0 || d.plot.X.Max != 1 || d.plot.Y.Min != 0 || d.plot.Y.Max != 1 {
		t.Errorf("axes %v to %v and %v to %v, want 0 to 1", d.plot.X.Min, d.plot.X.Max, d.plot.Y.Min, d.plot.Y.Max)
	}
}

func TestValuesHaveTicksAsFarAsThereIsRoom(t *testing.T) {
	v := valueTicks{[]float64{32, 64, 128, 224, 256, 384}, true, 30}
	var labels []string
	for _, tick := range v.Ticks(32, 384) {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, ","); got != "32,64,128,224,,384" {
		t.Errorf("%s", got)
	}
}

func TestMapHasEqualScales(t *testing.T) {
	p := &Plot{Equal: true, NoTicks: true, Curves: []Curve{{Loose: true, Points: []Point{{X: 0, Y: 0}, {X: 1, Y: 10}}}}}
	d := must.Get(p.Draw())(t)
	must.Do(t, d.Write(&bytes.Buffer{}, "svg"))
	if x, y := d.plot.X.Max-d.plot.X.Min, d.plot.Y.Max-d.plot.Y.Min; x < y {
		t.Errorf("the axes are %v and %v long, but the picture is wider than high", x, y)
	}
}

// A picture for a column of a paper: 8.4 cm at 300 dots an inch are 992 pixels, and the file says so.
func TestStyleSetsSizeLettersAndResolution(t *testing.T) {
	p := logPlot()
	p.Style = Style{Width: "84mm", FontSize: 8, DPI: 300}
	d := must.Get(p.Draw())(t)
	var picture bytes.Buffer
	must.Do(t, d.Write(&picture, "png"))
	data := picture.Bytes()
	size := must.Get(png.DecodeConfig(&picture))(t)
	if size.Width != 992 || size.Height != 620 {
		t.Errorf("%d × %d pixels", size.Width, size.Height)
	}
	at := bytes.Index(data, []byte("pHYs"))
	if at < 0 || math.Abs(float64(binary.BigEndian.Uint32(data[at+4:]))*0.0254-300) > 0.01 {
		t.Error("the file does not state 300 dots an inch")
	}
	picture.Reset()
	must.Do(t, d.Write(&picture, "svg"))
	if text := picture.String(); strings.Contains(text, "font-size:12") || !strings.Contains(text, "font-size:8px") ||
		strings.Count(text, "font-family:") != strings.Count(text, "font-family:Liberation Sans,Arial,Helvetica,sans-serif") {
		t.Errorf("%.600s", text)
	}
	for width, ok := range map[string]bool{"": true, "8.4cm": true, "3.3in": true, "8,4cm": false, "1cm": false,
		"84": false} {
		if err := (Style{Width: width}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", width, err)
		}
	}
}
