//go:build browser

package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"

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
	b.findAll("r")
	b.Keys(kb.Enter)
	b.Ctrl("a")
	b.marked("decided D")
	b.Keys("D", "m")
	b.Until("the dialog counts them", `/\(\d+ decided before\)/.test(document.querySelector("dialog[open] h2").textContent)`)
	b.Readable("light-1280-bulk-dialog")
	b.Keys(kb.Escape, kb.Escape)
	b.Until("no marks", `!document.querySelector(".marks")`)
	s.stop()
}

// While a lasso is drawn, the points are not drawn again.
func TestLassoDrawsThePointsOnce(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	b.Keys("v")
	b.Until("the map", `Number(document.querySelector("canvas").dataset.names) >= 2`)
	draws := func() int { return eval[int](b, `Number(document.querySelector("canvas").dataset.draws)`) }
	before := draws()
	b.Exec(`{ const map = document.querySelector("canvas"), r = map.getBoundingClientRect();
		map.setPointerCapture = () => {};
		const send = (type, x) => map.dispatchEvent(new PointerEvent(type, {clientX: r.left + x, clientY: r.top + x, bubbles: true}));
		send("pointerdown", 5); for (let x = 5; x < 60; x++) send("pointermove", x); }`)
	b.Exec(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	if now := draws(); now != before {
		t.Errorf("a lasso of 55 moves draws the points %d times", now-before)
	}
}

// On the draft of a later scrape, Find can show only the labels that the earlier draft did not have.
func TestFindShowsTheNewLabels(t *testing.T) {
	dir := t.TempDir()
	writeCuration(t, dir, oneCluster("church", "lake"), "edits.jsonl",
		curate.Edit{Op: curate.Accept, From: []curate.Ref{{Name: "church"}}, To: "all"})
	must.Do(t, os.Rename(filepath.Join(dir, "draft.json"), filepath.Join(dir, "was.json")))
	writeDraft(t, dir, oneCluster("church", "lake", "abbey", "minster"))
	s, b := openPage(t, dir, "--log", "edits.jsonl", "--on-conflict", "skip")
	b.Keys("/")
	b.Click("#newonly")
	// The earlier draft is not there any more, so that the open label counts as new.
	b.Until("three new labels", `document.querySelectorAll("#grid .card").length === 3 && document.getElementById("counted").innerText.startsWith("3 open")`)
	b.Readable("light-1280-find-new")
	b.Focus("#query")
	b.Keys("min", kb.Enter)
	b.Until("one of them", `document.querySelectorAll("#grid .card").length === 1`)
	s.stop()
}
