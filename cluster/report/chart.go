package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"hgld/internal/report"
)

// Plot is a measure against the number of clusters.
type Plot struct {
	Title string // names the measure
	Note  string // says which values are better
	Lines []Line // one for each combination of settings
}

// Line is one line of a plot.
type Line struct {
	Name string // names the settings; "" for the only line
	// X are the numbers of clusters, ascending, Y the measures, and Spread their
	// deviations, which are drawn to both sides.
	X, Y, Spread []float64
}

// histogram plots how many clusters have how many tags, as an upright line for each size or range of sizes.
func histogram(sizes []int) report.Plot {
	width := 1
	for _, w := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000} {
		if width = w; slices.Max(sizes)/w < 30 {
			break
		}
	}
	c := report.Curve{Loose: true}
	for from := 0; from <= slices.Max(sizes); from += width {
		n := 0
		for _, size := range sizes {
			if size/width == from/width {
				n++
			}
		}
		if n > 0 {
			c.Points = append(c.Points, report.Point{X: float64(from) + float64(width-1)/2, Y: float64(n), High: float64(n)})
		}
	}
	return report.Plot{XLabel: "tags of a cluster", YLabel: "clusters", Curves: []report.Curve{c}}
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

// sweepNote explains the plots of a sweep.
const sweepNote = "The upright line is this draft; bars are the deviation over seeds."

// note says which values are better.
func (p Plot) note() string {
	if p.Note == "" {
		return sweepNote
	}
	return p.Note + ". " + sweepNote
}

// svg draws the lines, with a mark at the draft's own number of clusters.
func (p Plot) svg(k int) (template.HTML, error) {
	out := report.Plot{XLabel: "clusters", Beside: len(p.Lines) > 1}
	first, last := math.Inf(1), math.Inf(-1)
	for _, l := range p.Lines {
		c := report.Curve{Name: l.Name, Dots: true}
		for i, x := range l.X {
			first, last = min(first, x), max(last, x)
			c.Points = append(c.Points, report.Point{X: x, Y: l.Y[i], Low: l.Y[i] - l.Spread[i], High: l.Y[i] + l.Spread[i]})
		}
		out.Curves = append(out.Curves, c)
	}
	if at := float64(k); at >= first && at <= last {
		out.Marks = []float64{at}
	}
	return inline(out, p.Title+" by number of clusters")
}

// inline draws a plot; alt describes it.
func inline(p report.Plot, alt string) (template.HTML, error) {
	drawing, err := p.Draw()
	if err != nil {
		return "", err
	}
	return drawing.Inline(alt)
}
