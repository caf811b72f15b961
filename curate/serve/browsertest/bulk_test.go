//go:build browser

package browsertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// marked waits until the head of the screen says a text about the marked labels.
func (b *page) marked(text string) {
	b.TB.Helper()
	b.Until(fmt.Sprintf("the marks say %q", text),
		fmt.Sprintf(`(document.querySelector(".marks")||{innerText:""}).innerText.replace(/\s+/g, " ").includes(%q)`, text))
}

// A lasso, mark all and a range leave decided labels out. The head counts them, and one key marks
// them too; the dialog then says how many were decided before.
func TestBulkEditsLeaveDecidedLabelsOut(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	decided := eval[int](b, `document.querySelectorAll("#grid .card").length`)
	b.Keys("a")
	b.saved(1)
	b.Keys("v")
	b.Until("the map", `Number(document.querySelector("canvas").dataset.names) >= 2`)
	b.lasso()
	b.marked(fmt.Sprintf("and %d decided", decided))
	marked := eval[int](b, `parseInt(document.querySelector(".marks").innerText)`)
	b.Readable("light-1280-bulk-map")
	b.moveTo("elsewhere")
	b.saved(2)
	if e := s.lastEdit(); len(e.From) != marked || slices.ContainsFunc(names(s.edits()[0]), func(n string) bool {
		return slices.Contains(names(e), n)
	}) {
		t.Errorf("%d labels were moved, want %d open ones: %q", len(e.From), marked, names(e))
	}
	b.Keys("u")
	b.saved(3)

	// The list of Find, with the decided labels shown.
	b.Keys("/")
	b.Click("#openonly")
	b.Focus("#query")
	b.Keys("r", kb.Enter)
	b.Ctrl("a")
	b.marked("decided D")
	b.Keys("D", "m")
	b.Until("the dialog counts them", `/\(\d+ decided before\)/.test(document.querySelector("dialog[open] h2").textContent)`)
	b.Readable("light-1280-bulk-dialog")
	b.Keys(kb.Escape, kb.Escape)
	b.Until("no marks", `!document.querySelector(".marks")`)
	s.stop()
}
