//go:build browser

package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hgld/internal/testing/must"
	"hgld/internal/testing/program"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A reload, the back button, a second tab and a killed server lose neither an edit nor the
// curator's place.
func TestReloadsTabsAndCrashesLoseNoEdit(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	b.Keys("l")
	b.moveTo("one")
	b.saved(1)

	// Reloading and going back.
	b.Keys("j")
	second := b.heading()
	b.Reload()
	b.Until("reloaded where it was", fmt.Sprintf(`document.querySelector("#head h2 .name").innerText === %q`, second))
	b.saved(1)
	b.Keys("k")
	first := b.heading()
	b.Keys("j")
	b.Exec(`history.back()`)
	b.Until("back", fmt.Sprintf(`document.querySelector("#head h2 .name").innerText === %q`, first))

	// Each of two tabs shows the edits of the other. An edit made on an older state is
	// applied if it touches nothing that has changed.
	other := b.anotherTab(s)
	other.moveTo("two")
	other.saved(2)
	b.Until("the first tab knows", `[...document.querySelectorAll("#tree .row .name")].some(e => e.textContent === "two")`)
	b.Keys("j")
	b.moveTo("three")
	b.saved(3)

	// A damaged address opens a group.
	other.Exec(`location.hash = "#group/%"`)
	other.Until("a group is open", `document.querySelector("#head h2 .name").textContent !== ""`)

	// While the server is gone, the page says so and keeps the edits.
	s.kill()
	b.alarms("server is gone")
	b.moveTo("four")
	text := eval[string](b, `document.getElementById("alarm").innerText`)
	if !strings.Contains(text, "1 edit is not saved yet") {
		t.Errorf("after an edit, the alarm says %q", text)
	}
	b.moveTo("five")
	b.unsaved(2)
	b.Exec(`document.querySelector("#toast > span").textContent = "a long message ".repeat(9)`)
	if bad := eval[[]string](b, overlapping); len(bad) > 0 {
		t.Errorf("overlapping or cut off at the top: %v", bad)
	}
	b.Shot("light-lost")
	s.start()
	b.alarms("has ended. 2 edits are not saved yet")
	b.openHere(s.url)
	b.saved(5)
	b.calm()

	// The log cannot be written.
	log := filepath.Join(s.dir, "edits.jsonl")
	must.Do(t, os.Rename(log, log+".aside"))
	b.moveTo("six")
	b.alarms("Not saved: ")
	must.Do(t, os.Rename(log+".aside", log))
	b.Until("try again", `document.querySelector("#alarm button").textContent === "Try again"`)
	b.Click("#alarm button")
	b.saved(6)
	b.calm()
	s.stop()
	if to := targets(s.edits()); fmt.Sprint(to) != "[one two three four five six]" {
		t.Errorf("the log has %v", to)
	}
}

// overlapping lists the parts of the top of the page that are wider than their place, or stand in that of the next one.
const overlapping = `[...document.querySelector(".top").children].filter((e) => e.offsetWidth)
	.filter((e, i, all) => e.scrollWidth > e.clientWidth + 1 ||
		e.getBoundingClientRect().right > (all[i + 1]?.getBoundingClientRect().left ?? innerWidth) + 1)
	.map((e) => e.id)`

// Another tab that opens the next link sends the unsaved edits of the first tab, which learns of
// it.
func TestAnotherTabSendsUnsavedEdits(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	s.kill()
	b.alarms("server is gone")
	b.Keys("l")
	b.moveTo("one")
	b.unsaved(1)
	s.start()
	other := &page{b.NewTab()}
	other.Open(s.url)
	other.saved(1)
	b.alarms("has ended. Nothing is lost")

	// A tab without a pass, and one with the pass of a server that has ended, say what to do.
	stranger := &page{b.NewTab()}
	stranger.Run(chromedp.Navigate(s.address()))
	stranger.alarms("has no access; open the latest link")
	b.Run(chromedp.Reload())
	b.alarms("has ended. Open the latest link")
	b.openHere(s.nextLink())
	b.saved(1)
	s.stop()
	if edits := s.edits(); len(edits) != 1 {
		t.Errorf("the log has %d edits; want one", len(edits))
	}
}

// Two tabs decide the same label while the server is gone. The tab that opens the link of the
// next server sends the edits of both. The second edit was made without knowledge of the first,
// so the page asks the curator, again after another absence of the server. The other tab, which
// is shut out, learns that nothing is unsaved.
func TestConflictingUnsavedEditsAreAskedAbout(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	other := b.anotherTab(s)
	s.kill()
	for tab, to := range map[*page]string{b: "four", other: "five"} {
		tab.alarms("server is gone")
		tab.moveTo(to)
		tab.unsaved(1)
	}
	s.start()
	b.openHere(s.url)
	b.alarms("changed meanwhile")
	other.alarms("has ended. 1 edit is not saved yet")
	s.kill()
	b.alarms("server is gone")
	s.start()
	b.openHere(s.url)
	b.alarms("changed meanwhile")
	b.Click("#alarm button")
	b.saved(2)
	other.alarms("has ended. Nothing is lost: all edits are saved")
	s.stop()
	if edits := s.edits(); len(edits) != 2 {
		t.Errorf("%d edits, want both", len(edits))
	}
}

// The page asks before it moves a marked label that another tab has decided.
func TestMarkedLabelsDecidedElsewhereAreAskedAbout(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	other := b.anotherTab(s)
	first := b.card()
	b.Keys(" ", "l", " ", "l", " ")
	marked := eval[[]string](b, `[...document.querySelectorAll(".card.marked")].map(e => e.title)`)
	other.Keys("x")
	other.take("too generic")
	other.saved(1)
	b.Until("the first tab knows", `document.querySelector('[data-view="dropped"]').textContent.includes("1")`)
	b.Keys("m")
	b.Until("a dialog", `document.querySelector("dialog[open] input")`)
	b.Ctrl("a")
	b.Keys("three", kb.Enter)
	b.Until("it asks", `document.querySelector("dialog[open]").textContent.includes("“`+first+`” is dropped")`)
	b.Shot("light-changed-meanwhile")
	b.Keys(kb.Enter) // leave it out
	b.saved(2)
	s.stop()
	edits := s.edits()
	from := names(edits[1])
	want := slices.DeleteFunc(slices.Clone(marked), func(n string) bool { return n == first })
	if slices.Sort(from); len(from) != 2 || !slices.Equal(from, slices.Sorted(slices.Values(want))) {
		t.Errorf("%q was moved, want %q", from, want)
	}
}

// The cursor stays on its label when another tab takes labels before it away, and the page says
// so when the label itself is taken away.
func TestCursorStaysOnItsLabel(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	other := b.anotherTab(s)
	b.Keys("l", "l")
	label := b.card()
	other.moveTo("elsewhere")
	other.saved(1)
	b.Until("the first tab knows", `[...document.querySelectorAll("#tree .row")].some(e => e.title === "elsewhere")`)
	if now := b.card(); now != label {
		t.Errorf("the keyboard was on %q and is on %q", label, now)
	}
	for other.card() != label {
		other.Keys("l")
	}
	other.Keys("x")
	other.take("too generic")
	other.saved(2)
	b.says("“" + label + "” is dropped now: it was changed in another tab.")
}

// An edit that the server does not answer is reported after three seconds. The number of saved edits
// is true after an import between two servers, and when another tab has saved edits.
func TestSavedNumberIsTrue(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	writeGroupNames(t, s.dir)
	s.cmd.Process.Signal(syscall.SIGSTOP)
	began := time.Now()
	b.moveTo("one")
	b.moveTo("two")
	b.alarms("The server has not answered for 3 seconds. 2 edits are not saved yet")
	if late := time.Since(began); late < 2*time.Second {
		t.Errorf("the alarm came after %v", late)
	}
	b.unsaved(2)
	b.Readable("light-1280-late")
	b.moveTo("three")
	b.unsaved(3)
	s.cmd.Process.Signal(syscall.SIGCONT)
	b.saved(3)
	b.calm()
	s.stop()
	b.alarms("server is gone")
	b.Keys("i")
	program.Run(t, s.dir, "curate", "import", "groups.txt")
	s.start()
	b.openHere(s.url)
	now := s.lastEdit().Seq
	b.saved(now)
	other := b.anotherTab(s)
	other.moveTo("four")
	b.saved(now + 1)
}
