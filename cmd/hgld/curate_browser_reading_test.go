//go:build browser

package main

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
	"hgld/internal/atomicfile"
	"hgld/labels"
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
		from := names(c.Edits[i])
		if e := c.Edits[i]; e.Op != curate.Accept || e.To != order[0] || !slices.Equal(from, want) {
			t.Errorf("edit %d is %s %q to %q; want accept %q to %q", i+1, e.Op, from, e.To, want, order[0])
		}
	}
}

// variantsProject is a draft of one group with variants of two names, one of them with
// a label of another group.
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
	err := atomicfile.Write(filepath.Join(dir, "draft.json"),
		func(w io.Writer) error { return labels.WriteDraft(w, d) })
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// names are the labels of an edit.
func names(e curate.Edit) []string {
	var list []string
	for _, r := range e.From {
		list = append(list, r.Name)
	}
	return list
}

// Variants of a name stand in one row, which shows them all; what is done to the row is
// done to each. Those of other groups stay where they are. One key gives each its own
// row, also after a reload.
func TestBrowserFoldsVariantsIntoOneRow(t *testing.T) {
	dir := variantsProject(t)
	s := serveIn(t, dir, "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	want := []string{"church\nChurches\nchurch(s)", "abbey\nAbbeys", "tower"}
	if rows := b.cards(); !slices.Equal(rows, want) {
		t.Fatalf("the rows are %q, want %q", rows, want)
	}
	if seen := eval[string](b, `document.querySelector("#grid .label").innerText`); seen != "church · Churches · church(s)" {
		t.Errorf("the first row shows %q", seen)
	}
	b.until("the head counts labels, not rows", `document.querySelector("#head .under").textContent.startsWith("6 labels")`)
	b.keys("m") // the row
	b.take("elsewhere")
	b.saved(1)
	b.keys(" ") // abbey and Abbeys
	b.until("both are marked", `document.querySelector(".marks").textContent.startsWith("2 labels marked")`)
	b.shot("light-variants")
	b.keys(" ")
	b.until("neither is marked", `!document.querySelector(".marks")`)
	b.keys("b")
	b.saved(2)
	b.keys("k", "k", "z")
	b.run(evaluateVoid(`location.hash = "#group/elsewhere"`))
	single := []string{"church", "Churches", "church(s)"}
	b.until("a row each", `document.querySelectorAll("#grid .card").length === 3`)
	if rows := b.cards(); !slices.Equal(rows, single) {
		t.Errorf("the rows are %q, want %q", rows, single)
	}
	b.run(chromedp.Reload())
	b.until("still a row each", `document.body.dataset.ready === "yes" && document.querySelectorAll("#grid .card").length === 3`)
	b.keys("l", "l", "z") // the one that is hidden now
	b.until("one row", `document.querySelectorAll("#grid .card").length === 1`)
	if now := b.card(); now != strings.Join(single, "\n") {
		t.Errorf("the keyboard is on %q", now)
	}
	b.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{single, {"abbey", "Abbeys"}} {
		if from := names(c.Edits[i]); !slices.Equal(from, want) {
			t.Errorf("edit %d is of %q, want %q", i+1, from, want)
		}
	}
}

// Differences between the same two groups stand together, and one key decides all of a
// pair that are open, by one edit.
func TestBrowserDecidesPairsOfGroupsAtOnce(t *testing.T) {
	dir := t.TempDir()
	d := &labels.Draft{Version: labels.DraftVersion, Clusters: []labels.Cluster{{Name: "all"}}}
	for i, name := range []string{"palace", "fortress", "lake", "citadel", "manor"} {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: name}, Landmarks: 9 - i})
		d.Clusters[0].Members = append(d.Clusters[0].Members, labels.Member{Tag: i})
	}
	curator := func(log string, groups ...string) {
		var edits []curate.Edit
		for i, to := range groups {
			edits = append(edits, curate.Edit{Op: curate.Move, From: []curate.Ref{{Name: d.Tags[i].Name}}, To: to})
		}
		writeCuration(t, dir, d, log, edits...)
	}
	curator("anna.jsonl", "house", "castle", "water", "castle", "castle")
	curator("ben.jsonl", "castle", "fort", "lake", "fort", "fort")
	s := serveIn(t, dir, "--port", "0", "--adjudicate", "anna.jsonl", "--adjudicate", "ben.jsonl", "--log",
		"third.jsonl", "--by", "Chris")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	b.until("five differences", `document.querySelectorAll(".duel").length === 5`)
	titles := eval[[]string](b, `[...document.querySelectorAll("#grid .break")].map((e) => e.textContent)`)
	if want := []string{"castle or fort · 3 labels", "other pairs of groups · 2"}; !slices.Equal(titles, want) {
		t.Errorf("the headings are %q, want %q", titles, want)
	}
	b.readable("light-1280-pairs")
	b.keys("l", "1") // citadel
	b.saved(1)
	b.keys(kb.Home, "4")
	b.saved(2)
	b.until("it stands on the next open one", `document.querySelector("#grid .cell.at .label").textContent.startsWith("palace")`)
	b.keys(kb.Home, "3")
	b.says("All of this pair is decided.")
	b.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "third.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		to   string
		from []string
	}{{"castle", []string{"citadel"}}, {"fort", []string{"fortress", "manor"}}} {
		if e := c.Edits[i]; e.Op != curate.Move || e.To != want.to || !slices.Equal(names(e), want.from) {
			t.Errorf("edit %d is %s %q to %q; want %q to %q", i+1, e.Op, names(e), e.To, want.from, want.to)
		}
	}
}

// A proposal is shown on its labels, told in the history and can be taken back there.
func TestBrowserShowsWhatIsProposed(t *testing.T) {
	dir := t.TempDir()
	d := &labels.Draft{Version: labels.DraftVersion, Clusters: []labels.Cluster{{Name: "all"}}}
	var refs []curate.Ref
	for i, name := range []string{"palace", "fortress", "lake"} {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: name}, Landmarks: 9 - i})
		d.Clusters[0].Members = append(d.Clusters[0].Members, labels.Member{Tag: i})
		refs = append(refs, curate.Ref{Name: name})
	}
	writeCuration(t, dir, d, "anna.jsonl",
		curate.Edit{Op: curate.Propose, Parts: []curate.Part{{To: "castle", Members: refs[:2]}}})
	s := serveIn(t, dir, "--port", "0", "--log", "anna.jsonl")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.run(evaluateVoid(`location.hash = "#group/castle"`))
	b.at("the group of the proposal", "castle")
	b.until("two proposed labels", `[...document.querySelectorAll("#grid .card.proposed")].every((e) => /^\?/.test(e.innerText)) &&
		document.querySelectorAll("#grid .card.proposed").length === 2 && document.querySelector("#side dl").innerText.includes("proposed")`)
	b.keys("e")
	b.until("the history", `document.querySelector("dialog[open] td:nth-child(3)").innerText === "propose palace and 1 more → castle"`)
	b.keys(kb.Escape, "u")
	b.saved(2)
	b.says("Took back the proposal of “palace” and 1 more (castle).")
	b.until("nothing is proposed", `!document.querySelector("#grid .proposed")`)
	b.clean()
}
