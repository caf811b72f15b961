//go:build browser

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
)

const headingShown = `document.querySelector("#head h2 .name").textContent`

// heading is the group that is open.
func (b *browser) heading() string {
	b.t.Helper()
	return eval[string](b, headingShown)
}

// rows are the groups of the tree, from the top.
func (b *browser) rows() []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("#tree .row")].map(e => e.title)`)
}

// at expects a group to be open.
func (b *browser) at(what, group string) {
	b.t.Helper()
	b.until(fmt.Sprintf("%s: %q is open", what, group), fmt.Sprintf(`%s === %q`, headingShown, group))
}

// says expects the page to tell a text.
func (b *browser) says(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("it says %q", text),
		fmt.Sprintf(`document.getElementById("toast").classList.contains("on") && document.getElementById("toast").innerText.includes(%q)`, text))
}

// card is the label that the keyboard is on.
func (b *browser) card() string {
	b.t.Helper()
	return eval[string](b, `(document.querySelector("#grid .cell.at")||{title:""}).title`)
}

// An edit of a group leaves the curator where the work is: the group stays in view
// and the walk of j goes on behind it.
func TestBrowserKeepsThePlaceInTheWork(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	order := b.rows()
	b.keys("p")
	b.take("natural")
	b.saved(1)
	b.at("after a kind", order[0])
	b.keys("j")
	b.at("j after a kind", order[1])
	b.keys("r")
	b.take("renamed")
	b.saved(2)
	b.at("after renaming", "renamed")
	b.keys("j")
	b.at("j after renaming", order[2])
	b.keys("k")
	b.at("k after renaming", "renamed")

	// The parts of a division come next; one of them is where the group was.
	b.keys("s")
	b.until("two parts", `document.querySelectorAll("dialog .part input").length === 2`)
	parts := eval[[]string](b, `[...document.querySelectorAll("dialog .part input")].map(e => e.value)`)
	b.keys(kb.Enter)
	b.saved(3)
	b.at("after dividing", parts[0])
	b.keys("j")
	b.at("j after dividing", parts[1])
	b.keys("j")
	b.at("j after the parts", order[2])

	// What a group was merged into is shown, and j goes on where the group was.
	b.keys("g")
	b.take(parts[0])
	b.saved(4)
	b.at("after merging", parts[0])
	b.keys("j")
	b.at("j after merging", order[3])
	b.clean()
}

// Accepting and walking go on from the top before they say that all is decided.
func TestBrowserGoesRoundToWhatIsOpen(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	order := b.rows()
	b.keys("a")
	b.saved(1)
	for range len(order) - 2 {
		b.keys("j")
	}
	b.at("the last", order[len(order)-1])
	b.keys("j") // beyond the last: the first group is decided, the second is open
	b.at("j beyond the last", order[1])
	b.keys("k", "k") // the first, and the last that is open
	b.at("k beyond the first", order[len(order)-1])
	b.keys("a")
	b.saved(2)
	b.at("a beyond the last", order[1])
	for k := range len(order) - 2 {
		b.at("the next open one", order[1+k])
		b.keys("a")
		b.saved(3 + k)
	}
	b.keys("a")
	b.says("Everything is decided.")
	b.keys(strings.Repeat("j", len(order)))
	b.says("everything is decided")
	b.clean()
}

// The keyboard's place is on a label: what another tab takes away before it moves
// nothing, and what it takes away under it is told.
func TestBrowserStaysOnItsLabel(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	other := b.tab()
	other.open(s.next())
	other.keys(kb.Escape)
	b.keys("l", "l")
	label := b.card()
	other.keys("m")
	other.take("elsewhere")
	other.saved(1)
	b.until("the first tab knows", `[...document.querySelectorAll("#tree .row")].some(e => e.title === "elsewhere")`)
	if now := b.card(); now != label {
		t.Errorf("the keyboard was on %q and is on %q", label, now)
	}
	for other.card() != label {
		other.keys("l")
	}
	other.keys("x")
	other.take("too generic")
	other.saved(2)
	b.says("“" + label + "” is dropped now: it was changed in another tab.")
	b.clean()
	other.clean()
}

// A marked label that another tab decides is asked about before it is moved.
func TestBrowserAsksAboutMarksThatOthersHaveDecided(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	other := b.tab()
	other.open(s.next())
	other.keys(kb.Escape)
	first := b.card()
	b.keys(" ", "l", " ", "l", " ")
	marked := eval[[]string](b, `[...document.querySelectorAll(".card.marked")].map(e => e.title)`)
	other.keys("x")
	other.take("too generic")
	other.saved(1)
	b.until("the first tab knows", `document.querySelector('[data-view="dropped"]').textContent.includes("1")`)
	b.keys("m")
	b.until("a dialog", `document.querySelector("dialog input")`)
	b.ctrl("a")
	b.keys("three", kb.Enter)
	b.until("it asks", `document.querySelector("dialog[open]").textContent.includes("“`+first+`” is dropped")`)
	b.shot("light-changed-meanwhile")
	b.keys(kb.Enter) // leave it out
	b.saved(2)
	b.clean()
	other.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var from []string
	for _, r := range c.Edits[1].From {
		from = append(from, r.Name)
	}
	want := slices.DeleteFunc(slices.Clone(marked), func(n string) bool { return n == first })
	if slices.Sort(from); len(from) != 2 || !slices.Equal(from, slices.Sorted(slices.Values(want))) {
		t.Errorf("%q was moved, want %q", from, want)
	}
}

// Marks, the keyboard's place, and a dialog that is half typed survive a reload;
// marks have a list.
func TestBrowserTakesUpWhatWasAtHand(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, " ", "j", "l", " ", "l")
	group, label := b.heading(), b.card()
	b.run(chromedp.Focus(chromedp.CSS("#tree")))
	b.keys(" ")
	b.run(chromedp.Focus(chromedp.CSS("#grid")))
	if same := eval[bool](b, `(() => { const ground = e => getComputedStyle(e).backgroundColor, row = document.querySelector("#tree .row.current"); return row.classList.contains("marked") && ground(row) === ground(document.querySelector("#grid .card.marked")); })()`); !same {
		t.Error("the row of the tree that is current and marked does not look marked")
	}
	b.keys("m")
	b.until("a dialog", `document.querySelector("dialog input")`)
	b.ctrl("a")
	b.keys("half typ")
	b.run(chromedp.Reload())
	b.until("the dialog is back", `document.body.dataset.ready === "yes" && document.querySelector("dialog[open] input").value === "half typ"`)
	b.keys("ed", kb.ArrowDown)
	b.run(chromedp.Evaluate[chromedp.Void](`document.querySelector("dialog[open]").close()`))
	b.at("after the reload", group)
	if now := b.card(); now != label {
		t.Errorf("the keyboard was on %q and is on %q", label, now)
	}
	b.until("the marks are back", `document.querySelector(".marks").textContent.includes("2 labels marked") && document.querySelectorAll("#tree .marked").length === 1`)
	b.keys("M")
	b.until("the list of marks", headingShown+` === "Marked" && document.querySelectorAll("#grid .card.marked").length === 2`)
	b.shot("light-marked")
	b.keys(" ")
	b.until("one is taken out", `document.querySelectorAll("#grid .card").length === 1`)
	b.clean()
}

// The names that were typed for the parts of a division survive a reload.
func TestBrowserTakesUpADivision(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, "s")
	b.until("the parts", `document.querySelectorAll("dialog .part input").length === 2`)
	b.run(chromedp.Focus(chromedp.CSS("dialog .part input")))
	b.ctrl("a")
	b.keys("the first half")
	b.run(chromedp.Reload())
	b.until("the name is back", `document.body.dataset.ready === "yes" && document.querySelector("dialog .part input").value === "the first half"`)
	b.run(chromedp.Focus(chromedp.CSS("dialog .part input")))
	b.keys(kb.Enter)
	b.saved(1)
	b.at("divided", "the first half")
	b.clean()
}

// A key that comes before the browser has told that a dialog is closed acts on the group that
// the dialog leads to, and not on the one before.
func TestBrowserActsOnTheViewThatADialogLeadsTo(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	to := b.rows()[3]
	b.ctrl("k")
	b.until("a dialog", `document.querySelector("dialog input")`)
	b.keys(to)
	// No task runs between the two keys, so neither does the event of the closed dialog.
	b.run(evaluateVoid(`(async () => {
		const press = (on, key) => on.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
		press(document.querySelector("dialog input"), "Enter");
		for (let n = 0; n < 20; n++) await null;
		press(document.getElementById("grid"), "a");
	})()`))
	b.saved(1)
	if e := lastEdit(t, filepath.Join(dir, "edits.jsonl")); e.Op != curate.Accept || e.To != to {
		t.Errorf("the key made %s into %q, want %s into %q", e.Op, e.To, curate.Accept, to)
	}
	b.clean()
}

// The address of a group that was renamed or merged leads to what it has become;
// one that never was says so.
func TestBrowserAddressesLeadToSuccessors(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	order := b.rows()
	b.keys("r")
	b.take("new name")
	b.saved(1)
	b.run(chromedp.Reload())
	b.until("reloaded", `document.body.dataset.ready === "yes"`)
	b.at("the address follows the name", "new name")
	b.keys("j", "g")
	b.take("new name")
	b.saved(2)
	for i, address := range []string{order[0], order[1]} {
		b.keys("j")
		b.run(evaluateVoid(fmt.Sprintf(`location.hash = "#group/" + encodeURIComponent(%q)`, address)))
		b.at("an old address", "new name")
		b.says(fmt.Sprintf("“%s” has become “new name”.", order[i]))
	}
	b.run(evaluateVoid(`location.hash = "#group/never"`))
	b.says("No group is called “never”, and none was.")
	b.clean()
}

// anotherDraft stops the server and makes it one of another draft, which has the
// labels that are named among others, and returns what tells that a page shows that.
func (s *served) anotherDraft(b *browser, keep ...string) (shown string) {
	s.t.Helper()
	names := append(keep, "aardvark house", "abbey", "church", "church building", "wooden church", "cathedral", "chapel",
		"river", "small river", "lake", "lake shore")
	slices.Sort(names)
	names = slices.Compact(names)
	s.stop()
	b.until("the alarm", `!document.getElementById("alarm").hidden`)
	writeTags(s.t, filepath.Join(s.dir, "tags.jsonl"), names)
	runHgld(s.t, s.dir, "cluster", "run", "--encoder", "hashing", "--k", "4", "--quiet", "--out", "other.json")
	s.args = append(s.args, "--draft", "other.json")
	return fmt.Sprintf(`[...document.querySelectorAll("#progress .meter")].some(e => e.title.includes("of %d labels"))`,
		len(names))
}

// Another draft under the same log opens the page anew: its labels are other ones.
func TestBrowserOpensAnewForAnotherDraft(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", freePort(t), "--by", "Anna", "--on-conflict", "skip")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, "l", " ")
	marked := b.card()
	shown := s.anotherDraft(b, marked)
	s.start()
	b.openHere(s.url)
	b.until("the labels of the other draft", shown)
	b.until("the mark is on its label", `document.querySelector(".marks").textContent.includes("1 label marked")`)
	b.keys("M")
	b.until("the marked label", fmt.Sprintf(`document.querySelector("#grid .card").title === %q`, marked))
	b.clean()
}

// Edits that wait are not sent to another draft before their curator has said so,
// whether the link is opened in their tab or in another one.
func TestBrowserAsksBeforeAnotherDraftGetsWhatWaits(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", freePort(t), "--by", "Anna", "--on-conflict", "skip")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, "m")
	b.take("one")
	b.saved(1)
	b.keys("l")
	first := b.card()
	b.keys("l")
	second := b.card()
	b.keys("h")
	shown := s.anotherDraft(b, first, second)
	b.keys("m")
	b.take("two")
	b.keys("m")
	b.take("three")
	b.until("two wait", `document.getElementById("saved").textContent === "NOT SAVED: 2 edits"`)
	b.run(chromedp.Evaluate[chromedp.Void](`window.before = true`))
	s.start()
	asks := `!window.before && document.querySelectorAll("#alarm button").length === 2 &&
		document.getElementById("alarm").textContent.includes("Not saved: made on another draft than this one.") && ` + shown
	b.openHere(s.url)
	b.until("it asks in the tab of the edits", asks)
	b.shot("light-another-draft")
	other := b.tab()
	other.open(s.next())
	other.until("it asks in another tab", asks)
	if c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl")); err != nil || len(c.Edits) != 1 {
		t.Errorf("the log has %d edits, %v; want the one that was saved", len(c.Edits), err)
	}
	b.run(chromedp.Click(chromedp.CSS("#alarm button")))
	b.until("they are saved", `document.getElementById("saved").textContent === "saved #3" &&
		document.getElementById("alarm").hidden`)
	b.clean()
	other.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl"))
	if err != nil || len(c.Edits) != 3 {
		t.Fatalf("the log has %+v, %v; want three edits", c.Edits, err)
	}
	for i, want := range [][2]string{{first, "two"}, {second, "three"}} {
		if e := c.Edits[1+i]; e.From[0].Name != want[0] || e.To != want[1] {
			t.Errorf("%q was moved to %q, want %q to %q", e.From[0].Name, e.To, want[0], want[1])
		}
	}
}
