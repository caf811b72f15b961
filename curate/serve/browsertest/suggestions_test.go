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
	b.at("close by", "Close to “"+group+"”")
	label := b.card()
	b.Keys("a")
	b.saved(1)
	b.says(fmt.Sprintf("Moved “%s” to “%s”.", label, group))
	b.Keys(" ", "l", " ", "a")
	b.saved(2)
	b.at("still close by", "Close to “"+group+"”")
	b.Reload()
	b.Until("reloaded where it was", `document.querySelectorAll("#grid .card").length > 0`)
	b.at("after a reload", "Close to “"+group+"”")
	s.stop()
	edits := s.edits()
	for i, n := range []int{1, 2} {
		if e := edits[i]; e.Op != curate.Move || e.To != group || len(e.From) != n {
			t.Errorf("edit %d is %s %v to %q, want %d to %q", i+1, e.Op, e.From, e.To, n, group)
		}
	}
}
