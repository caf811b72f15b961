//go:build browser

package browsertest

import (
	"fmt"
	"slices"
	"testing"

	"hgld/curate"

	"github.com/chromedp/chromedp/kb"
)

// takeInTree clicks with Shift on a group of the tree.
func (b *page) takeInTree(group string) {
	b.TB.Helper()
	b.Exec(fmt.Sprintf(`[...document.querySelectorAll("#tree .row")].find((e) => e.title === %q)
		.dispatchEvent(new MouseEvent("click", {bubbles: true, shiftKey: true}))`, group))
}

// One key marks the open labels that end with the same word, and once more those of all groups. A click with Shift
// in the tree moves them. Labels can be ordered by their last words.
func TestSameWordsAreMarkedAndMovedAtOnce(t *testing.T) {
	dir := t.TempDir()
	draft := oneCluster("parish church", "stave churches in Norway", "lake", "church (ruin)", "bay")
	writeCuration(t, dir, draft, "edits.jsonl", move("bay", "water"), move("lake", "water"))
	s, b := openPage(t, dir, "--log", "edits.jsonl")
	b.at("the open group", "all")
	b.Keys("S")
	b.Until("by last word", `document.getElementById("head").innerText.includes("by last word")`)
	want := []string{"church (ruin)", "parish church", "stave churches in Norway"}
	if got := b.cards(); !slices.Equal(got, want) {
		t.Errorf("by last word the labels are %q, want %q", got, want)
	}
	if text := b.Text(`[data-command="Accept"] span`); text != "Accept 3" {
		t.Errorf("the button says %q, want the number of open labels", text)
	}
	b.Keys("=")
	b.marked("3 tags selected")
	b.Readable("light-1280-same-words")
	b.Keys("=")
	b.says("No other open tag with “church”")
	b.takeInTree("water")
	b.saved(3)
	if e := s.lastEdit(); e.Op != curate.Move || e.To != "water" || len(e.From) != 3 {
		t.Errorf("Shift and a click made %s of %q to %q", e.Op, names(e), e.To)
	}
	b.Keys("u")
	b.saved(4)
	b.marked("3 tags selected")
	b.Keys(kb.Escape)
	b.Until("no marks", `!document.querySelector(".marks")`)
	// Without marks it is the current label.
	b.takeInTree("water")
	b.saved(5)
	if e := s.lastEdit(); len(e.From) != 1 {
		t.Errorf("without marks, %q were moved, want the current label", names(e))
	}
	s.stop()
}

// Braces move the slider to its ends, and Y accepts all proposed labels down to the current one.
func TestProposalsAreRightDownToTheCurrentOne(t *testing.T) {
	dir := namedProject(t)
	s := startServer(t, dir)
	begin := s.lastEdit().Seq
	b := newPage(t, 1280, 800, false)
	b.Open(s.url)
	b.Keys("R", "}")
	b.proposalsSay("23 of 23 open tags would be proposed")
	b.Keys("a")
	b.saved(begin + 1)
	b.proposalsSay("23 tags proposed")
	b.Keys("{", "S")
	b.proposalsSay("most confident 0 %")
	cards := b.cards()
	b.Readable("light-1280-rest-words")
	b.Keys("l", "l", "l", "Y")
	b.saved(begin + 2)
	e := s.lastEdit()
	if n := members(e) + len(e.From); n != 4 || e.Op != curate.Accept && (e.Op != curate.Confirm || e.Note == "") {
		t.Errorf("Y made %s of %d labels, note %q; want the first four of %q, as read", e.Op, n, e.Note, cards)
	}
	b.proposalsSay("checked: 4 right")
	s.stop()
}
