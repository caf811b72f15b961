//go:build browser

package main

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The map names its groups, tells the label under the pointer, and zooms at the circle
// without moving it; what is marked is what the circle shows.
func TestBrowserMapNamesTellsAndZooms(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, "v")
	b.until("names of groups", `Number(document.querySelector("canvas").dataset.names) >= 2`)
	b.readable("light-1280-map-named")
	box := eval[[4]float64](b, `(() => { const r = document.querySelector("canvas").getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()`)
	told := func(x, y float64) string {
		b.mouse(input.DispatchMouseEventTypeMouseMoved, [2]float64{box[0] + x*box[2], box[1] + y*box[3]}, 0)
		return eval[string](b, `(() => { const tip = document.querySelector(".tip"); return tip.hidden ? "" : tip.textContent; })()`)
	}
	found := ""
	for x := 0.02; x < 1 && found == ""; x += 0.015 {
		for y := 0.02; y < 1 && found == ""; y += 0.02 {
			found = told(x, y)
		}
	}
	if found == "" {
		t.Error("no label is told under the pointer")
	}
	all := func() int {
		b.keys(" ")
		b.until("it is drawn", `document.querySelector(".marks")`)
		return eval[int](b, `Number((document.querySelector(".marks")?.innerText.match(/^\d+/) || ["0"])[0])`)
	}
	b.run(chromedp.Focus(chromedp.CSS("canvas")))
	b.keys("+", "+", "+", "+", "+", "+", "+", "+")
	before := all()
	b.run(chromedp.Focus(chromedp.CSS("canvas")))
	b.keys(kb.PageUp, kb.PageUp)
	if after := all(); before == 0 || after != before {
		t.Errorf("the circle marks %d labels, and after zooming %d; want the same, some", before, after)
	}
	b.keys(kb.PageDown)
	b.readable("light-1280-map-zoomed")
	b.clean()
}
