//go:build browser

package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
)

// Find counts what is open and what is decided; a decided label says where it went,
// and Enter goes there.
func TestBrowserFindsWhereADecidedLabelWent(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	label := b.card()
	b.keys("m")
	b.take("elsewhere")
	b.saved(1)
	b.keys("j", "x")
	dropped := b.card()
	b.take("too generic")
	b.saved(2)
	b.keys("/", label)
	b.until("counted", `/^\d+ open, 1 decided$/.test(document.getElementById("counted").textContent)`)
	b.run(chromedp.Click(chromedp.CSS("#openonly")), chromedp.Focus(chromedp.CSS("#query")))
	b.until("below a break", `document.querySelector("#grid .break").textContent === "decided · 1"`)
	b.shot("light-find-decided")
	b.keys(kb.Enter, kb.End)
	b.until("it says where", `document.querySelector("#grid .cell.at .facts").textContent.endsWith("in elsewhere")`)
	b.keys(kb.Enter)
	b.at("where it went", "elsewhere")
	if now := b.card(); now != label {
		t.Errorf("the keyboard is on %q, want %q", now, label)
	}
	b.keys("/")
	b.ctrl("a")
	b.keys(dropped, kb.Enter, kb.End)
	b.until("it stands there", `document.querySelector("#side dl").textContent.includes("dropped")`)
	b.run(chromedp.Click(chromedp.CSS("#side .link")))
	b.at("what was dropped", "Dropped")
	b.clean()
}

// The palette goes to a group and to a label, and runs a command, by their names.
func TestBrowserGoesToWhatIsNamed(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	order := b.rows()
	to := func(name string) {
		b.ctrl("k")
		b.take(name)
	}
	to(order[3])
	b.at("a group", order[3])
	to("volcano")
	if now := b.card(); now != "volcano mountain" {
		t.Errorf("the keyboard is on %q, want the label that was named", now)
	}
	b.ctrl("k")
	b.until("the palette", `document.querySelector("dialog input")`)
	b.keys("museum")
	b.until("labels say where they are",
		`[...document.querySelectorAll(".choice .soft")].some(e => e.textContent.startsWith("label · open, in "))`)
	b.shot("light-palette")
	b.keys(kb.Escape)
	b.ctrl("k")
	b.keys("rename")
	b.until("the palette has it", `document.querySelector(".choice.at .name").textContent === "Rename"`)
	b.keys(kb.Enter)
	b.until("the command's dialog", `document.querySelector("dialog[open]").getAttribute("aria-label").startsWith("Rename “")`)
	b.keys(kb.Escape)
	b.clean()
}

// Every edit says what it did and to what, and o goes there: a move, a merge, an
// undo.
func TestBrowserSaysWhatAnEditDidAndLeadsThere(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	order := b.rows()
	label := b.card()
	b.keys(" ", "l", " ", "m")
	b.take("new group")
	b.saved(1)
	b.says(fmt.Sprintf("Moved “%s” and 1 more to “new group”.", label))
	b.shot("light-told")
	b.keys("o")
	b.at("o after a move", "new group")
	if now := b.card(); now != label {
		t.Errorf("o leads to %q, want %q", now, label)
	}
	b.keys("u")
	b.saved(2)
	b.says(fmt.Sprintf("Took back the move of “%s” and 1 more (new group).", label))
	b.keys("o")
	b.at("o after an undo", order[0])
	b.ctrl("y")
	b.saved(3)
	b.says(fmt.Sprintf("Done again: Moved “%s” and 1 more to “new group”.", label))
	b.keys("j", "g")
	merged := b.heading()
	b.take("new group")
	b.saved(4)
	b.says(fmt.Sprintf("Merged “%s” into “new group”.", merged))
	b.at("what it was merged into is in view", "new group")
	b.keys("j", "x")
	b.take("too generic")
	b.saved(5)
	b.says("too generic")
	b.run(chromedp.Click(chromedp.CSS("#toast button")))
	b.at("the button after a drop", "Dropped")
	b.clean()
}

// A digit pressed while the suggestions are those of another label waits for its
// own, and is forgotten if the label is left.
func TestBrowserWaitsForSuggestionsThatAreUnderWay(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	b.until("suggestions", `document.querySelector(".near:not(.stale) .suggestion")`)
	b.run(evaluateVoid(`window.ask = window.fetch; window.fetch = (path, o) => (path.includes("/api/suggest") ? new Promise((done) => setTimeout(done, 700)) : Promise.resolve()).then(() => window.ask(path, o))`))
	b.keys("l", "1", "l") // left before the answer
	b.until("its own suggestions", fmt.Sprintf(`document.querySelector("#side .near:not(.stale)") && document.querySelector("#side p.soft").textContent === %q`, b.card()))
	b.saved(0)
	b.keys("l")
	label := b.card()
	b.keys("1")
	b.saved(1)
	b.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if e := c.Edits[0]; len(c.Edits) != 1 || len(e.From) != 1 || e.From[0].Name != label {
		t.Errorf("the digit moved %v, want %q", e.From, label)
	}
}

// On Close by, a takes what is marked, or the current label, into the group.
func TestBrowserTakesWhatIsCloseByIntoTheGroup(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	group := b.heading()
	b.keys("c")
	b.at("close by", "Close to “"+group+"”")
	label := b.card()
	b.keys("a")
	b.saved(1)
	b.says(fmt.Sprintf("Moved “%s” to “%s”.", label, group))
	b.keys(" ", "l", " ", "a")
	b.saved(2)
	b.at("still close by", "Close to “"+group+"”")
	b.run(chromedp.Reload())
	b.until("reloaded where it was", `document.body.dataset.ready === "yes" && document.querySelectorAll("#grid .card").length > 0`)
	b.at("after a reload", "Close to “"+group+"”")
	b.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range []int{1, 2} {
		if e := c.Edits[i]; e.Op != curate.Move || e.To != group || len(e.From) != n {
			t.Errorf("edit %d is %s %v to %q, want %d to %q", i+1, e.Op, e.From, e.To, n, group)
		}
	}
}
