package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	plottext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"hgld/internal/atomicfile"
	"hgld/internal/registry"
	"hgld/train"
)

func runsPlotCommand() *cli.Command {
	return &cli.Command{
		Name: "plot", Usage: "curves of several runs in one picture", ArgsUsage: "RUN…",
		Description: "  hgld runs plot --out loss.svg runs/smooth-ap runs/happier\n" +
			"  hgld runs plot --what H-AP --out h-ap.png runs/*       evaluations along the training\n" +
			"  hgld runs plot --what img/s --smooth 1 --out speed.svg runs/happier",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "out", Value: "runs.svg", Usage: "`FILE` to write, .svg or .png"},
			&cli.StringFlag{Name: "what", Value: "loss", Usage: "loss, lr, grad_norm, img/s, or a `METRIC` of the evaluations: R@1_level0, H-AP"},
			&cli.IntFlag{Name: "smooth", Usage: "mean over `N` steps (default: a fiftieth of them; 1: as they are)"},
			&cli.BoolFlag{Name: "log", Usage: "logarithmic values"}),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			if len(j.args) == 0 {
				return withHint(usagef("runs plot takes run directories, got none"), "hgld runs list lists them")
			}
			format := strings.TrimPrefix(filepath.Ext(c.String("out")), ".")
			if format != "svg" && format != "png" {
				return usagef("--out is %s, want a file ending in .svg or .png", c.String("out"))
			}
			if c.Int("smooth") < 0 {
				return usagef("--smooth is %d, want a number of steps, or 0 for a fiftieth of them", c.Int("smooth"))
			}
			runs, err := readPastRuns(j.args)
			if err != nil {
				return err
			}
			picture, err := plotRuns(runs, c.String("what"), c.Int("smooth"), c.Bool("log"))
			if err != nil {
				return withCode(exitUsage, err)
			}
			err = atomicfile.Write(c.String("out"), func(w io.Writer) error { return drawPlot(w, picture, format) })
			switch {
			case err != nil:
				return err
			case j.json:
				return writeCurves(j, runs, c.String("what"), c.Int("smooth"), c.String("out"))
			}
			j.print("%s\n", c.String("out"))
			return nil
		},
	}
}

// writeCurves prints the points that were drawn.
func writeCurves(j *job, runs []*pastRun, what string, smooth int, file string) error {
	type curve struct {
		Run    string       `json:"run"`
		Points [][2]float64 `json:"points"` // step, value
	}
	list := make([]curve, len(runs))
	for i, r := range runs {
		points, _, err := curveOf(r, what, smooth)
		if err != nil {
			return err
		}
		list[i] = curve{Run: r.Dir, Points: make([][2]float64, len(points))}
		for k, p := range points {
			list[i].Points[k] = [2]float64{p.X, p.Y}
		}
	}
	return writeJSON(j, map[string]any{"file": file, "what": what, "curves": list})
}

// stepCurves are the curves that have a point for every step, but for those of which
// the value is nil: it was not recorded.
var stepCurves = registry.Table[func(e train.Event) *float64]{
	{Name: "loss", Value: func(e train.Event) *float64 { return e.Loss }},
	{Name: "lr", Value: func(e train.Event) *float64 { return &e.Rate }},
	{Name: "grad_norm", Value: func(e train.Event) *float64 { return e.Norm }},
	{Name: "img/s", Value: func(e train.Event) *float64 { return new(float64(e.Images) / e.Seconds) }},
}

// curveOf is the curve of a run, and whether it is one of evaluations.
func curveOf(r *pastRun, what string, smooth int) (points plotter.XYs, evaluations bool, err error) {
	value, err := stepCurves.Get("curve", what)
	if err == nil {
		var values []float64
		for _, e := range r.steps() {
			if v := value(e); v != nil {
				points = append(points, plotter.XY{X: float64(e.Step)})
				values = append(values, *v)
			}
		}
		if smooth <= 0 {
			smooth = max(1, len(values)/50)
		}
		for i, v := range smoothed(values, smooth) {
			points[i].Y = v
		}
		return points, false, nil
	}
	known := stepCurves.Names()
	for _, e := range r.Events {
		if e.Kind != train.Evaluated || e.Result == nil {
			continue
		}
		for _, v := range e.Result.Values {
			if !slices.Contains(known, v.Key) {
				known = append(known, v.Key)
			}
		}
		if v := e.Result.Mean(what); !math.IsNaN(v) {
			points = append(points, plotter.XY{X: float64(e.Step), Y: 100 * v})
		}
	}
	if !slices.Contains(known, what) {
		return nil, true, fmt.Errorf("%s: %w", r.Dir, registry.Unknown("curve", what, known))
	}
	return points, true, nil
}

// curveColours are told apart by those who do not see red and green (Okabe and
// Ito), and on white paper.
var curveColours = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {0, 0, 0, 255},
}

// plotRuns draws a curve of each run. Beyond the colours, lines are dashed.
func plotRuns(runs []*pastRun, what string, smooth int, logarithmic bool) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "step", what
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(2)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{215}, color.Gray{215}
	p.Add(grid)
	p.X.Tick.Marker, p.Y.Tick.Marker = niceTicks{}, niceTicks{}
	if logarithmic {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
	}
	drawn := 0
	for i, r := range runs {
		points, evaluations, err := curveOf(r, what, smooth)
		if err != nil {
			return nil, err
		}
		if logarithmic {
			points = slices.DeleteFunc(points, func(xy plotter.XY) bool { return xy.Y <= 0 })
		}
		if len(points) == 0 {
			continue
		}
		drawn++
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", r.Dir, what, err)
		}
		colour := curveColours[i%len(curveColours)]
		line.Color, line.Width = colour, vg.Points(1.5)
		if round := i / len(curveColours); round > 0 {
			line.Dashes = []vg.Length{vg.Points(float64(2 + 2*round)), vg.Points(2)}
		}
		p.Add(line)
		if evaluations {
			p.Y.Label.Text = what + " (%)"
			marks.Color, marks.Shape, marks.Radius = colour, draw.CircleGlyph{}, vg.Points(2.5)
			p.Add(marks)
		}
		p.Legend.Add(filepath.Base(r.Dir), line)
	}
	if drawn == 0 {
		err := fmt.Errorf("no run has a value of %s to draw", what)
		if what == "grad_norm" {
			err = withHint(err, "it is recorded where optim.clip is set")
		}
		return nil, err
	}
	roomForLegend(p, drawn)
	return p, nil
}

// roomForLegend raises the upper end of a linear axis, so that the legend in the
// corner hides no curve.
func roomForLegend(p *plot.Plot, entries int) {
	if _, linear := p.Y.Scale.(plot.LinearScale); linear {
		const share = 0.055 // of the height, for an entry
		p.Y.Max += (p.Y.Max - p.Y.Min) * min(0.6, share*float64(entries)/(1-share*float64(entries)))
	}
}

// niceTicks are at multiples of 1, 2 or 5 times a power of ten, five to ten of them.
type niceTicks struct{}

// Ticks implements plot.Ticker.
func (niceTicks) Ticks(low, high float64) (list []plot.Tick) {
	_, _, tick := niceRange(low, (low+high)/2)
	for i := math.Ceil(low / tick); i*tick <= high; i++ {
		list = append(list, plot.Tick{Value: i * tick, Label: strconv.FormatFloat(i*tick, 'g', 6, 64)})
	}
	return list
}

// logTicks are at powers of ten, as long as there are two of them; values within a
// decade have those of niceTicks.
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

// drawPlot draws on white, with room at the right for the last number of the axis.
func drawPlot(w io.Writer, p *plot.Plot, format string) error {
	for _, style := range []*plottext.Style{
		&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	canvas, err := draw.NewFormattedCanvas(16*vg.Centimeter, 10*vg.Centimeter, format)
	if err != nil {
		return err
	}
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	const margin = 4 * vg.Millimeter
	p.Draw(draw.Crop(whole, 0, -margin, margin/4, -margin/2))
	_, err = canvas.WriteTo(w)
	return err
}
