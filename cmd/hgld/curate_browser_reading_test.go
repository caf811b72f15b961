//go:build browser

package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
)

// askMargins gets what the server says of the labels: names, and how surely each belongs
// to its group.
const askMargins = `(async () => {
	const pass = JSON.parse(sessionStorage.getItem("hgld pass")), headers = {"X-Hgld-Token": pass.token};
	const [state, answer] = await Promise.all(["/api/state", "/api/margins"].map((path) => fetch(path, {headers}).then((r) => r.json())));
	window.names = state.names;
	window.margins = answer.margins;
})(), 0`

// cardMargins are the margins of the labels that are no outliers, in the order in which
// they are shown.
const cardMargins = `[...document.querySelectorAll("#grid .card:not(.outlier)")].map((e) => window.margins[e.dataset.tag])`

// cards are the labels that are shown, in order.
func (b *browser) cards() []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("#grid .card")].map(e => e.title)`)
}

// Groups show what belongs to them most surely first. The group in view keeps the order
// in which it was opened.
func TestBrowserShowsTheSurestLabelsFirst(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	atFirst := b.cards()
	b.until("measured", `document.body.dataset.measured === "yes"`)
	b.run(evaluateVoid(askMargins))
	b.until("the margins", `window.margins`)
	b.keys(" ") // drawn again
	if now := b.cards(); !slices.Equal(now, atFirst) {
		t.Errorf("the group in view showed %q and shows %q", atFirst, now)
	}
	b.keys(" ")
	changed := 0
	for range b.rows() {
		b.keys("j")
		margins := eval[[]float64](b, cardMargins)
		if sorted := slices.IsSortedFunc(margins, func(x, y float64) int { return int(4e6 * (y - x)) }); !sorted {
			t.Errorf("%q has the margins %v; want them descending", b.heading(), margins)
		}
		if eval[bool](b, `document.querySelector("#head .under").textContent.includes("surest first")`) {
			changed++
		}
	}
	if changed != len(b.rows()) {
		t.Errorf("%d of %d groups say that the surest are first", changed, len(b.rows()))
	}
	b.clean()
}

// One key accepts what stands above the cursor, and the cursor's label; it goes on to the
// next open label, and after the last one to the next open group.
func TestBrowserAcceptsDownToTheCursor(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	order, cards := b.rows(), b.cards()
	if len(cards) < 4 {
		t.Fatalf("the first group has %q; the test wants four labels", cards)
	}
	b.keys("l", "b")
	b.saved(1)
	if now := b.card(); now != cards[2] || b.heading() != order[0] {
		t.Errorf("it is at %q of %q, want %q of %q", now, b.heading(), cards[2], order[0])
	}
	b.keys(kb.End, "b")
	b.saved(2)
	b.at("after the last label", order[1])
	b.keys("k")
	b.at("a decided group", order[0])
	b.keys("b")
	b.at("from a decided group to the next open one", order[1])
	b.keys("/", "b", kb.Enter, "b")
	b.says("Accepting is for one group; open one first.")
	b.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{cards[:2], cards[2:]} {
		var from []string
		for _, r := range c.Edits[i].From {
			from = append(from, r.Name)
		}
		if e := c.Edits[i]; e.Op != curate.Accept || e.To != order[0] || !slices.Equal(from, want) {
			t.Errorf("edit %d is %s %q to %q; want accept %q to %q", i+1, e.Op, from, e.To, want, order[0])
		}
	}
}
