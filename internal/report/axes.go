package report

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// axes chooses the scales and the ticks of both axes. edge is the place of 0 on a logarithmic horizontal axis; 0: none.
func (p *Plot) axes(drawing *plot.Plot, edge float64) {
	drawing.X.Tick.Marker, drawing.Y.Tick.Marker = niceTicks{}, niceTicks{}
	if p.YNames != nil {
		drawing.NominalY(p.YNames...)
		drawing.Y.Min, drawing.Y.Max = -0.5, float64(len(p.YNames))-0.5
	}
	if p.Log {
		drawing.Y.Scale, drawing.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	if p.LogX {
		drawing.X.Scale, drawing.X.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	if p.XTicks != nil {
		room := p.Style.width(usualWidth) * 4 / 5 / (p.Style.points(vg.Points(10)) * 3 / 5)
		drawing.X.Tick.Marker = valueTicks{slices.Compact(slices.Sorted(slices.Values(p.XTicks))), p.LogX, float64(room)}
	}
	if edge > 0 {
		drawing.X.Tick.Marker = zeroTick{drawing.X.Tick.Marker, edge}
	}
	if p.NoTicks {
		drawing.X.Tick.Marker, drawing.Y.Tick.Marker = plot.ConstantTicks(nil), plot.ConstantTicks(nil)
	}
}

// bounds sets the ends of the axes once the curves are known.
func (p *Plot) bounds(drawing *plot.Plot) {
	for _, a := range []*plot.Axis{&drawing.X, &drawing.Y} {
		if _, linear := a.Scale.(plot.LinearScale); a.Min == a.Max && !linear { // else the plot would begin below 0
			a.Min, a.Max = a.Min/2, a.Max*2
		} else if a.Min == a.Max && a.Min != 0 { // else it would reach 1 beyond: a precision of 2
			at, room := a.Min, math.Abs(a.Min)/10
			a.Min, a.Max = at-room, at+room
		}
	}
	if p.Unit {
		drawing.X.Min, drawing.X.Max, drawing.Y.Min, drawing.Y.Max = 0, 1, 0, 1
	}
	if p.YMost > 0 {
		drawing.Y.Max = min(drawing.Y.Max, p.YMost)
	}
}

// edge returns the place at which a logarithmic horizontal axis shows 0, left of all other values; 0 if no point or no
// other value is there.
func (p *Plot) edge() float64 {
	low, high, zero := math.Inf(1), 0.0, false
	for _, c := range p.Curves {
		for _, at := range c.Points {
			zero = zero || at.X == 0
			if at.X > 0 {
				low, high = min(low, at.X), max(high, at.X)
			}
		}
	}
	if !p.LogX || !zero || high == 0 {
		return 0
	}
	return low / max(math.Pow(high/low, 0.15), 2)
}

// shown returns the points of a curve that the axes can show. A point at 0 of a logarithmic axis stands at its edge,
// and no line leads to or from it.
func (p *Plot) shown(c *Curve, edge float64) (list []Point) {
	after := false // a point at the edge
	for _, at := range c.Points {
		atEdge := edge > 0 && at.X == 0
		if atEdge {
			at.X = edge
		}
		if p.Log && at.Y <= 0 || p.LogX && at.X <= 0 {
			continue
		}
		if p.Log && at.Low <= 0 { // the axis has no place for the bar's end
			at.Low, at.High = 0, 0
		}
		at.Gap = at.Gap || atEdge || after
		after = atEdge
		list = append(list, at)
	}
	return list
}

// zeroTick adds the tick of 0 at the edge of a logarithmic axis.
type zeroTick struct {
	plot.Ticker
	edge float64
}

// Ticks implements plot.Ticker.
func (z zeroTick) Ticks(low, high float64) []plot.Tick {
	list := slices.DeleteFunc(z.Ticker.Ticks(low, high), func(t plot.Tick) bool { return t.Value <= z.edge })
	return append([]plot.Tick{{Value: z.edge, Label: "0"}}, list...)
}

// broken draws the mark of an axis that is broken, two short strokes at a place of the horizontal axis.
type broken float64

// Plot implements plot.Plotter.
func (x broken) Plot(canvas draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&canvas)
	at, y := toX(float64(x)), canvas.Min.Y-p.X.Padding
	const size = 1.5 * vg.Millimeter
	for _, shift := range []vg.Length{-size / 2, size / 2} {
		canvas.StrokeLine2(p.X.LineStyle, at+shift-size/3, y-size, at+shift+size/3, y+size)
	}
}

// niceTicks places five to ten ticks at multiples of 1, 2 or 5 times a power of ten.
type niceTicks struct{}

// Ticks implements plot.Ticker.
func (niceTicks) Ticks(low, high float64) (list []plot.Tick) {
	tick := niceStep((high - low) / 2)
	for i := math.Ceil(low / tick); i*tick <= high; i++ {
		list = append(list, plot.Tick{Value: i * tick, Label: strconv.FormatFloat(i*tick, 'g', 6, 64)})
	}
	return list
}

// niceStep returns 1, 2 or 5 times a power of ten, about a fifth of the length.
func niceStep(length float64) float64 {
	if !(length > 0) {
		length = 1
	}
	power := math.Pow(10, math.Floor(math.Log10(length/5)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= length/5 {
			return f * power
		}
	}
	return 10 * power
}

// logTicks places ticks at powers of ten. If the range contains fewer than two of them, it
// uses niceTicks.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(low, high float64) (list []plot.Tick) {
	for _, t := range (plot.LogTicks{Prec: -1}).Ticks(low, high) {
		if t.Value >= low && t.Value <= high {
			list = append(list, t)
		}
	}
	labelled := func(t plot.Tick) bool { return t.Label != "" }
	if first := slices.IndexFunc(list, labelled); first < 0 || !slices.ContainsFunc(list[first+1:], labelled) {
		return niceTicks{}.Ticks(low, high)
	}
	return list
}

// valueTicks places ticks at given values, ascending. A label that has no room beside the one before is left out.
type valueTicks struct {
	values []float64
	log    bool
	room   float64 // characters along the axis
}

// Ticks implements plot.Ticker.
func (v valueTicks) Ticks(low, high float64) (list []plot.Tick) {
	place := func(x float64) float64 { return (x - low) / cmp.Or(high-low, 1) }
	if v.log {
		place = func(x float64) float64 { return math.Log(x/low) / cmp.Or(math.Log(high/low), 1) }
	}
	end := math.Inf(-1)
	for _, x := range v.values {
		if x < low || x > high || v.log && x <= 0 {
			continue
		}
		t := plot.Tick{Value: x, Label: strconv.FormatFloat(x, 'g', 6, 64)}
		half := float64(utf8.RuneCountInString(t.Label)) / 2
		if at := v.room * place(x); at-half > end+0.5 {
			end = at + half
		} else {
			t.Label = ""
		}
		list = append(list, t)
	}
	return list
}
