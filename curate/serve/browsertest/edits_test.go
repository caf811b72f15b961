//go:build browser

package browsertest

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"hgld/curate"

	"github.com/chromedp/chromedp/kb"
)

// Undo marks again what was marked for the edit, and one key what Esc has cleared.
func TestMarksComeBack(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	b.Keys(" ", "l", " ", "l", " ")
	b.marked("3 tags selected")
	b.moveTo("elsewhere")
	b.saved(1)
	b.Until("no marks", `!document.querySelector(".marks")`)
	b.Keys("u")
	b.saved(2)
	b.marked("3 tags selected")
	b.Keys(kb.Escape)
	b.Until("no marks", `!document.querySelector(".marks")`)
	b.Keys("U")
	b.marked("3 tags selected")
	s.stop()
}

// The history shows the date and the author of every edit, all edits, and asks before it takes back
// an edit of many groups. The pace does not count the labels of a bulk edit.
func TestHistoryNamesAuthorsAndAsks(t *testing.T) {
	dir := smallProject(t)
	var groups []curate.Ref
	for i := range 15 {
		groups = append(groups, curate.Ref{Name: fmt.Sprintf("group %d", i)})
	}
	writeCuration(t, dir, oneCluster("church", "lake"), "edits.jsonl",
		curate.Edit{Op: curate.SetParent, Level: 1, From: groups, To: "natural"})
	s, b := openPage(t, dir, "--log", "edits.jsonl")
	b.Keys("a")
	b.saved(2)
	b.Keys("e")
	b.Until("the history", `document.querySelectorAll("dialog[open] td button").length === 2`)
	cells := eval[[]string](b, `[...document.querySelectorAll("dialog[open] tr:last-child td")].map(e => e.innerText)`)
	if !regexp.MustCompile(`^\d+-\d\d-\d\d \d\d:\d\d:\d\d$`).MatchString(cells[1]) || cells[3] == "" {
		t.Errorf("the history shows %q", cells)
	}
	b.Readable("light-1280-history")
	b.Click("dialog[open] tr:last-child button")
	b.Until("it asks", `document.querySelector("dialog[open]").textContent.includes("Undo 15 at once")`)
	b.Keys(kb.Escape)
	b.saved(2)
	b.Keys("e")
	b.Click("dialog[open] tr:first-child button")
	b.saved(3)
	if n := awaited[float64](b, `import("/page/rate.js").then(({Rate}) => { const r = new Rate(0); r.last -= 60000; r.count(5000); return r.hourly; })`); n > 7200 {
		t.Errorf("5,000 labels in a minute are a pace of %.0f labels an hour", n)
	}
	s.stop()
}

// A name that contains what was typed comes before one that has its letters with gaps, labels
// included.
func TestTypedNameComesFirst(t *testing.T) {
	dir := smallProject(t)
	s, b := openPage(t, dir)
	for typed, want := range map[string]string{"crem": "Crematorium", "tower": "water tower", "chbl": "church building"} {
		got := awaited[[]string](b, fmt.Sprintf(`import("/page/text.js").then(({best, fold, fuzzy}) => best(["second-order administrative division", "city of switzerland", "Crematorium", "water tower", "church building"], (x) => fuzzy(%q, fold(x))))`, typed))
		if len(got) != 1 || got[0] != want {
			t.Errorf("%q finds %q, want %q alone", typed, got, want)
		}
	}
	s.stop()
}

// Flags are a queue: the screen shows reason and author, f replies, and F resolves. The thread is in
// the panel, and so are all notes on the label.
func TestFlagsAreAQueue(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	label := b.card()
	b.Keys("F")
	b.says("Nothing that is chosen is flagged.")
	b.Keys("f", "is it a kind?", kb.Enter)
	b.saved(1)
	b.screen("flagged")
	b.at("the flagged labels", "Flagged")
	b.Until("reason and author", `document.querySelector("#grid .facts").innerText.startsWith("is it a kind? · Anna")`)
	b.Keys("f", "yes, of church", kb.Enter)
	b.saved(2)
	b.Until("the thread", `document.querySelectorAll("#side .thread div").length === 2`)
	b.Readable("light-1280-flagged")
	b.Keys("F", "settled", kb.Enter)
	b.saved(3)
	b.says(fmt.Sprintf("Resolved the flag of “%s”", label))
	b.Until("the queue is empty", `!document.querySelector("#grid .card")`)
	b.Keys("u")
	b.saved(4)
	b.Until("undo brings it back", `document.querySelectorAll("#grid .card").length === 1`)
	notes := func(what, want string) {
		b.Until(what, fmt.Sprintf(`[...document.querySelectorAll("#side .thread")].filter(e => /^Notes?$/.test(e.firstChild.textContent))
			.flatMap(e => [...e.querySelectorAll("div")]).map(e => e.innerText.replace(/\s+/g, " ").replace(/\d+-\d\d-\d\d/, "DAY")).join("; ") === %q`, want))
	}
	b.Keys("t", "by the river", kb.Enter)
	b.saved(5)
	b.Keys("t", "since 1898", kb.Enter)
	b.saved(6)
	notes("both notes", "Anna · DAY by the river; Anna · DAY since 1898")
	b.Readable("light-1280-notes")
	b.Keys("u")
	b.saved(7)
	notes("undo takes one note away", "Anna · DAY by the river")
	b.Keys("t", kb.Enter)
	b.saved(8)
	b.says(fmt.Sprintf("Removed the notes on “%s”", label))
	notes("an empty note removes all", "")
	s.stop()
	if e := s.edits()[2]; e.Op != curate.Flag || !e.Resolved || e.Note != "settled" {
		t.Errorf("the third edit is %+v", e)
	}
}

// Groups have flags and notes, too, made in the tree: the panel and the head of the group show them, also after it was
// renamed, and the queue names the group.
func TestGroupsHaveFlagsAndNotes(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	group := b.rows()[0]
	thread := func(what, want string) {
		b.Until(what, fmt.Sprintf(`[...document.querySelectorAll("#side .thread")].map(e => e.innerText.replace(/\s+/g, " ")
			.replace(/\d+-\d\d-\d\d/, "DAY").replace(/\d+-\d\d-\d\d/, "DAY")).join("; ") === %q`, want))
	}
	b.Focus("#tree")
	b.Keys("t", "wet ones", kb.Enter)
	b.saved(1)
	b.says(fmt.Sprintf("Noted on “%s”", group))
	b.Click("#side .thread button") // for the group, although the focus is elsewhere
	b.Keys("and dry ones", kb.Enter)
	b.saved(2)
	b.Focus("#tree")
	b.Keys("f", "too wide", kb.Enter)
	b.saved(3)
	b.Keys("r", "places", kb.Enter)
	b.saved(4)
	thread("both notes and the flag of the group", "Flag on “places” Anna · DAY too wide Reply Resolve; "+
		"Notes on “places” Anna · DAY wet ones Anna · DAY and dry ones Add")
	b.Until("the head has the flag and the last note", `/⚑ too wide · ✎ and dry ones/.test(document.querySelector("#head .under").innerText)`)
	b.Readable("light-1280-group-notes")
	b.screen("flagged")
	b.Until("the queue names it", `/places ⚑ too wide/.test(document.querySelector("#head .under").innerText)`)
	b.Readable("light-1280-flagged-group")
	b.Click("#head .under button.link")
	b.at("from the queue", "places")
	b.Click("#side .thread button + button")
	b.Keys("split it later", kb.Enter)
	b.saved(5)
	thread("only the notes are left", "Notes on “places” Anna · DAY wet ones Anna · DAY and dry ones Add")
	s.stop()
	for i, e := range s.edits() {
		if e.Level != 1 || i == 4 && !e.Resolved {
			t.Errorf("edit %d is %+v; want one of the group", i+1, e)
		}
	}
}

// One key shows the labels by certainty, by landmarks, and by name. Outliers stay below the break.
func TestLabelsAreSorted(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	b.Keys("S", "S") // the first orders by last word
	b.Until("by landmarks", `document.querySelector("#head .under").innerText.includes("most landmarks first")`)
	counts := eval[[]int](b, `[...document.querySelectorAll("#grid .card:not(.outlier) .facts span:first-child")].map(e => Number(e.textContent))`)
	if !slices.IsSortedFunc(counts, func(a, b int) int { return b - a }) {
		t.Errorf("by landmarks they have %v", counts)
	}
	b.Keys("S")
	b.Until("by name", `document.querySelector("#head .under").innerText.includes("by name")`)
	if cards := eval[[]string](b, `[...document.querySelectorAll("#grid .card:not(.outlier)")].map(e => e.title)`); !slices.IsSorted(cards) {
		t.Errorf("by name they are %q", cards)
	}
	b.Readable("light-1280-sorted")
	s.stop()
}

// A label that a group is named after is seldom meant to be dropped.
func TestDropWarnsOfANamesake(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	b.findAll("r")
	b.Keys(kb.Enter, "n")
	name := eval[string](b, `document.querySelector("dialog[open] input").value`)
	b.Keys(kb.Enter)
	b.saved(1)
	b.Keys("x")
	b.Until("the warning", fmt.Sprintf(`document.querySelector("dialog[open]").innerText.includes("a group is called " + %q)`, name))
	b.Keys(kb.Escape)
	s.stop()
}
