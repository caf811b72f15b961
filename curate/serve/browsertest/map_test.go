//go:build browser

package browsertest

import (
	"fmt"
	"math"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// lasso draws a lasso around most of the map.
func (b *page) lasso() {
	b.TB.Helper()
	box := b.Box("canvas")
	corners := [][2]float64{{0.02, 0.02}, {0.98, 0.02}, {0.98, 0.98}, {0.5, 0.98}, {0.02, 0.98}, {0.02, 0.05}}
	for i, c := range corners {
		kind := input.DispatchMouseEventTypeMouseMoved
		switch i {
		case 0:
			kind = input.DispatchMouseEventTypeMousePressed
		case len(corners) - 1:
			kind = input.DispatchMouseEventTypeMouseReleased
		}
		b.Mouse(kind, [2]float64{box[0] + c[0]*box[2], box[1] + c[1]*box[3]}, 1)
	}
	b.Until("the lasso marks labels", `document.querySelector(".marks")`)
}

// Only open ones: the map and the lasso leave decided labels out. The legend names the coloured groups.
func TestMapCanShowOpenLabelsAlone(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	decided := eval[int](b, `document.querySelectorAll("#grid .card").length`)
	b.Keys("a")
	b.saved(1)
	b.Keys("v")
	b.Until("the legend", `document.querySelectorAll(".legend li").length === 5`)
	b.Click("#maponly")
	b.Until("a group less", `document.querySelectorAll(".legend li").length === 4`)
	b.lasso()
	b.Until("open ones are marked", fmt.Sprintf(`document.querySelector(".marks").innerText.startsWith("%d tags")`, 23-decided))
	if left := eval[bool](b, `document.querySelector(".marks").innerText.includes("decided")`); left {
		t.Error("the lasso met labels that the map does not show")
	}
	b.Readable("light-1280-map-open")
}

// tipAt is the point of the tooltip's label, as fractions of the map's width and height.
const tipAt = `(() => {
	const tip = document.querySelector(".tip"), map = tip.parentElement;
	return [(parseFloat(tip.style.left) - 10) / map.clientWidth, (parseFloat(tip.style.top) - 10) / map.clientHeight];
})()`

// The map shows names of groups and the label under the pointer. It zooms at the pointer, or at
// the circle, which then marks the same labels as before.
func TestMapShowsNamesAndTooltipsAndZooms(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	b.Keys("v")
	b.Until("names of groups", `Number(document.querySelector("canvas").dataset.names) >= 2`)
	b.Readable("light-1280-map-named")
	box := b.Box("canvas")
	labelAt := func(x, y float64) string {
		b.Mouse(input.DispatchMouseEventTypeMouseMoved, [2]float64{box[0] + x*box[2], box[1] + y*box[3]}, 0)
		return eval[string](b, `(() => { const tip = document.querySelector(".tip"); return tip.hidden ? "" : tip.textContent; })()`)
	}
	// Find a label that is not at an edge, where the tooltip would be shifted.
	label, at := "", [2]float64{}
	for x := 0.15; x < 0.85 && label == ""; x += 0.015 {
		for y := 0.15; y < 0.85 && label == ""; y += 0.02 {
			if label = labelAt(x, y); label != "" {
				at = eval[[2]float64](b, tipAt)
			}
		}
	}
	if label == "" {
		t.Fatal("the map shows no label under the pointer")
	}
	// The wheel zooms twice, 1.25 times each, at a pointer beside the label.
	pointer, want := at, at
	for axis := range at {
		pointer[axis] += math.Copysign(0.1, 0.5-at[axis])
		want[axis] = pointer[axis] + 1.25*1.25*(at[axis]-pointer[axis])
	}
	b.Exec(fmt.Sprintf(`{ const map = document.querySelector("canvas"), r = map.getBoundingClientRect();
		for (let n = 0; n < 2; n++) map.dispatchEvent(new WheelEvent("wheel", {deltaY: -100, cancelable: true,
			clientX: r.left + %v * r.width, clientY: r.top + %v * r.height})); }`, pointer[0], pointer[1]))
	if now := labelAt(want[0], want[1]); now != label {
		t.Errorf("after zooming, the map shows %q in place of %q", now, label)
	} else if to := eval[[2]float64](b, tipAt); math.Hypot(to[0]-want[0], to[1]-want[1]) > 0.005 {
		t.Errorf("after zooming, %q is at %.3f, want it at %.3f", label, to, want)
	}
	if labelAt(at[0], at[1]) == label {
		t.Errorf("after zooming, the map still shows %q at its old point", label)
	}
	// The middle button drags the zoomed map.
	b.Exec(`{ const map = document.querySelector("canvas"), r = map.getBoundingClientRect();
		map.setPointerCapture = () => {};
		const send = (type, by) => map.dispatchEvent(new PointerEvent(type, {button: 1, bubbles: true,
			clientX: r.left + (0.5 + by) * r.width, clientY: r.top + (0.5 + by) * r.height}));
		send("pointerdown", 0); send("pointermove", 0.03); send("pointerup", 0.03); }`)
	if now := labelAt(want[0]+0.03, want[1]+0.03); now != label {
		t.Errorf("after a drag, the map shows %q in place of %q", now, label)
	}
	mark := func() int {
		b.Keys(" ")
		b.Until("labels are marked", `document.querySelector(".marks")`)
		return eval[int](b, `Number((document.querySelector(".marks")?.innerText.match(/^\d+/) || ["0"])[0])`)
	}
	b.Focus("canvas")
	b.Keys(kb.PageDown, kb.PageDown) // 1.5 times each: the whole map is in sight again
	b.Keys("+", "+", "+", "+", "+", "+", "+", "+")
	before := mark()
	b.Focus("canvas")
	b.Keys(kb.PageUp, kb.PageUp)
	if after := mark(); before == 0 || after != before {
		t.Errorf("the circle marks %d labels, and after zooming %d; want the same, some", before, after)
	}
	b.Keys(kb.PageDown)
	b.Readable("light-1280-map-zoomed")
}
