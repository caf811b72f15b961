//go:build browser

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
	"hgld/labels"
)

// Two tabs decide the same label while the server is away. The tab that opens the
// link of the next server sends the edits of both. The author of the second has not
// seen the first, so the curator is asked; being asked outlives another absence of
// the server. The other tab, which is shut out, learns that nothing waits any more.
func TestBrowserAsksWhoDecidesWhatChangedMeanwhile(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	other := b.tab()
	other.open(s.next())
	other.keys(kb.Escape)
	const alarm = `document.getElementById("alarm").textContent`
	s.kill()
	for tab, to := range map[*browser]string{b: "four", other: "five"} {
		tab.until("the alarm", alarm+`.includes("server is gone")`)
		tab.keys("m")
		tab.take(to)
		tab.until("it waits", `document.getElementById("saved").textContent === "NOT SAVED: 1 edit"`)
	}
	s.start()
	b.openHere(s.url)
	b.until("asked", alarm+`.includes("changed meanwhile")`)
	other.until("shut out", alarm+`.includes("has ended. 1 edit is not saved yet")`)
	s.kill()
	b.until("gone again", alarm+`.includes("server is gone")`)
	s.start()
	b.openHere(s.url)
	b.until("asked again", alarm+`.includes("changed meanwhile")`)
	b.run(chromedp.Click(chromedp.CSS("#alarm button")))
	b.saved(2)
	other.until("nothing waits", alarm+`.includes("has ended. Nothing is lost: all edits are saved")`)
	s.stop()
	if c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl")); err != nil || len(c.Edits) != 2 {
		t.Errorf("%d edits, want both: %v", len(c.Edits), err)
	}
}

// A draft without a group that is left, and a log of two levels, are shown; the page
// writes by the settings of the project.
func TestBrowserOpensWhatHasNoGroupsOrKinds(t *testing.T) {
	for _, c := range []struct {
		levels []string
		drop   bool
		want   string
	}{{curate.DefaultLevels, true, `document.querySelector("#head h2 .name").textContent === "Dropped"`},
		{[]string{"tag", "group"}, false, `document.querySelector("#tree .row.current") !== null`}} {
		dir := smallProject(t)
		path, draft := filepath.Join(dir, "edits.jsonl"), filepath.Join(dir, "draft.json")
		sum, err := sha256File(draft)
		if err != nil {
			t.Fatal(err)
		}
		if err := curate.CreateLog(path, curate.Header{By: "Anna", DraftSHA256: sum, Levels: c.levels}); err != nil {
			t.Fatal(err)
		}
		if c.drop {
			dropAll(t, path, draft)
		}
		if err := os.WriteFile(filepath.Join(dir, projectFile), []byte("curate: {undecided: true}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s := serveIn(t, dir, "--port", "0")
		b := newBrowser(t, 1280, 800, false)
		b.open(s.url)
		b.until("shown", c.want)
		if !c.drop { // nobody has decided anything, and the project keeps that
			b.keys(kb.Escape)
			b.keys("w")
			b.until("written", `document.querySelector("dialog[open]").textContent.includes("hierarchy.json written")`)
		}
		b.clean()
		s.stop()
	}
}

// dropAll drops every tag of a draft.
func dropAll(t *testing.T, path, draft string) {
	t.Helper()
	d, err := labels.OpenDraft(draft)
	if err != nil {
		t.Fatal(err)
	}
	log, _, err := curate.OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	e := curate.Edit{Seq: 1, By: "Anna", Op: curate.Drop, Note: "too generic"}
	for _, tag := range d.Tags {
		e.From = append(e.From, curate.Ref{Name: tag.Name, QID: tag.QID})
	}
	if err := log.Append(e); err != nil {
		t.Fatal(err)
	}
}
