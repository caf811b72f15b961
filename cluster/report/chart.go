package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
)

// Plot is a measure against the number of clusters.
type Plot struct {
	// Title names the measure.
	Title string
	// Note says which values are better.
	Note string
	// Lines are one for each combination of settings.
	Lines []Line
}

// Line is one line of a plot.
type Line struct {
	// Name names the settings; "" for the only line.
	Name string
	// X are the numbers of clusters, ascending, Y the measures, and Spread their
	// deviations, which are drawn to both sides.
	X, Y, Spread []float64
}

// frame is the inside of a chart, in the units of its SVG.
type frame struct {
	left, right, top, bottom float64
	x0, x1, y0, y1           float64 // values at the edges
}

func (f frame) x(v float64) float64 { return f.left + (f.right-f.left)*(v-f.x0)/(f.x1-f.x0) }
func (f frame) y(v float64) float64 { return f.bottom - (f.bottom-f.top)*(v-f.y0)/(f.y1-f.y0) }

// grid draws the horizontal lines with their values.
func (f frame) grid(b *strings.Builder) {
	for _, t := range (plot.DefaultTicks{}).Ticks(f.y0, f.y1) {
		if t.Label != "" && t.Value >= f.y0 && t.Value <= f.y1 {
			fmt.Fprintf(b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`,
				f.left, f.right, f.y(t.Value), f.y(t.Value), f.left-6, f.y(t.Value)+4, tickText(t.Label))
		}
	}
}

// tickText shortens large values.
func tickText(label string) string {
	if n := len(label); n > 3 && strings.HasSuffix(label, "000") && !strings.ContainsAny(label, ".e") {
		return label[:n-3] + "k"
	}
	return template.HTMLEscapeString(label)
}

// histogram draws how many clusters have how many tags, in bars of equal width.
func histogram(sizes []int) template.HTML {
	if len(sizes) == 0 {
		return ""
	}
	width := 1
	for _, w := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000} {
		if width = w; slices.Max(sizes)/w < 30 {
			break
		}
	}
	bars := make([]int, slices.Max(sizes)/width+1)
	for _, n := range sizes {
		bars[n/width]++
	}
	const w, h = 760.0, 260.0
	f := frame{left: 48, right: w - 12, top: 12, bottom: h - 44, x1: float64(len(bars)), y1: float64(slices.Max(bars))}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="number of clusters by their number of tags">`, w, h)
	f.grid(&b)
	for i, n := range bars {
		if n > 0 {
			fmt.Fprintf(&b, `<rect class="bar" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`,
				f.x(float64(i))+1, f.y(float64(n)), max(1, f.x(1)-f.x(0)-2), f.bottom-f.y(float64(n)), barText(i*width, width, n))
		}
		if i%max(1, len(bars)/10) == 0 {
			at := f.x(float64(i)) // start of the bar, or its middle if it is of one size
			if width == 1 {
				at = f.x(float64(i) + 0.5)
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%d</text>`, at, f.bottom+16, i*width)
		}
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">tags of a cluster</text></svg>`, (f.left+f.right)/2, h-8)
	return template.HTML(b.String())
}

func barText(from, width, n int) string {
	what := "clusters"
	if n == 1 {
		what = "cluster"
	}
	if width == 1 {
		return fmt.Sprintf("%d %s of %d tags", n, what, from)
	}
	return fmt.Sprintf("%d %s of %d to %d tags", n, what, from, from+width-1)
}

func sizesNote(sizes []int) string {
	if len(sizes) == 0 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(sizes))
	alone, _ := slices.BinarySearch(sorted, 2)
	return fmt.Sprintf("The smallest cluster has %d, the median one %d and the largest %d tags; %d clusters have a "+
		"single tag.",
		sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1], alone)
}

// svg draws the lines, with a mark at the draft's own number of clusters.
func (p Plot) svg(k int) template.HTML {
	const w, h = 380.0, 220.0
	f := frame{left: 58, right: w - 14, top: 12, bottom: h - 42, x0: math.Inf(1), x1: math.Inf(-1), y0: math.Inf(1),
		y1: math.Inf(-1)}
	var ticks []float64
	for _, l := range p.Lines {
		for i := range l.X {
			f.x0, f.x1 = min(f.x0, l.X[i]), max(f.x1, l.X[i])
			f.y0, f.y1 = min(f.y0, l.Y[i]-l.Spread[i]), max(f.y1, l.Y[i]+l.Spread[i])
		}
		ticks = append(ticks, l.X...)
	}
	if f.x0 >= f.x1 {
		f.x0, f.x1 = f.x0-1, f.x1+1
	}
	pad := 0.06 * (f.y1 - f.y0)
	if pad <= 0 {
		pad = 0.5
	}
	f.y0, f.y1 = f.y0-pad, f.y1+pad
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s by number of clusters">`, w, h,
		template.HTMLEscapeString(p.Title))
	f.grid(&b)
	if at := float64(k); at >= f.x0 && at <= f.x1 {
		fmt.Fprintf(&b, `<line class="here" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"><title>this draft: %d clusters</title></line>`, f.x(at), f.x(at), f.top, f.bottom, k)
	}
	last := math.Inf(-1)
	slices.Sort(ticks)
	for _, x := range ticks {
		if f.x(x)-last > 34 {
			last = f.x(x)
			fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle">%g</text>`, last, f.bottom+16, x)
		}
	}
	for i, l := range p.Lines {
		l.draw(&b, f, i%len(Light))
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">clusters</text></svg>`, (f.left+f.right)/2, h-6)
	return template.HTML(b.String())
}

// draw draws a line in one of the colours of clusters.
func (l Line) draw(b *strings.Builder, f frame, color int) {
	var path, bars strings.Builder
	name := template.HTMLEscapeString(l.Name)
	if name != "" {
		name += ": "
	}
	for i := range l.X {
		x, y := f.x(l.X[i]), f.y(l.Y[i])
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
		if l.Spread[i] > 0 {
			fmt.Fprintf(&bars, "M%.1f %.1fV%.1f", x, f.y(l.Y[i]-l.Spread[i]), f.y(l.Y[i]+l.Spread[i]))
		}
		fmt.Fprintf(b, `<circle class="dot c%d" cx="%.1f" cy="%.1f" r="3.5"><title>%s%g clusters: %.5g</title></circle>`,
			color, x, y, name, l.X[i], l.Y[i])
	}
	fmt.Fprintf(b, `<path class="line c%d" d="%s%s"/>`, color, path.String(), bars.String())
}
