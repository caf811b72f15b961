//go:build browser

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
)

// mouse sends one event of the pointer, the left button down or not.
func (b *browser) mouse(kind input.DispatchMouseEventType, at [2]float64, buttons int64) {
	b.t.Helper()
	e := input.DispatchMouseEventParams{Type: kind, X: at[0], Y: at[1], Button: input.MouseButtonLeft, Buttons: buttons,
		ClickCount: 1}
	if _, err := chromedp.Call(b.ctx, input.DispatchMouseEvent, e); err != nil {
		b.t.Fatal(err)
	}
}

// centre is where an element is.
func (b *browser) centre(selector string) [2]float64 {
	b.t.Helper()
	return eval[[2]float64](b, fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()`, selector))
}

// heard waits until the page has had the answer that says version n.
func (b *browser) heard(n int) {
	b.t.Helper()
	b.until(fmt.Sprintf("it has heard of edit %d", n),
		fmt.Sprintf(`performance.getEntriesByType("resource").some(e => e.name.includes("/api/changes?since=%d&"))`, n))
}

// What another tab does while the mouse button is down does not take the click or
// the drag away, and is shown as soon as the button is released.
func TestBrowserKeepsAPressThroughWhatOthersDo(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	other := b.tab()
	other.open(s.next())
	other.keys(kb.Escape, "j")
	edits := 0
	meanwhile := func() { // a label of another group moves to a new one, which the tree shows first
		edits++
		other.keys("n")
		other.take(fmt.Sprintf("new %d", edits))
		other.saved(edits)
		b.heard(edits - 1)
	}
	treeHas := func(n int) string {
		return fmt.Sprintf(`[...document.querySelectorAll("#tree .row .name")].some(e => e.textContent === "new %d")`, n)
	}

	// A click on a label, and one on a group.
	b.mouse(chromedp.MousePressed, b.centre("#cell-0"), 1)
	meanwhile()
	b.mouse(chromedp.MouseReleased, b.centre("#cell-0"), 0)
	b.until("the click marks", `document.querySelector("#cell-0").classList.contains("marked")`)
	b.until("the tree shows what the other did", treeHas(1))
	b.keys(kb.Escape)
	row := `#tree .row:nth-last-child(1)`
	name := b.text(row + " .name")
	at := b.centre(row)
	b.mouse(chromedp.MousePressed, at, 1)
	meanwhile()
	b.mouse(chromedp.MouseReleased, at, 0)
	b.until("the click opens", fmt.Sprintf(`document.querySelector("#head h2 .name").textContent === %q`, name))
	b.until("the tree shows what the other did", treeHas(2))

	// A drag, with edits before it begins and on its way.
	label := b.text("#cell-0 .label")
	if _, err := chromedp.Call(b.ctx, input.SetInterceptDrags, input.SetInterceptDragsParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	begun := make(chan *input.DragData, 1)
	intercepted := chromedp.Events(b.ctx, input.DragIntercepted)
	go func() {
		for e, err := range intercepted {
			if err != nil {
				return
			}
			begun <- e.Data
		}
	}()
	from, to := b.centre("#cell-0"), b.centre("#tree .row:not(.current)")
	target := b.text("#tree .row:not(.current) .name")
	b.mouse(chromedp.MousePressed, from, 1)
	meanwhile()
	b.mouse(chromedp.MouseMoved, [2]float64{from[0] - 20, from[1]}, 1)
	b.mouse(chromedp.MouseMoved, [2]float64{from[0] - 60, from[1]}, 1)
	data := <-begun
	meanwhile()
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter,
		input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		if _, err := chromedp.Call(b.ctx, input.DispatchDragEvent,
			input.DispatchDragEventParams{Type: kind, X: to[0], Y: to[1], Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	b.mouse(chromedp.MouseReleased, to, 0)
	b.saved(edits + 1)
	b.until("the tree shows what the other did", treeHas(4))
	b.clean()
	other.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if e := c.Edits[len(c.Edits)-1]; e.Op != curate.Move || e.To != target || len(e.From) != 1 || e.From[0].Name != label {
		t.Errorf("the drag of %q onto %q is %s %v to %q", label, target, e.Op, e.From, e.To)
	}
}

// A log of four levels is curated to its top: the tree shows all levels, kinds have a
// parent of their own, are renamed and merged as groups are.
func TestBrowserShapesEveryLevelOfTheLog(t *testing.T) {
	dir := smallProject(t)
	sum, err := sha256File(filepath.Join(dir, "draft.json"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "edits.jsonl")
	if err := curate.CreateLog(path, curate.Header{By: "Anna", DraftSHA256: sum,
		Levels: []string{"tag", "group", "kind", "realm"}}); err != nil {
		t.Fatal(err)
	}
	s := serveIn(t, dir, "--port", "0")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, "p")
	b.take("natural")
	b.saved(1)
	b.keys("j", "p")
	b.take("built")
	b.saved(2)
	// onto walks in the tree to a class above the groups.
	onto := func(name string) {
		b.run(chromedp.Focus(chromedp.CSS("#tree")))
		b.keys(kb.Home)
		for range 40 {
			if eval[string](b, `(document.querySelector("#tree .kind.at .name")||{textContent:""}).textContent`) == name {
				return
			}
			b.keys(kb.ArrowDown)
		}
		t.Fatalf("the tree does not lead to %q", name)
	}
	onto("built")
	b.keys("p")
	b.take("culture")
	b.saved(3)
	onto("built")
	b.keys("r")
	b.take("human-made")
	b.saved(4)
	b.until("all levels in the tree", `[...document.querySelectorAll("#tree [aria-level]")].some(e => e.getAttribute("aria-level") === "3" && e.classList.contains("row"))`)
	b.until("all levels in the head", `document.querySelector("#head h2 .kind").textContent === "human-made · culture"`)
	onto("natural")
	b.keys("p")
	b.take("nature")
	b.saved(5)
	onto("nature")
	b.keys("p")
	b.until("there is nothing above", `document.getElementById("toast").textContent === "There is no level above realm."`)
	b.shot("light-levels")
	b.clean()
	s.stop()
	c, err := curate.ReadLog(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range c.Edits[2:] {
		got = append(got, fmt.Sprintf("%s %d %s→%s", e.Op, e.Level, e.From[0].Name, e.To))
	}
	if want := []string{"set_parent 2 built→culture", "rename 2 built→human-made",
		"set_parent 2 natural→nature"}; !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
}
