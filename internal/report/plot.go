package report

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
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
	Dots  bool
	Loose bool // draws the points without a line, in any order
}

// Heat is one or more maps of values over the same cells, side by side in the same colours.
type Heat struct {
	Xs, Ys []float64 // centres of the cells, ascending, at least two each
	Maps   []HeatMap // from left to right, at least one
}

// HeatMap is a map of values.
type HeatMap struct {
	Title  string      // above it; "": none
	Values [][]float64 // by Ys, then by Xs
}

// Plot is a plot of curves.
type Plot struct {
	// XLabel and YLabel are the labels of the axes.
	XLabel, YLabel string
	YNames         []string // names the heights 0, 1, 2 … in place of numbers; nil: numbers

	// Log selects a logarithmic vertical axis and drops values that are not positive. LogX does the same
	// for the horizontal axis, but shows 0 at a broken edge.
	Log, LogX bool
	Heat      *Heat     // drawn below the curves; nil: none
	Marks     []float64 // places on the horizontal axis with a dashed upright line

	// XTicks are the values at which the horizontal axis has ticks; nil: round numbers.
	XTicks []float64

	// YMost is the greatest value that the vertical axis shows, such as 100 for percent; 0: any.
	YMost float64

	// Unit lets both axes go from 0 to 1. Equal gives both the same scale, as a map has. NoTicks leaves out ticks and
	// grid, where the numbers mean nothing.
	Unit, Equal, NoTicks bool

	Beside bool // puts the legend beside the curves

	Style Style // how the picture is set

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
	if !p.NoTicks {
		grid := plotter.NewGrid()
		grid.Vertical.Color, grid.Horizontal.Color = color.Gray{215}, color.Gray{215}
		drawing.Add(grid)
	}
	edge := p.edge()
	p.axes(drawing, edge)
	out := &Drawing{plot: drawing, of: p}
	legend := &drawing.Legend
	if p.Beside || p.Heat != nil || slices.ContainsFunc(p.Curves, func(c Curve) bool { return c.Loose }) {
		out.side = plot.NewLegend()
		legend = &out.side
	}
	legend.Top, legend.Padding = true, vg.Points(2)
	drawn, named := false, 0
	if p.Heat != nil {
		drawn = true
		out.row = p.heatRow(drawing, legend)
	}
	for i, c := range p.Curves {
		points := p.shown(&c, edge)
		pieces := piecesOf(points)
		if len(pieces) == 0 {
			continue
		}
		drawn = true
		for k, piece := range pieces {
			line, err := addPiece(drawing, piece, i, &c)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			if k == 0 && c.Name != "" {
				named++
				legend.Add(c.Name, line)
			}
		}
		if err := addBars(drawing, points, i); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	if !drawn {
		return nil, ErrEmpty
	}
	p.bounds(drawing)
	if edge > 0 {
		drawing.Add(broken(edge * math.Sqrt2))
	}
	for _, x := range p.Marks {
		drawing.Add(upright(x))
	}
	if legend == &drawing.Legend && named > 0 && !p.roomForLegend(drawing, named) {
		out.side, drawing.Legend = drawing.Legend, plot.NewLegend()
	}
	return out, nil
}

// piecesOf returns points cut at the gaps.
func piecesOf(points []Point) (list []plotter.XYs) {
	for _, at := range points {
		if at.Gap || len(list) == 0 {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], plotter.XY{X: at.X, Y: at.Y})
	}
	return list
}

// markShapes are the shapes of loose points: each round of the colours takes the next.
var markShapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PlusGlyph{},
	draw.CrossGlyph{}, draw.RingGlyph{}}

// addPiece draws a line in the colour of the i-th curve, or its points if they are loose. A piece of one
// point, which has no line, is marked. The result draws the sample in the legend.
func addPiece(drawing *plot.Plot, piece plotter.XYs, i int, c *Curve) (plot.Thumbnailer, error) {
	line, marks, err := plotter.NewLinePoints(piece)
	if err != nil {
		return nil, err
	}
	colour := curveColours[i%len(curveColours)]
	line.Color, line.Width = colour, vg.Points(1.5)
	if c.Loose {
		marks.Color, marks.Shape, marks.Radius = colour, markShapes[i/len(curveColours)%len(markShapes)], vg.Points(2.5)
		drawing.Add(marks)
		return marks, nil
	}
	if round := i / len(curveColours); round > 0 {
		line.Dashes = []vg.Length{vg.Points(float64(2 + 2*round)), vg.Points(2)}
	}
	drawing.Add(line)
	if c.Dots || len(piece) == 1 {
		marks.Color, marks.Shape, marks.Radius = colour, draw.CircleGlyph{}, vg.Points(2.5)
		drawing.Add(marks)
	}
	return line, nil
}

// heatColours is the number of colours of a map of values.
const heatColours = 64

// cells draws a map of values.
type cells struct {
	*Heat
	values    [][]float64
	low, high float64 // the least and the greatest value of all maps
	colours   []color.Color
}

// heatRow draws the first map in drawing, and returns plots of the others, which stand beside it. The legend has the
// colours of the least, the middle and the greatest value.
func (p *Plot) heatRow(drawing *plot.Plot, legend *plot.Legend) (others []*plot.Plot) {
	all := moreland.Kindlmann()
	all.SetMin(0)
	all.SetMax(1)
	c := cells{Heat: p.Heat, low: math.Inf(1), high: math.Inf(-1)}
	// The palest colours would vanish on paper.
	c.colours = all.Palette(heatColours + heatColours/8).Colors()[:heatColours]
	for _, m := range p.Heat.Maps {
		for _, row := range m.Values {
			c.low, c.high = min(c.low, slices.Min(row)), max(c.high, slices.Max(row))
		}
	}
	ends := func(list []float64) plot.ConstantTicks { // the maps are small
		format := func(v float64) plot.Tick { return plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 3, 64)} }
		first, last := list[0], list[len(list)-1]
		return plot.ConstantTicks{format(first), format((first + last) / 2), format(last)}
	}
	for i, m := range p.Heat.Maps {
		to, own := drawing, c
		if i > 0 {
			to = plot.New()
			to.X.Label.Text = p.XLabel
			to.HideY()
			others = append(others, to)
		}
		if len(p.Heat.Maps) > 1 {
			to.X.Tick.Marker = ends(p.Heat.Xs)
		}
		if len(p.Heat.Maps) > 1 && i == 0 {
			to.Y.Tick.Marker = ends(p.Heat.Ys)
		}
		own.values, to.Title.Text = m.Values, m.Title
		to.Add(&own)
	}
	values := []float64{c.high, (c.low + c.high) / 2, c.low}
	for _, v := range slices.Compact(values) {
		legend.Add(strconv.FormatFloat(v, 'g', 3, 64), swatch{c.colour(v)})
	}
	return others
}

// colour returns the colour of a value.
func (c *cells) colour(v float64) color.Color {
	if !(c.high > c.low) {
		return c.colours[heatColours/2]
	}
	return c.colours[min(int((v-c.low)/(c.high-c.low)*heatColours), heatColours-1)]
}

// ends returns the ends of the i-th cell of an axis.
func ends(centres []float64, i int) (from, to float64) {
	half := (centres[1] - centres[0]) / 2
	return centres[i] - half, centres[i] + half
}

// DataRange implements plot.DataRanger.
func (c *cells) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, _ = ends(c.Xs, 0)
	_, xmax = ends(c.Xs, len(c.Xs)-1)
	ymin, _ = ends(c.Ys, 0)
	_, ymax = ends(c.Ys, len(c.Ys)-1)
	return xmin, xmax, ymin, ymax
}

// Plot implements plot.Plotter. Each cell reaches a little into the next, which covers it: otherwise the paper
// shows between two smoothed edges.
func (c *cells) Plot(canvas draw.Canvas, p *plot.Plot) {
	const overlap = 0.5
	xs, ys := p.Transforms(&canvas)
	for k := range c.Ys {
		bottom, top := ends(c.Ys, k)
		for i := range c.Xs {
			left, right := ends(c.Xs, i)
			canvas.SetColor(c.colour(c.values[k][i]))
			canvas.Fill(vg.Rectangle{Min: vg.Point{X: xs(left), Y: ys(bottom)},
				Max: vg.Point{X: min(xs(right)+overlap, canvas.Max.X), Y: min(ys(top)+overlap, canvas.Max.Y)}}.Path())
		}
	}
}

// swatch is a filled sample in a legend.
type swatch struct{ color.Color }

// Thumbnail implements plot.Thumbnailer.
func (s swatch) Thumbnail(c *draw.Canvas) {
	c.SetColor(s.Color)
	c.Fill(c.Rectangle.Path())
}

// upright is the place of a dashed line over the whole height.
type upright float64

// Plot implements plot.Plotter.
func (x upright) Plot(canvas draw.Canvas, p *plot.Plot) {
	toX, _ := p.Transforms(&canvas)
	style := draw.LineStyle{Color: color.Black, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(4), vg.Points(4)}}
	canvas.StrokeLine2(style, toX(float64(x)), canvas.Min.Y, toX(float64(x)), canvas.Max.Y)
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
type Drawing struct {
	of   *Plot
	plot *plot.Plot
	row  []*plot.Plot // to the right of plot
	side plot.Legend  // outside of the plot, which it would cover
}

// roomForLegend raises the upper end of a linear axis, so that the legend in the corner covers
// no curve. It returns false if the axis cannot go so far.
func (p *Plot) roomForLegend(drawing *plot.Plot, entries int) bool {
	if _, linear := drawing.Y.Scale.(plot.LinearScale); !linear {
		return true
	}
	const share = 0.07 // share of the height per legend entry
	taken := min(share*float64(entries), 0.375)
	most := drawing.Y.Max + (drawing.Y.Max-drawing.Y.Min)*taken/(1-taken)
	if p.Unit || p.YMost > 0 && most > p.YMost {
		return false
	}
	drawing.Y.Max = most
	return true
}

// Formats are the formats of pictures.
var Formats = []string{"svg", "png", "pdf"}

// CheckFile returns an error unless a picture can be written to path: its ending must be one of Formats.
func CheckFile(path string) error {
	if !slices.Contains(Formats, strings.TrimPrefix(filepath.Ext(path), ".")) {
		return fmt.Errorf("%s: want a file ending in .svg, .png or .pdf", path)
	}
	return nil
}

// Write writes the plot in one of Formats, on a white background.
func (d *Drawing) Write(w io.Writer, format string) error {
	picture, err := d.render(format, true)
	if err != nil {
		return err
	}
	_, err = w.Write(d.of.Style.finished(picture, format))
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
	text := namespace.ReplaceAllString(themed.Replace(svgFonts.Replace("<svg"+string(picture))), "")
	return template.HTML(strings.Replace(text, "<svg",
		fmt.Sprintf(`<svg class="plot" role="img" aria-label="%s"`, template.HTMLEscapeString(alt)), 1)), nil
}

// namespace is an attribute that SVG within HTML does without.
var namespace = regexp.MustCompile(`\s+xmlns(:xlink)?="[^"]*"`)

// themed replaces the colours of axes, grid and text by those of the page.
var themed = strings.NewReplacer("fill:#000000", "fill:currentColor", "stroke:#000000", "stroke:currentColor",
	"stroke:#D7D7D7", "stroke:currentColor;stroke-opacity:0.2")

// usualWidth is the width of a picture without another.
const usualWidth = 16 * vg.Centimeter

// narrow is the width below which a legend stands below the plot, not beside it.
const narrow = 12 * vg.Centimeter

// render draws the plot, with paper on a white background. The right margin leaves space for the last
// number of the axis.
func (d *Drawing) render(format string, paper bool) ([]byte, error) {
	p, style := d.plot, d.of.Style
	row := append([]*plot.Plot{p}, d.row...)
	for _, p := range row {
		for _, text := range []*plottext.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
			&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
			text.Font.Variant, text.Font.Size = "Sans", style.points(text.Font.Size)
		}
		p.BackgroundColor = nil
	}
	width := style.width(usualWidth)
	height := width * 10 / 16
	if len(row) > 1 && width >= narrow { // the maps are about square
		height = width * 6 / 16
	}
	canvas, err := style.canvas(width, height, format)
	if err != nil {
		return nil, err
	}
	whole := draw.New(canvas)
	if paper {
		whole.SetColor(color.White)
		whole.Fill(whole.Rectangle.Path())
	}
	const margin = 4 * vg.Millimeter
	space := draw.Crop(whole, 0, -margin, margin/4, -margin/2)
	d.side.TextStyle = p.Legend.TextStyle
	if side := d.side.Rectangle(space).Size(); side.X > 0 && width < narrow {
		d.side.Top, d.side.Left = false, true
		d.side.Draw(draw.Crop(space, margin, 0, 0, 0))
		space = draw.Crop(space, 0, 0, side.Y+margin/2, 0)
	} else if side.X > 0 {
		d.side.Draw(space)
		space = draw.Crop(space, 0, -side.X-margin, 0, 0)
	}
	if d.of.Equal {
		equalScales(p, p.DataCanvas(space))
	}
	spaces := []draw.Canvas{space}
	if len(row) > 1 {
		spaces = plot.Align([][]*plot.Plot{row}, draw.Tiles{Cols: len(row), Rows: 1, PadX: margin}, space)[0]
	}
	for i, at := range spaces {
		row[i].Draw(at)
	}
	var b bytes.Buffer
	_, err = canvas.WriteTo(&b)
	return b.Bytes(), err
}

// equalScales widens the range of one axis, so that a unit is as long on both.
func equalScales(p *plot.Plot, data draw.Canvas) {
	scaleX, scaleY := float64(data.Size().X)/(p.X.Max-p.X.Min), float64(data.Size().Y)/(p.Y.Max-p.Y.Min)
	widen := func(a *plot.Axis, by float64) {
		middle, half := (a.Min+a.Max)/2, (a.Max-a.Min)/2*by
		a.Min, a.Max = middle-half, middle+half
	}
	widen(&p.X, max(scaleX/scaleY, 1))
	widen(&p.Y, max(scaleY/scaleX, 1))
}

// Smooth returns the running mean over the last n values.
func Smooth(values []float64, n int) []float64 {
	out := make([]float64, len(values))
	sum := 0.0
	for i, v := range values {
		sum += v
		if i >= n {
			sum -= values[i-n]
		}
		out[i] = sum / float64(min(i+1, n))
	}
	return out
}
