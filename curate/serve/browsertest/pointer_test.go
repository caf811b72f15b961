//go:build browser

package browsertest

import (
	"fmt"
	"slices"
	"testing"

	"hgld/curate"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// heard waits until the page has received the answer with version n.
func (b *page) heard(n int) {
	b.TB.Helper()
	b.Until(fmt.Sprintf("it has heard of edit %d", n),
		fmt.Sprintf(`performance.getEntriesByType("resource").some(e => e.name.includes("/api/changes?since=%d&"))`, n))
}

// Edits of another tab while the mouse button is down do not interrupt the click or the drag. The
// page shows them as soon as the button is released.
func TestPressAndDragSurviveEditsOfOthers(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	other := b.anotherTab(s)
	other.Keys("j")
	edits := 0
	meanwhile := func() { // a label of another group moves to a new one, which the tree shows first
		edits++
		other.Keys("n")
		other.take(fmt.Sprintf("new %d", edits))
		other.saved(edits)
		b.heard(edits - 1)
	}
	treeHas := func(n int) string {
		return fmt.Sprintf(`[...document.querySelectorAll("#tree .row .name")].some(e => e.textContent === "new %d")`, n)
	}

	// A click on a label, and one on a group.
	b.Mouse(chromedp.MousePressed, b.Centre("#cell-0"), 1)
	meanwhile()
	b.Mouse(chromedp.MouseReleased, b.Centre("#cell-0"), 0)
	b.Until("the click marks", `document.querySelector("#cell-0").classList.contains("marked")`)
	b.Until("the tree shows the edit of the other tab", treeHas(1))
	b.Keys(kb.Escape)
	row := `#tree .row:nth-last-child(1)`
	name := b.Text(row + " .name")
	at := b.Centre(row)
	b.Mouse(chromedp.MousePressed, at, 1)
	meanwhile()
	b.Mouse(chromedp.MouseReleased, at, 0)
	b.Until("the click opens", fmt.Sprintf(`document.querySelector("#head h2 .name").textContent === %q`, name))
	b.Until("the tree shows the edit of the other tab", treeHas(2))

	// A drag, with edits before it begins and on its way.
	label := b.Text("#cell-0 .label")
	intercept := input.SetInterceptDragsParams{Enabled: true}
	if _, err := chromedp.Call(b.Context(), input.SetInterceptDrags, intercept); err != nil {
		t.Fatal(err)
	}
	begun := make(chan *input.DragData, 1)
	intercepted := chromedp.Events(b.Context(), input.DragIntercepted)
	go func() {
		for e, err := range intercepted {
			if err != nil {
				return
			}
			begun <- e.Data
		}
	}()
	from, to := b.Centre("#cell-0"), b.Centre("#tree .row:not(.current)")
	target := b.Text("#tree .row:not(.current) .name")
	b.Mouse(chromedp.MousePressed, from, 1)
	meanwhile()
	b.Mouse(chromedp.MouseMoved, [2]float64{from[0] - 20, from[1]}, 1)
	b.Mouse(chromedp.MouseMoved, [2]float64{from[0] - 60, from[1]}, 1)
	data := <-begun
	meanwhile()
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter,
		input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		if _, err := chromedp.Call(b.Context(), input.DispatchDragEvent,
			input.DispatchDragEventParams{Type: kind, X: to[0], Y: to[1], Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	b.Mouse(chromedp.MouseReleased, to, 0)
	b.saved(edits + 1)
	b.Until("the tree shows the edit of the other tab", treeHas(4))
	s.stop()
	if e := s.lastEdit(); e.Op != curate.Move || e.To != target || len(e.From) != 1 || e.From[0].Name != label {
		t.Errorf("the drag of %q onto %q is %s %v to %q", label, target, e.Op, e.From, e.To)
	}
}

// The mouse alone marks, drags, accepts, undoes, sets kinds and draws a lasso.
func TestMouseCurates(t *testing.T) {
	s := startServer(t, smallProject(t), "--by", "Anna")
	b := newPage(t, 1280, 800, false)
	b.Open(s.url)
	b.Click("dialog button.main-button")
	first := b.heading()
	// Mark two labels and drag them onto another group of the tree. Each click waits until
	// the effect of the last one is drawn: the mouse must be pressed and released on the same
	// element.
	for i, shown := range []string{"1 tag ", "2 tags "} {
		b.Run(chromedp.WaitVisible(chromedp.CSS(".suggestion")))
		b.Click(fmt.Sprintf("#cell-%d", i))
		b.Until(shown+"marked", fmt.Sprintf(`(document.querySelector(".marks")||{textContent:""}).textContent.includes(%q)`,
			shown))
	}
	moved := eval[[]string](b, `[...document.querySelectorAll(".card.marked .label")].map(e => e.textContent)`)
	b.Run(chromedp.DragAndDrop(chromedp.CSS("#cell-1"), chromedp.CSS("#tree .row:not(.current)")))
	b.saved(1)
	b.Click("#tree .row:not(.current)")
	b.Until("another group", fmt.Sprintf(`document.querySelector("#head h2 .name").textContent !== %q`, first))
	if shown := eval[[]string](b, `[...document.querySelectorAll(".card.decided .label")].map(e => e.textContent)`); !slices.Contains(shown, moved[0]) || !slices.Contains(shown, moved[1]) {
		t.Errorf("the group has %q decided, want %q", shown, moved)
	}
	// A suggestion, a button, undo.
	b.Run(chromedp.WaitVisible(chromedp.CSS(".suggestion")))
	b.Click(".suggestion")
	b.saved(2)
	b.Click(`[data-command="Undo"]`)
	b.saved(3)
	b.Click(`[data-command="Accept"]`)
	b.saved(4)
	// The dialog sets a kind. Then a group is dragged onto a kind.
	b.Click(`[data-menu="Group"]`)
	b.Click(`[data-command="Set kind"]`)
	b.Click("#choice-0")
	b.saved(5)
	b.Run(chromedp.DragAndDrop(chromedp.CSS("#tree .row:not(.current)"),
		chromedp.CSS(`#tree .kind:not([data-row^="open"])`)))
	b.saved(6)
	// The map: a lasso marks labels.
	b.Click(`[data-view="map"]`)
	b.Until("the map", `document.querySelector("#mapbox p[role=status]").textContent.includes("tags;")`)
	b.lasso()
	b.Shot("light-map-lasso")
}
