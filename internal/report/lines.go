package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Line is a curve with a value for each step, from step 1 on.
type Line struct {
	Name   string    // label at the end of the curve
	Values []float64 // one value per step
}

// Lines draws up to two curves as inline SVG. It smooths each with a running mean over one
// fiftieth of its length.
func Lines(curves []Line, yLabel string) template.HTML {
	const w, h, left, right, top, bottom = 720.0, 300.0, 52.0, 110.0, 16.0, 40.0
	steps, low, high := 1, math.Inf(1), math.Inf(-1)
	smooth := make([][]float64, len(curves))
	for i, c := range curves {
		smooth[i] = Smooth(c.Values, max(1, len(c.Values)/50))
		steps = max(steps, len(c.Values))
		for _, v := range smooth[i] {
			low, high = min(low, v), max(high, v)
		}
	}
	if math.IsInf(low, 0) {
		return ""
	}
	low, high, tick := niceRange(low, high)
	x := func(i int) float64 { return left + (w-left-right)*float64(i)/float64(max(1, steps-1)) }
	y := func(v float64) float64 { return top + (h-top-bottom)*(high-v)/(high-low) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="%s by step">`, w, h,
		template.HTMLEscapeString(yLabel))
	for v := low; v <= high+tick/2; v += tick {
		fmt.Fprintf(&b, `<line class="grid" x1="%g" x2="%.1f" y1="%.1f" y2="%.1f"/>`, left, w-right, y(v), y(v))
		fmt.Fprintf(&b, `<text x="%g" y="%.1f" text-anchor="end">%.3g</text>`, left-8, y(v)+4, v)
	}
	for i := range 5 {
		at := i * (steps - 1) / 4
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">%d</text>`, x(at), h-bottom+20, at+1)
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">step</text>`, left+(w-left-right)/2, h-4)
	for i, c := range curves {
		var d strings.Builder
		for k, v := range smooth[i] {
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(k, 1)], x(k), y(v))
		}
		last := smooth[i][len(smooth[i])-1]
		fmt.Fprintf(&b, `<path class="%c" d="%s"/><text x="%.1f" y="%.1f">%s</text>`, "ab"[i%2], d.String(),
			x(len(smooth[i])-1)+6, y(last)+4, template.HTMLEscapeString(c.Name))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
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

// niceRange widens [low, high] to multiples of a tick. Ticks are 1, 2 or 5 times a power of
// ten, about five of them.
func niceRange(low, high float64) (float64, float64, float64) {
	if high <= low {
		high = low + 1
	}
	raw := (high - low) / 5
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	tick := power
	for _, f := range []float64{1, 2, 5, 10} {
		tick = f * power
		if tick >= raw {
			break
		}
	}
	return math.Floor(low/tick) * tick, math.Ceil(high/tick) * tick, tick
}
