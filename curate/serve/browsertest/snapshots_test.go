//go:build browser

package browsertest

import (
	"strings"
	"testing"

	"hgld/curate"

	"github.com/chromedp/chromedp/kb"
)

// A state gets a name, is compared with a later one, and is restored by an edit that undo takes back.
func TestSnapshotsAreNamedComparedAndRestored(t *testing.T) {
	dir := t.TempDir()
	writeCuration(t, dir, oneCluster("abbey", "church", "lake"), "edits.jsonl", move("lake", "water"))
	s, b := openPage(t, dir, "--log", "edits.jsonl")
	named := func(what string) {
		b.Keys("P")
		b.Until("the snapshots", `[...document.querySelectorAll("dialog[open] h2")].some((e) => e.textContent === "Snapshots")`)
		b.Readable("light-1280-snapshots-" + what)
	}
	press := func(label string) {
		b.Until(label, `!!document.querySelector('dialog[open] [aria-label="`+label+`"]')`)
		b.Click(`dialog[open] [aria-label="` + label + `"]`)
	}
	named("none")
	b.Keys(kb.Enter)
	b.take("before <lunch>")
	b.saved(2)
	b.says("This state is called “before <lunch>”")
	b.Keys("a")
	b.saved(3)
	b.Keys("/", "abbey", kb.Escape)
	b.Keys("p", "natural", kb.Enter)
	b.saved(4)
	named("one")
	press("compare before <lunch>")
	b.Until("two labels differ", `document.querySelectorAll("dialog[open] table:first-of-type tbody tr").length === 2`)
	b.Until("and a kind", `document.querySelector("dialog[open] table:last-of-type tbody").innerText.replace(/\s+/g, " ").includes("kind none natural")`)
	if text := b.Text("dialog[open] tbody tr:first-child"); !strings.Contains(text, "all (open)") {
		t.Errorf("the first difference is %q, want where the label was", text)
	}
	for _, width := range []int{320, 1280} {
		b.Resize(width, 800)
		b.Readable(map[int]string{320: "light-320-snapshots-compare", 1280: "light-1280-snapshots-compare"}[width])
	}
	b.Keys(kb.Escape)
	named("two")
	press("restore before <lunch>")
	const answer = `[...document.querySelectorAll("dialog[open] button")].find((e) => /^Restore [0-9]/.test(e.innerText))`
	b.Until("it asks", "!!"+answer)
	b.Exec(answer + ".click()")
	b.saved(5)
	b.says("Restored “before <lunch>”")
	if e := s.lastEdit(); e.Op != curate.Restore || e.Of != 2 {
		t.Errorf("restoring made %s of %d, want restore of 2", e.Op, e.Of)
	}
	open := func(n string) {
		b.Until(n+" open labels", `document.querySelector(".meter").title.startsWith("`+n+` of 3 tags")`)
	}
	open("1")
	b.Keys("u")
	b.saved(6)
	open("3")
	b.says("Took back the return to “before <lunch>”")
	b.Reload()
	open("3")
	s.stop()
}
