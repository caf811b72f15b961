//go:build browser

package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/labels"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// longName is a name of n letters, some words of which are long.
func longName(what string, n int) string {
	return (strings.Repeat(what+" of the "+strings.Repeat("very", 6)+"long administrative subdivision, ", n) + what)[:n]
}

// overflowing lists elements whose content is larger than they are.
const overflowing = `((what) => [...document.querySelectorAll(what)].filter((e) => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1).map((e) => e.className + " " + e.textContent.slice(0, 60)))`

// Long names are not cut off among the choices of an adjudicator and in the history. Buttons of
// the history stay on one line, and the headings of tables are aligned with their columns.
func TestLongNamesAreNotCutOff(t *testing.T) {
	dir := t.TempDir()
	d := &labels.Draft{Version: labels.DraftVersion, Clusters: []labels.Cluster{{Name: "all"}}}
	var refs []curate.Ref
	for i, what := range []string{"palace", "fortress", "lake", "bridge"} {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: longName(what, 40*(i+1))}, Landmarks: 5 - i})
		d.Clusters[0].Members = append(d.Clusters[0].Members, labels.Member{Tag: i})
		refs = append(refs, curate.Ref{Name: d.Tags[i].Name})
	}
	move := func(i int, to string) curate.Edit { return curate.Edit{Op: curate.Move, From: refs[i : i+1], To: to} }
	writeCuration(t, dir, d, "anna.jsonl", move(0, "short"), move(1, longName("castle", 150)), move(2, "lake"),
		move(3, strings.Repeat("unbroken", 20)))
	writeCuration(t, dir, d, "ben.jsonl", move(0, longName("house", 120)), move(1, "fort"), move(2, "lake"),
		move(3, "bridge"))
	_, b := openPage(t, dir, adjudicating("anna.jsonl", "ben.jsonl")...)
	b.Until("three differences", `document.querySelectorAll(".duel").length === 3`)
	for _, width := range []int64{1280, 1920, 320} {
		b.Run(chromedp.EmulateViewport(width, 800))
		b.Until("drawn", fmt.Sprintf(`innerWidth === %d`, width))
		b.Exec(`document.querySelector("#grid").scrollTop = 0`)
		if width != 320 { // on a phone the longest are read in the panel
			// Rows are measured again in a frame after the page has its new width.
			b.Until(fmt.Sprintf("nothing is cut off at %d", width), overflowing+`(".duel, .duel .side, .duel .label").length === 0`)
		}
		b.Readable(fmt.Sprintf("light-%d-review-long", width))
	}
	b.Resize(1280, 800)
	b.Until("the panel has the whole names",
		fmt.Sprintf(`document.querySelector("#side").textContent.includes(%q)`, longName("house", 120)))
	b.Click("#side button")
	b.Until("the agreement", `document.querySelector("dialog[open] th")`)
	if off := eval[[]string](b, `[...document.querySelectorAll("dialog table")].flatMap((t) => [...t.querySelectorAll("th")].filter((th, n) => getComputedStyle(th).textAlign.replace("start", "left") !== getComputedStyle(t.querySelectorAll("tbody tr:first-child td")[n]).textAlign.replace("start", "left"))).map((e) => e.textContent)`); len(off) > 0 {
		t.Errorf("headings that do not stand over their columns: %q", off)
	}
	b.Readable("light-1280-agreement-long")
	b.Keys(kb.Escape, "1")
	b.saved(1)
	b.Keys("2")
	b.saved(2)
	b.Keys("e")
	b.Until("the history", `document.querySelectorAll("dialog[open] td button").length === 2`)
	if tall := eval[[]float64](b, `[...document.querySelectorAll("dialog td button, dialog td:nth-child(2)")].map((e) => e.getClientRects().length + (e.offsetHeight > 60 && e.tagName === "BUTTON" ? 9 : 0))`); fmt.Sprint(tall) != "[1 1 1 1]" {
		t.Errorf("buttons and times of the history are broken: %v", tall)
	}
	for _, what := range eval[[]string](b, overflowing+`("dialog td, dialog table")`) {
		t.Errorf("history: cut off: %s", what)
	}
	b.Readable("light-1280-history-long")
}
