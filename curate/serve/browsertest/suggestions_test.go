//go:build browser

package browsertest

import (
	"fmt"
	"testing"

	"hgld/curate"
)

// A digit that is pressed before the suggestions for the label have arrived waits for them. It is
// forgotten if the cursor leaves the label.
func TestDigitWaitsForTheSuggestionsOfItsLabel(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	b.Until("suggestions", `document.querySelector(".near:not(.stale) .suggestion")`)
	b.Exec(`window.ask = window.fetch; window.fetch = (path, o) => (path.includes("/api/suggest") ? new Promise((done) => setTimeout(done, 700)) : Promise.resolve()).then(() => window.ask(path, o))`)
	b.Keys("l", "1", "l") // left before the answer
	b.Until("its own suggestions", fmt.Sprintf(`document.querySelector("#side .near:not(.stale)") && document.querySelector("#side p.soft").textContent === %q`, b.card()))
	b.saved(0)
	b.Keys("l")
	label := b.card()
	b.Keys("1")
	b.Until("it waits visibly", `document.querySelector("#side .waiting").innerText.includes("waits for the suggestions")`)
	if seen := eval[string](b, `getComputedStyle(document.querySelector(".near.stale .suggestion .name")).opacity`); seen != "0.3" {
		t.Errorf("the list of another label has the opacity %s while it waits", seen)
	}
	b.Shot("light-digit-waits")
	b.saved(1)
	// Nothing waits for ever, nor while an edit is not saved.
	b.Until("suggestions", `document.querySelector("#side .near:not(.stale)")`)
	b.Exec(`window.fetch = (path, o) => (path.includes("/api/suggest") ? new Promise((_, gone) => o.signal.addEventListener("abort", gone)) : window.ask(path, o))`)
	b.Keys("h", "2")
	b.says("The suggestions took too long: 2 was not taken.")
	b.Until("it waits no longer", `!document.querySelector("#side .waiting")`)
	b.Exec(`window.fetch = window.ask`)
	s.kill()
	b.alarms("server is gone")
	b.Keys("h", "1")
	b.says("An edit is not saved yet, so there are no suggestions.")
	s.start()
	b.openHere(s.url)
	b.saved(1)
	s.stop()
	edits := s.edits()
	if e := edits[0]; len(edits) != 1 || len(e.From) != 1 || e.From[0].Name != label {
		t.Errorf("the digit moved %v, want %q", e.From, label)
	}
}

// On the screen "Close by", a moves the marked labels, or the current one, into the group.
func TestCloseByMovesLabelsIntoTheGroup(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	group := b.heading()
	b.Keys("c")
	b.at("close by", "Near “"+group+"”")
	label := b.card()
	b.Keys("a")
	b.saved(1)
	b.says(fmt.Sprintf("Moved “%s” to “%s”.", label, group))
	b.Keys(" ", "l", " ", "a")
	b.saved(2)
	b.at("still close by", "Near “"+group+"”")
	b.Reload()
	b.Until("reloaded where it was", `document.querySelectorAll("#grid .card").length > 0`)
	b.at("after a reload", "Near “"+group+"”")
	s.stop()
	edits := s.edits()
	for i, n := range []int{1, 2} {
		if e := edits[i]; e.Op != curate.Move || e.To != group || len(e.From) != n {
			t.Errorf("edit %d is %s %v to %q, want %d to %q", i+1, e.Op, e.From, e.To, n, group)
		}
	}
}
