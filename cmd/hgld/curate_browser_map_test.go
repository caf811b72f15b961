//go:build browser

package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tipAt is where the label of the tooltip is drawn, as parts of the map's width and height.
const tipAt = `(() => {
	const tip = document.querySelector(".tip"), map = tip.parentElement;
	return [(parseFloat(tip.style.left) - 10) / map.clientWidth, (parseFloat(tip.style.top) - 10) / map.clientHeight];
})()`

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
	// A label that is not at the edges, so that nothing moves its tooltip.
	label, at := "", [2]float64{}
	for x := 0.15; x < 0.85 && label == ""; x += 0.015 {
		for y := 0.15; y < 0.85 && label == ""; y += 0.02 {
			if label = told(x, y); label != "" {
				at = eval[[2]float64](b, tipAt)
			}
		}
	}
	if label == "" {
		t.Fatal("no label is told under the pointer")
	}
	// The wheel zooms twice, 1.25 times each, at a pointer beside the label.
	pointer, want := at, at
	for axis := range at {
		pointer[axis] += math.Copysign(0.1, 0.5-at[axis])
		want[axis] = pointer[axis] + 1.25*1.25*(at[axis]-pointer[axis])
	}
	b.run(evaluateVoid(fmt.Sprintf(`{ const map = document.querySelector("canvas"), r = map.getBoundingClientRect();
		for (let n = 0; n < 2; n++) map.dispatchEvent(new WheelEvent("wheel", {deltaY: -100, cancelable: true,
			clientX: r.left + %v * r.width, clientY: r.top + %v * r.height})); }`, pointer[0], pointer[1])))
	if now := told(want[0], want[1]); now != label {
		t.Errorf("zoomed, %q is told where %q should be", now, label)
	} else if to := eval[[2]float64](b, tipAt); math.Hypot(to[0]-want[0], to[1]-want[1]) > 0.005 {
		t.Errorf("zoomed, %q is at %.3f, want it at %.3f", label, to, want)
	}
	if told(at[0], at[1]) == label {
		t.Errorf("zoomed, %q is still told where it was", label)
	}
	all := func() int {
		b.keys(" ")
		b.until("it is drawn", `document.querySelector(".marks")`)
		return eval[int](b, `Number((document.querySelector(".marks")?.innerText.match(/^\d+/) || ["0"])[0])`)
	}
	b.run(chromedp.Focus(chromedp.CSS("canvas")))
	b.keys(kb.PageDown, kb.PageDown) // 1.5 times each: all is in sight again
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
