package report

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"html/template"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	plottext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curveColours are the colours of Okabe and Ito. They remain distinct for readers with
// red-green colour blindness and on white paper.
var curveColours = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {0, 0, 0, 255},
}

// Point is one point of a curve.
type Point struct {
	X, Y float64 // place on the axes
	Gap  bool    // values are missing before the point: no line leads to it

	// Low and High are the ends of an interval, drawn as a bar unless they are equal.
	Low, High float64
}

// Curve is a named curve of a Plot.
type Curve struct {
	Name   string  // label in the legend; "": none
	Points []Point // sorted by X

	// Dots marks each point. It suits curves with few points.
	Dots bool
}

// Plot is a plot of curves.
type Plot struct {
	// XLabel and YLabel are the labels of the axes.
	XLabel, YLabel string

	// Log selects a logarithmic vertical axis and drops values that are not positive. LogX does the same
	// for the horizontal axis.
	Log, LogX bool

	// Curves are drawn in this order. A curve without points is skipped.
	Curves []Curve
}

// ErrEmpty reports that no curve has a point to draw.
var ErrEmpty = errors.New("there is no value to draw")

// Draw lays out the plot. Once the colours are used up, further curves are dashed. It returns
// ErrEmpty if there is nothing to draw.
func (p *Plot) Draw() (*Drawing, error) {
	drawing := plot.New()
	drawing.X.Label.Text, drawing.Y.Label.Text = p.XLabel, p.YLabel
	drawing.Legend.Top = true
	drawing.Legend.Padding = vg.Points(2)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{215}, color.Gray{215}
	drawing.Add(grid)
	drawing.X.Tick.Marker, drawing.Y.Tick.Marker = niceTicks{}, niceTicks{}
	if p.Log {
		drawing.Y.Scale, drawing.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	if p.LogX {
		drawing.X.Scale, drawing.X.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	drawn, named := false, 0
	for i, c := range p.Curves {
		pieces := c.pieces(p.Log, p.LogX)
		if len(pieces) == 0 {
			continue
		}
		drawn = true
		for k, piece := range pieces {
			line, err := addPiece(drawing, piece, i, c.Dots)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if k == 0 && c.Name != "" {
				named++
				drawing.Legend.Add(c.Name, line)
			}
		}
		if err := addBars(drawing, c.Points, i); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	if !drawn {
		return nil, ErrEmpty
	}
	for _, a := range []*plot.Axis{&drawing.X, &drawing.Y} {
		if _, linear := a.Scale.(plot.LinearScale); !linear && a.Min == a.Max { // else the plot would begin below 0
			a.Min, a.Max = a.Min/2, a.Max*2
		}
	}
	roomForLegend(drawing, named)
	return &Drawing{drawing}, nil
}

// pieces returns the points of a curve that the axes can show, which may be logarithmic, cut at the
// gaps.
func (c *Curve) pieces(logY, logX bool) (list []plotter.XYs) {
	for _, at := range c.Points {
		if logY && at.Y <= 0 || logX && at.X <= 0 {
			continue
		}
		if at.Gap || len(list) == 0 {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], plotter.XY{X: at.X, Y: at.Y})
	}
	return list
}

// addPiece draws a line in the colour of the i-th curve. A piece of one point, which has no
// line, is marked.
func addPiece(drawing *plot.Plot, piece plotter.XYs, i int, dots bool) (*plotter.Line, error) {
	line, marks, err := plotter.NewLinePoints(piece)
	if err != nil {
		return nil, err
	}
	colour := curveColours[i%len(curveColours)]
	line.Color, line.Width = colour, vg.Points(1.5)
	if round := i / len(curveColours); round > 0 {
		line.Dashes = []vg.Length{vg.Points(float64(2 + 2*round)), vg.Points(2)}
	}
	drawing.Add(line)
	if dots || len(piece) == 1 {
		marks.Color, marks.Shape, marks.Radius = colour, draw.CircleGlyph{}, vg.Points(2.5)
		drawing.Add(marks)
	}
	return line, nil
}

// bars are points with the ends of their intervals.
type bars struct {
	plotter.XYs
	plotter.YErrors
}

// addBars draws the intervals of the points in the colour of the i-th curve.
func addBars(drawing *plot.Plot, points []Point, i int) error {
	var b bars
	for _, at := range points {
		if at.High > at.Low {
			b.XYs = append(b.XYs, plotter.XY{X: at.X, Y: at.Y})
			b.YErrors = append(b.YErrors, struct{ Low, High float64 }{at.Y - at.Low, at.High - at.Y})
		}
	}
	if len(b.XYs) == 0 {
		return nil
	}
	marks, err := plotter.NewYErrorBars(b)
	if err != nil {
		return err
	}
	marks.Color, marks.Width, marks.CapWidth = curveColours[i%len(curveColours)], vg.Points(1), vg.Points(5)
	drawing.Add(marks)
	return nil
}

// Drawing is a plot that can be written in several formats.
type Drawing struct{ plot *plot.Plot }

// roomForLegend raises the upper end of a linear axis, so that the legend in the corner covers
// no curve.
func roomForLegend(p *plot.Plot, entries int) {
	if _, linear := p.Y.Scale.(plot.LinearScale); linear {
		const share = 0.07 // share of the height per legend entry
		p.Y.Max += (p.Y.Max - p.Y.Min) * min(0.6, share*float64(entries)/(1-share*float64(entries)))
	}
}

// niceTicks places five to ten ticks at multiples of 1, 2 or 5 times a power of ten.
type niceTicks struct{}

// Ticks implements plot.Ticker.
func (niceTicks) Ticks(low, high float64) (list []plot.Tick) {
	_, _, tick := niceRange(low, (low+high)/2)
	for i := math.Ceil(low / tick); i*tick <= high; i++ {
		list = append(list, plot.Tick{Value: i * tick, Label: strconv.FormatFloat(i*tick, 'g', 6, 64)})
	}
	return list
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

// Write writes the plot as "svg" or "png" on a white background.
func (d *Drawing) Write(w io.Writer, format string) error {
	picture, err := d.render(format, true)
	if err != nil {
		return err
	}
	_, err = w.Write(marked(picture, format))
	return err
}

// Inline returns the plot as SVG for a [Page], in the colours of its theme. alt describes the plot for
// readers who cannot see it.
func (d *Drawing) Inline(alt string) (template.HTML, error) {
	picture, err := d.render("svg", false)
	if err != nil {
		return "", err
	}
	_, picture, _ = bytes.Cut(picture, []byte("<svg"))
	text := themed.Replace("<svg" + string(picture))
	return template.HTML(strings.Replace(text, "<svg",
		fmt.Sprintf(`<svg class="plot" role="img" aria-label="%s"`, template.HTMLEscapeString(alt)), 1)), nil
}

// themed replaces the colours of axes, grid and text by those of the page.
var themed = strings.NewReplacer("fill:#000000", "fill:currentColor", "stroke:#000000", "stroke:currentColor",
	"stroke:#D7D7D7", "stroke:currentColor;stroke-opacity:0.2")

// render draws the plot, with paper on a white background. The right margin leaves space for the last
// number of the axis.
func (d *Drawing) render(format string, paper bool) ([]byte, error) {
	p := d.plot
	for _, style := range []*plottext.Style{
		&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	canvas, err := draw.NewFormattedCanvas(16*vg.Centimeter, 10*vg.Centimeter, format)
	if err != nil {
		return nil, err
	}
	whole := draw.New(canvas)
	if p.BackgroundColor = nil; paper {
		whole.SetColor(color.White)
		whole.Fill(whole.Rectangle.Path())
	}
	const margin = 4 * vg.Millimeter
	p.Draw(draw.Crop(whole, 0, -margin, margin/4, -margin/2))
	var b bytes.Buffer
	_, err = canvas.WriteTo(&b)
	return b.Bytes(), err
}

// marked adds the name of the program to a picture: a comment before an SVG, and the text Software
// to a PNG.
func marked(picture []byte, format string) []byte {
	at, mark := bytes.Index(picture, []byte("<svg")), []byte("<!-- hgld -->\n")
	if format == "png" {
		const chunk = "tEXtSoftware\x00hgld"
		at = 8 + 25 // after the signature and the chunk IHDR
		mark = binary.BigEndian.AppendUint32(nil, uint32(len(chunk)-4))
		mark = binary.BigEndian.AppendUint32(append(mark, chunk...), crc32.ChecksumIEEE([]byte(chunk)))
	}
	if at < 0 || at > len(picture) {
		return picture
	}
	return slices.Insert(picture, at, mark...)
}
