//go:build browser

package browsertest

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/program"
	"hgld/internal/testing/tagdata"
)

// anotherDraft stops the server and configures it for another draft, which includes the given
// labels. It returns an expression that is true once a page shows that draft.
func (s *server) anotherDraft(b *page, keep ...string) (shown string) {
	s.t.Helper()
	names := append(keep, "aardvark house", "abbey", "church", "church building", "wooden church", "cathedral", "chapel",
		"river", "small river", "lake", "lake shore")
	slices.Sort(names)
	names = slices.Compact(names)
	s.stop()
	b.alarms("")
	tagdata.Write(s.t, filepath.Join(s.dir, "tags.jsonl"), names)
	program.Run(s.t, s.dir, "cluster", "run", "--k", "4", "--quiet", "--out", "other.json")
	s.args = append(s.args, "--draft", "other.json")
	return fmt.Sprintf(`[...document.querySelectorAll("#progress .meter")].some(e => e.title.includes("of %d tags"))`,
		len(names))
}

// A page reloads itself when the server of its log shows another draft, since that has other
// labels.
func TestPageReloadsForAnotherDraft(t *testing.T) {
	s, b := openPage(t, smallProject(t), "--by", "Anna", "--on-conflict", "skip")
	b.Keys("l", " ")
	marked := b.card()
	shown := s.anotherDraft(b, marked)
	s.start()
	b.openHere(s.url)
	b.Until("the labels of the other draft", shown)
	b.Until("the mark is on its label", `document.querySelector(".marks").textContent.includes("1 tag selected")`)
	b.Keys("M")
	b.Until("the marked label", fmt.Sprintf(`document.querySelector("#grid .card").title === %q`, marked))
}

// Unsaved edits are not sent to another draft before the curator agrees, whether the link is
// opened in their tab or in another one.
func TestUnsavedEditsAreNotSentToAnotherDraftUnasked(t *testing.T) {
	dir := smallProject(t)
	s, b := openPage(t, dir, "--by", "Anna", "--on-conflict", "skip")
	b.moveTo("one")
	b.saved(1)
	b.Keys("l")
	first := b.card()
	b.Keys("l")
	second := b.card()
	b.Keys("h")
	shown := s.anotherDraft(b, first, second)
	b.moveTo("two")
	b.moveTo("three")
	b.unsaved(2)
	b.Exec(`window.before = true`)
	s.start()
	asks := `!window.before && document.querySelectorAll("#alarm button").length === 2 &&
		document.getElementById("alarm").textContent.includes("Not saved: made on another draft than this one.") && ` + shown
	b.openHere(s.url)
	b.Until("it asks in the tab of the edits", asks)
	b.Shot("light-another-draft")
	other := b.anotherTab(s)
	other.Until("it asks in another tab", asks)
	if edits := s.edits(); len(edits) != 1 {
		t.Errorf("the log has %d edits; want the one that was saved", len(edits))
	}
	b.Click("#alarm button")
	b.saved(3)
	b.calm()
	s.stop()
	edits := s.edits()
	if len(edits) != 3 {
		t.Fatalf("the log has %+v, want three edits", edits)
	}
	for i, want := range [][2]string{{first, "two"}, {second, "three"}} {
		if e := edits[1+i]; e.From[0].Name != want[0] || e.To != want[1] {
			t.Errorf("%q was moved to %q, want %q to %q", e.From[0].Name, e.To, want[0], want[1])
		}
	}
}
