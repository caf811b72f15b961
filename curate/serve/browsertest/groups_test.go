//go:build browser

package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/labels"

	"github.com/chromedp/chromedp/kb"
)

// askMargins requests the names of the labels and how surely each belongs to its group.
const askMargins = `(async () => {
	const pass = JSON.parse(sessionStorage.getItem("hgld pass")), headers = {"X-Hgld-Token": pass.token};
	const [state, answer] = await Promise.all(["/api/state", "/api/margins"].map((path) => fetch(path, {headers}).then((r) => r.json())));
	window.names = state.names;
	window.margins = answer.margins;
})(), 0`

// cardMargins are the margins of the labels on the screen that are not outliers, in order.
const cardMargins = `[...document.querySelectorAll("#grid .card:not(.outlier)")].map((e) => window.margins[e.dataset.tag])`

// A group shows the labels that belong to it most surely first. The group in view keeps the order
// in which it was opened.
func TestGroupsShowTheSurestLabelsFirst(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	atFirst := b.cards()
	b.Until("measured", `document.body.dataset.measured === "yes"`)
	b.Exec(askMargins)
	b.Until("the margins", `window.margins`)
	b.Keys(" ") // to draw the group again
	if now := b.cards(); !slices.Equal(now, atFirst) {
		t.Errorf("the group in view showed %q and shows %q", atFirst, now)
	}
	b.Keys(" ")
	changed := 0
	for range b.rows() {
		b.Keys("j")
		margins := eval[[]float64](b, cardMargins)
		if sorted := slices.IsSortedFunc(margins, func(x, y float64) int { return int(4e6 * (y - x)) }); !sorted {
			t.Errorf("%q has the margins %v; want them descending", b.heading(), margins)
		}
		if eval[bool](b, `document.querySelector("#head .under").textContent.includes("most confident first")`) {
			changed++
		}
	}
	if changed != len(b.rows()) {
		t.Errorf("%d of %d groups say that the surest are first", changed, len(b.rows()))
	}
}

// One key accepts the labels up to the cursor and goes to the next open label, or after the last
// label to the next open group.
func TestAcceptToHereAcceptsUpToTheCursor(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	order, cards := b.rows(), b.cards()
	if len(cards) < 4 {
		t.Fatalf("the first group has %q; the test wants four labels", cards)
	}
	b.Keys("l", "b")
	b.saved(1)
	if now := b.card(); now != cards[2] || b.heading() != order[0] {
		t.Errorf("it is at %q of %q, want %q of %q", now, b.heading(), cards[2], order[0])
	}
	b.Keys(kb.End, "b")
	b.saved(2)
	b.at("after the last label", order[1])
	b.Keys("k")
	b.at("a decided group", order[0])
	b.Keys("b")
	b.at("from a decided group to the next open one", order[1])
	b.Keys("/", "b", kb.Enter, "b")
	b.says("Accepting is for one group; open one first.")
	s.stop()
	edits := s.edits()
	for i, want := range [][]string{cards[:2], cards[2:]} {
		from := names(edits[i])
		if e := edits[i]; e.Op != curate.Accept || e.To != order[0] || !slices.Equal(from, want) {
			t.Errorf("edit %d is %s %q to %q; want accept %q to %q", i+1, e.Op, from, e.To, want, order[0])
		}
	}
}

// variantsProject is a draft of a group with variants of two names, and of another group with a
// variant of the first of them.
func variantsProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	d := &labels.Draft{Version: labels.DraftVersion,
		Clusters: []labels.Cluster{{ID: 0, Name: "church"}, {ID: 1, Name: "chapel"}}}
	for i, name := range []string{"church", "Churches", "abbey", "church(s)", "Abbeys", "tower", "chapel", "Church"} {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: name}, Landmarks: 10 + i})
		c := &d.Clusters[i/6]
		c.Members = append(c.Members, labels.Member{Tag: i, Distance: float64(i) / 10})
	}
	writeDraft(t, dir, d)
	return dir
}

// Variants of a name in one group share a row, which shows all of them, the one with the most landmarks
// first, and a command on the row applies to all of them. One key gives each its own row, also after a reload.
func TestVariantsOfANameShareARow(t *testing.T) {
	dir := variantsProject(t)
	s, b := openPage(t, dir)
	churches, abbeys := []string{"church(s)", "Churches", "church"}, []string{"Abbeys", "abbey"}
	want := []string{strings.Join(churches, "\n"), strings.Join(abbeys, "\n"), "tower"}
	if rows := b.cards(); !slices.Equal(rows, want) {
		t.Fatalf("the rows are %q, want %q", rows, want)
	}
	if seen := eval[string](b, `document.querySelector("#grid .label").innerText`); seen != strings.Join(churches, " · ") {
		t.Errorf("the first row shows %q", seen)
	}
	b.Until("the head counts labels, not rows", `document.querySelector("#head .under").textContent.startsWith("6 tags")`)
	b.moveTo("elsewhere") // the whole row
	b.saved(1)
	b.Keys(" ") // abbey and Abbeys
	b.Until("both are marked", `document.querySelector(".marks").textContent.startsWith("2 tags selected")`)
	b.Shot("light-variants")
	b.Keys(" ")
	b.Until("neither is marked", `!document.querySelector(".marks")`)
	b.Keys("b")
	b.saved(2)
	b.Keys("k", "k", "z")
	b.Exec(`location.hash = "#group/elsewhere"`)
	single := []string{"church", "Churches", "church(s)"}
	b.Until("a row each", `document.querySelectorAll("#grid .card").length === 3`)
	if rows := b.cards(); !slices.Equal(rows, single) {
		t.Errorf("the rows are %q, want %q", rows, single)
	}
	b.Reload()
	b.Until("still a row each", `document.querySelectorAll("#grid .card").length === 3`)
	b.Keys("l", "z") // one that is hidden now
	b.Until("one row", `document.querySelectorAll("#grid .card").length === 1`)
	if now := b.card(); now != want[0] {
		t.Errorf("the keyboard is on %q", now)
	}
	s.stop()
	edits := s.edits()
	for i, want := range [][]string{churches, abbeys} {
		if from := names(edits[i]); !slices.Equal(from, want) {
			t.Errorf("edit %d is of %q, want %q", i+1, from, want)
		}
	}
}

// A kind can be closed by its row or by the arrow to the left. j goes on through its groups and opens it. The
// filter shows the groups with the text. Groups without a kind stand below those with one.
func TestTreeIsClosedAndFiltered(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	all := b.rows()
	b.Keys("p")
	b.take("natural")
	b.saved(1)
	b.Until("a kind first", `document.querySelector("#tree .kind .name").textContent === "natural"`)
	first := b.rows()[0]
	b.Click("#tree .kind")
	b.Until("closed", fmt.Sprintf(`document.querySelectorAll("#tree .row").length === %d`, len(all)-1))
	b.Shot("light-tree-closed")
	if got := eval[string](b, `document.querySelector("#tree .kind").getAttribute("aria-expanded")`); got != "false" {
		t.Errorf("aria-expanded is %s", got)
	}
	b.Keys("j", "k")
	b.Until("opened by k", fmt.Sprintf(`document.querySelector("#tree .row.current")?.title === %q`, first))
	b.Focus("#tree")
	b.Keys(kb.ArrowLeft)
	b.Until("closed by the arrow", fmt.Sprintf(`document.querySelectorAll("#tree .row").length === %d`, len(all)-1))
	b.Keys(kb.ArrowRight)
	b.Until("opened by the arrow", fmt.Sprintf(`document.querySelectorAll("#tree .row").length === %d`, len(all)))
	last := all[len(all)-1]
	b.Focus("#filter")
	b.Keys(last, kb.Enter)
	b.Until("the group is open", fmt.Sprintf(`document.querySelector("#tree .row.current")?.title === %q`, last))
	b.Readable("light-1280-filter")
	b.Focus("#filter")
	b.Keys(kb.Escape)
	b.Until("all groups", fmt.Sprintf(`document.querySelectorAll("#tree .row").length === %d`, len(all)))
	s.stop()
}
