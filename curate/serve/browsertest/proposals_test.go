//go:build browser

package browsertest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
	"hgld/internal/testing/program"
	"hgld/labels"

	"github.com/chromedp/chromedp/kb"
)

// namedProject is a small draft whose groups were declared by name.
func namedProject(t testing.TB) string {
	t.Helper()
	dir := smallProject(t)
	writeGroupNames(t, dir)
	program.Run(t, dir, "curate", "import", "groups.txt")
	return dir
}

// members counts the labels in the parts of an edit.
func members(e curate.Edit) (n int) {
	for _, p := range e.Parts {
		n += len(p.Members)
	}
	return n
}

// proposalsSay waits until the screen of proposals shows a text.
func (b *page) proposalsSay(text string) {
	b.TB.Helper()
	b.Until(fmt.Sprintf("the proposals say %q", text),
		fmt.Sprintf(`document.getElementById("proposals").innerText.replace(/\s+/g, " ").includes(%q)`, text))
}

// fits waits until a screen that assigns shows three rows, its first button and, if it has one, a slider of use.
func (b *page) fits() {
	b.TB.Helper()
	b.Until("labels and the first button in sight", `(() => {
		const inSight = (e) => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight && r.left >= 0 && r.right <= innerWidth; };
		scrollTo(0, 0);
		const slider = document.getElementById("share");
		return [...document.querySelectorAll("#grid [data-tag]")].filter(inSight).length >= 3 && inSight(document.querySelector("#proposals .main-button"))
			&& !(slider && slider.getBoundingClientRect().width < 200);
	})()`)
}

// sizes checks the screen in wide windows, on a phone, and at 200 % zoom.
func (b *page) sizes(scheme, name string) {
	b.TB.Helper()
	for _, size := range [][2]int{{1920, 1080}, {390, 844}, {640, 400}, {1280, 800}} {
		b.Resize(size[0], size[1])
		b.fits()
		b.Readable(fmt.Sprintf("%s-%d-rest-%s", scheme, size[0], name))
	}
}

// The rest is assigned by the keyboard alone. One edit proposes the labels above a threshold, a
// sample is drawn and checked, and the other labels are confirmed or taken back. The sample
// survives a reload. A proposed label looks proposed until it is decided.
func TestRestIsAssignedByProposals(t *testing.T) {
	for _, dark := range []bool{false, true} {
		scheme := map[bool]string{false: "light", true: "dark"}[dark]
		dir := namedProject(t)
		s := startServer(t, dir)
		begin := s.lastEdit().Seq
		b := newPage(t, 1280, 800, dark)
		b.Open(s.url)
		b.Keys("R")
		b.proposalsSay("12 of 23 open tags would be proposed") // the surer half
		b.sizes(scheme, "choose")
		b.Keys("]", "]", "]")
		b.proposalsSay("most confident 65 %")
		b.Keys("[")
		b.proposalsSay("14 of 23 open tags")
		if n := eval[int](b, `Number(document.querySelector("#grid .card").getAttribute("aria-setsize"))`); n != 14 {
			t.Errorf("%d cards are shown, want 14", n)
		}
		b.Keys("a")
		b.saved(begin + 1)
		e := s.lastEdit()
		if e.Op != curate.Propose || members(e) != 14 {
			t.Fatalf("%s of %d labels, want a proposal of 14", e.Op, members(e))
		}
		b.proposalsSay("14 tags proposed. Check the drawn ones")
		b.says("Proposed “church” and 13 more for ")
		b.sizes(scheme, "check")
		b.checkSample(s, begin)
		b.sizes(scheme, "checked")
		b.checkStanding(scheme)
		b.decideRest(s)
	}
}

// checkSample checks three drawn labels: one is right, one is wrong, and one is moved to its
// group. Then it reloads the page.
func (b *page) checkSample(s *server, begin int) {
	b.TB.Helper()
	drawn := b.cards()
	b.Keys("y")
	b.saved(begin + 2)
	b.proposalsSay("1 of 14 drawn tags checked: 1 right, 0 wrong")
	if e := s.lastEdit(); e.Op != curate.Accept || e.From[0].Name != drawn[0] {
		b.TB.Errorf("y made %s of %v, want that of %q accepted", e.Op, e.From, drawn[0])
	}
	b.Keys("0")
	b.saved(begin + 3)
	b.proposalsSay("1 right, 1 wrong")
	if e := s.lastEdit(); e.Op != curate.Withdraw || e.Note == "" || e.From[0].Name != drawn[1] {
		b.TB.Errorf("0 made %s of %v, want that of %q taken back as wrong", e.Op, e.From, drawn[1])
	}
	b.moveTo("museum")
	b.saved(begin + 4)
	b.proposalsSay("3 of 14 drawn tags checked")
	b.proposalsSay("of the 11 tags left are expected to be wrong (95 %:")
	b.Keys("[")
	b.proposalsSay("most confident 55 %")
	before, told := b.cards(), b.Text("#proposals div")
	b.Reload()
	b.proposalsSay("3 of 14 drawn tags checked")
	b.Until("the same cards", `document.querySelectorAll("#grid .card").length === 11`)
	if after := b.cards(); !slices.Equal(after, before) {
		b.TB.Errorf("after a reload the cards are %q, want %q", after, before)
	}
	if again := b.Text("#proposals div"); again != told {
		b.TB.Errorf("after a reload it says %q, want %q", again, told)
	}
}

// checkStanding checks that a group, the tree, the counts and the history show which labels are
// proposed.
func (b *page) checkStanding(scheme string) {
	b.TB.Helper()
	b.Keys(kb.Enter)
	b.Until("the group of the label", `/ proposed/.test(document.querySelector("#head .under").innerText) && document.querySelector("#grid .cell.at.proposed")`)
	b.Readable(scheme + "-1280-rest-group")
	for what, script := range map[string]string{
		"the row of the tree": `document.querySelector("#tree .row.current").innerText.includes("?")`,
		"the state":           `document.getElementById("side").innerText.includes("proposed")`,
		"the progress":        `[...document.querySelectorAll(".meter")].some((e) => e.title.includes("11 proposed"))`,
		"the screen's button": `document.querySelector('[data-view="proposals"]').innerText.includes("11")`,
	} {
		if !eval[bool](b, script) {
			b.TB.Errorf("%s does not show that labels are proposed", what)
		}
	}
	b.Ctrl("k")
	b.take("Propose for the rest")
	b.proposalsSay("3 of 14 drawn tags checked")
}

// decideRest takes a group back and undoes that. It confirms the labels above the threshold, and all that are left.
func (b *page) decideRest(s *server) {
	b.TB.Helper()
	seq, left := s.lastEdit().Seq, 11
	step := func(key string, op curate.Op) int {
		seq++
		b.Keys(key)
		b.saved(seq)
		e := s.lastEdit()
		if e.Op != op {
			b.TB.Errorf("%q made %s, want %s", key, e.Op, op)
		}
		return members(e) + len(e.From)
	}
	here := func(key string) int {
		return eval[int](b, fmt.Sprintf(`Number([...document.querySelectorAll("#proposals .buttons button")].find((e) => e.innerText.endsWith(" %s")).innerText.match(/ ([0-9]+) %s$/)[1])`, key, key))
	}
	want := here("B")
	if n := step("B", curate.Withdraw); n != want {
		b.TB.Errorf("B took back %d labels, want %d", n, want)
	}
	b.proposalsSay(fmt.Sprintf("the %d tag", left-want))
	step("u", curate.Revert)
	b.proposalsSay(fmt.Sprintf("of the %d tags", left))
	n := step("A", curate.Confirm)
	if left -= n; n == 0 || left == 0 {
		b.TB.Errorf("A confirmed %d labels and left %d, want some of each", n, left)
	}
	b.proposalsSay(fmt.Sprintf("the %d tag", left))
	if n := step("a", curate.Confirm); n != left {
		b.TB.Errorf("a confirmed %d labels, want %d", n, left)
	}
	b.proposalsSay("would be proposed")
	if strings.Contains(b.Text("#tree"), "?") {
		b.TB.Error("the tree shows proposals where there are none")
	}
}

// A long pause hardly changes the rate, and a reload keeps it.
func TestRateCountsPausesAsTwoMinutes(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	b.Exec(`window.late = 0; const now = Date.now.bind(Date); Date.now = () => now() + window.late; 0`)
	hidden := `document.getElementById("rate").hidden`
	decided := func() int {
		return eval[int](b, `Number([...document.querySelectorAll(".meter")].find((e) => e.title.includes("tags")).title.split(" ")[0])`)
	}
	for k := 1; decided() < 10; k++ {
		if !eval[bool](b, hidden) {
			t.Fatalf("a rate is shown after %d labels", decided())
		}
		minutes := 1
		if k == 2 {
			minutes = 600 // a night, which counts as two minutes
		}
		b.Exec(fmt.Sprintf(`window.late += %d * 60000`, minutes))
		b.Keys("a")
		b.saved(k)
		if decided() >= 10 {
			b.Until("a rate", "!"+hidden)
			// k edits take k minutes, and one more if the night was among them.
			took := k + min(1, k/2)
			hourly := eval[int](b, `parseInt(document.getElementById("rate").textContent)`)
			if want := decided() * 60 / took; hourly > want+1 || 10*hourly < 9*want { // the test's own seconds count, too
				t.Errorf("%d labels an hour, want about %d", hourly, want)
			}
		}
	}
	if text := b.Text("#rate"); !strings.HasSuffix(text, " min left") {
		t.Errorf("the rate is %q, want the minutes that are left", text)
	}
	b.Readable("light-1280-rate")
	b.Reload()
	b.Until("the rate is kept", "!"+hidden)
}

// Another page decides some labels of a proposal differently before the first page confirms the
// proposal. These decisions stand, the first page shows them, and no label is decided twice.
func TestConfirmLeavesWhatOthersDecided(t *testing.T) {
	dir := namedProject(t)
	s, b := openPage(t, dir, "--log", "edits.jsonl")
	b.Keys("R")
	b.proposalsSay("12 of 23 open tags would be proposed")
	begin := s.lastEdit().Seq
	b.Keys("a")
	b.saved(begin + 1)
	b.proposalsSay("12 tags proposed")
	proposed := s.lastEdit().Parts
	other := b.anotherTab(s)
	other.Keys("R")
	other.proposalsSay("12 tags proposed")
	moved, withdrawn := other.cards()[0], other.cards()[1]
	other.moveTo("elsewhere")
	other.saved(begin + 2)
	other.Keys("0")
	other.saved(begin + 3)
	b.proposalsSay("2 of 12 drawn tags checked: 0 right, 2 wrong")
	b.Keys("a")
	b.saved(begin + 4)
	other.proposalsSay("open tags would be proposed") // nothing is left to check
	confirmed := s.lastEdit()
	if confirmed.Op != curate.Confirm || members(confirmed) != 10 {
		t.Errorf("%s of %d labels, want the 10 that the other page left", confirmed.Op, members(confirmed))
	}
	s.stop()
	program.Run(t, dir, "curate", "apply")
	h := must.Get(labels.OpenHierarchy(filepath.Join(dir, "hierarchy.json")))(t)
	want := map[string]string{moved: "elsewhere", withdrawn: ""}
	for _, part := range proposed {
		for _, r := range part.Members {
			if _, otherwise := want[r.Name]; !otherwise {
				want[r.Name] = part.To
			}
		}
	}
	for _, c := range h.Levels[0].Classes {
		to, known := want[c.Name]
		if got := parentName(h, c); known && got != to {
			t.Errorf("%q is in %q, want %q", c.Name, got, to)
		}
	}
}

// parentName is the class above a tag, "" if it has none.
func parentName(h *labels.Hierarchy, c labels.Class) string {
	if c.Parent < 0 {
		return ""
	}
	return h.Levels[1].Classes[c.Parent].Name
}

// The labels of a proposal and the history show it, and undo takes it back.
func TestProposalsAreShownAndUndone(t *testing.T) {
	dir := t.TempDir()
	writeCuration(t, dir, oneCluster("palace", "fortress", "lake"), "anna.jsonl",
		curate.Edit{Op: curate.Propose, Parts: []curate.Part{{To: "castle", Members: refs("palace", "fortress")}}})
	_, b := openPage(t, dir, "--log", "anna.jsonl")
	b.Exec(`location.hash = "#group/castle"`)
	b.at("the group of the proposal", "castle")
	b.Until("two proposed labels", `[...document.querySelectorAll("#grid .card.proposed")].every((e) => /^\?/.test(e.innerText)) &&
		document.querySelectorAll("#grid .card.proposed").length === 2 && document.querySelector("#side dl").innerText.includes("proposed")`)
	b.Keys("e")
	b.Until("the history", `document.querySelector("dialog[open] td:nth-child(3)").innerText === "propose palace and 1 more → castle"`)
	b.Keys(kb.Escape, "u")
	b.saved(2)
	b.says("Took back the proposal of “palace” and 1 more (castle).")
	b.Until("nothing is proposed", `!document.querySelector("#grid .proposed")`)
}
