//go:build browser

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
	"hgld/labels"
)

// namedProject is a small draft whose groups were declared by name.
func namedProject(t testing.TB) string {
	t.Helper()
	dir := smallProject(t)
	names := "church\nmountain\nriver\nlake\nbridge\nmuseum\n"
	if err := os.WriteFile(filepath.Join(dir, "groups.txt"), []byte(names), 0o644); err != nil {
		t.Fatal(err)
	}
	runHgld(t, dir, "curate", "import", "groups.txt")
	return dir
}

// lastEdit reads the last edit of a log.
func lastEdit(t testing.TB, path string) curate.Edit {
	t.Helper()
	log, err := curate.ReadLog(path)
	if err != nil {
		t.Fatal(err)
	}
	return log.Edits[len(log.Edits)-1]
}

// members counts the labels in the parts of an edit.
func members(e curate.Edit) (n int) {
	for _, p := range e.Parts {
		n += len(p.Members)
	}
	return n
}

// restSays expects the screen of proposals to tell a text.
func (b *browser) restSays(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("the proposals say %q", text),
		fmt.Sprintf(`document.getElementById("rest").innerText.replace(/\s+/g, " ").includes(%q)`, text))
}

// sizes shows the screen at the usual sizes.
func (b *browser) sizes(scheme, name string) {
	b.t.Helper()
	for _, size := range [][2]int64{{1920, 1080}, {360, 800}, {1280, 800}} {
		b.run(chromedp.EmulateViewport(size[0], size[1]))
		b.readable(fmt.Sprintf("%s-%d-rest-%s", scheme, size[0], name))
	}
}

// The rest is assigned by the keyboard alone: what is above a threshold is proposed in one
// edit, a drawn sample is checked, which survives a reload, and the others are confirmed or
// taken back. Whatever is proposed looks so until it is decided.
func TestBrowserAssignsTheRest(t *testing.T) {
	for _, dark := range []bool{false, true} {
		scheme := map[bool]string{false: "light", true: "dark"}[dark]
		dir := namedProject(t)
		log := filepath.Join(dir, "edits.jsonl")
		begin := lastEdit(t, log).Seq
		s := serveIn(t, dir, "--port", "0")
		b := newBrowser(t, 1280, 800, dark)
		b.open(s.url)
		b.keys("R")
		b.restSays("12 of 23 open labels would be proposed") // the surer half
		b.sizes(scheme, "choose")
		b.keys("]", "]", "]")
		b.restSays("surest 65 %")
		b.keys("[")
		b.restSays("14 of 23 open labels")
		if n := eval[int](b, `Number(document.querySelector("#grid .card").getAttribute("aria-setsize"))`); n != 14 {
			t.Errorf("%d cards are shown, want 14", n)
		}
		b.keys("a")
		b.saved(begin + 1)
		e := lastEdit(t, log)
		if e.Op != curate.Propose || members(e) != 14 {
			t.Fatalf("%s of %d labels, want a proposal of 14", e.Op, members(e))
		}
		b.restSays("14 labels proposed. Check the drawn ones")
		b.says("Proposed “church” and 13 more for ")
		b.sizes(scheme, "check")
		b.checkSample(log, begin)
		b.sizes(scheme, "checked")
		b.checkStanding(scheme)
		b.decideRest(log)
		b.clean()
	}
}

// checkSample looks at three drawn labels: right, wrong, and where it belongs; then it
// reloads the page.
func (b *browser) checkSample(log string, begin int) {
	b.t.Helper()
	drawn := b.cards()
	b.keys("y")
	b.saved(begin + 2)
	b.restSays("1 of 14 drawn labels checked: 1 right, 0 wrong")
	if e := lastEdit(b.t, log); e.Op != curate.Accept || e.From[0].Name != drawn[0] {
		b.t.Errorf("y made %s of %v, want that of %q accepted", e.Op, e.From, drawn[0])
	}
	b.keys("0")
	b.saved(begin + 3)
	b.restSays("1 right, 1 wrong")
	if e := lastEdit(b.t, log); e.Op != curate.Withdraw || e.Note == "" || e.From[0].Name != drawn[1] {
		b.t.Errorf("0 made %s of %v, want that of %q taken back as wrong", e.Op, e.From, drawn[1])
	}
	b.keys("m")
	b.take("museum")
	b.saved(begin + 4)
	b.restSays("3 of 14 drawn labels checked")
	b.restSays("of the 11 labels left are expected to be wrong (95 %:")
	b.keys("[")
	b.restSays("surest 55 %")
	before, told := b.cards(), b.text("#rest div")
	b.run(chromedp.Reload())
	b.until("the page is ready again", `document.body && document.body.dataset.ready === "yes"`)
	b.restSays("3 of 14 drawn labels checked")
	b.until("the same cards", `document.querySelectorAll("#grid .card").length === 11`)
	if after := b.cards(); !slices.Equal(after, before) {
		b.t.Errorf("after a reload the cards are %q, want %q", after, before)
	}
	if again := b.text("#rest div"); again != told {
		b.t.Errorf("after a reload it says %q, want %q", again, told)
	}
}

// checkStanding finds proposed labels marked as such in a group, in the tree, in the
// counts and in the history.
func (b *browser) checkStanding(scheme string) {
	b.t.Helper()
	b.keys(kb.Enter)
	b.until("the group of the label", `/ proposed/.test(document.querySelector("#head .under").innerText) && document.querySelector("#grid .cell.at.proposed")`)
	b.readable(scheme + "-1280-rest-group")
	for what, script := range map[string]string{
		"the row of the tree": `document.querySelector("#tree .row.current").innerText.includes("?")`,
		"the state":           `document.getElementById("side").innerText.includes("proposed")`,
		"the progress":        `[...document.querySelectorAll(".meter")].some((e) => e.title.includes("11 proposed"))`,
		"the screen's button": `document.querySelector('[data-view="rest"]').innerText.includes("11")`,
	} {
		if !eval[bool](b, script) {
			b.t.Errorf("%s does not show that labels are proposed", what)
		}
	}
	b.ctrl("k")
	b.take("Assign the rest")
	b.restSays("3 of 14 drawn labels checked")
}

// decideRest takes a group back and confirms another, those above the threshold and all
// that are left, with undo.
func (b *browser) decideRest(log string) {
	b.t.Helper()
	seq, left := lastEdit(b.t, log).Seq, 11
	step := func(key string, op curate.Op) int {
		seq++
		b.keys(key)
		b.saved(seq)
		e := lastEdit(b.t, log)
		if e.Op != op {
			b.t.Errorf("%q made %s, want %s", key, e.Op, op)
		}
		return members(e) + len(e.From)
	}
	here := func() int {
		return eval[int](b, `Number([...document.querySelectorAll("#rest .buttons button")].find((e) => e.innerText.endsWith(" b")).innerText.match(/ ([0-9]+) b$/)[1])`)
	}
	want := here()
	if n := step("B", curate.Withdraw); n != want {
		b.t.Errorf("B took back %d labels, want %d", n, want)
	}
	b.restSays(fmt.Sprintf("of the %d label", left-want))
	step("u", curate.Revert)
	b.restSays(fmt.Sprintf("of the %d labels", left))
	want = here()
	left -= want
	if n := step("b", curate.Confirm); n != want {
		b.t.Errorf("b confirmed %d labels, want %d", n, want)
	}
	b.restSays(fmt.Sprintf("of the %d label", left))
	n := step("A", curate.Confirm)
	if left -= n; n == 0 || left == 0 {
		b.t.Errorf("A confirmed %d labels and left %d, want some of each", n, left)
	}
	b.restSays(fmt.Sprintf("of the %d label", left))
	if n := step("a", curate.Confirm); n != left {
		b.t.Errorf("a confirmed %d labels, want %d", n, left)
	}
	b.restSays("would be proposed")
	if strings.Contains(b.text("#tree"), "?") {
		b.t.Error("the tree shows proposals where there are none")
	}
}

// The pace is that of the work: a long pause leaves it nearly what it was, and a reload
// keeps it.
func TestBrowserTellsThePace(t *testing.T) {
	s := serveIn(t, smallProject(t), "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	b.run(evaluateVoid(`window.late = 0; const now = Date.now.bind(Date); Date.now = () => now() + window.late; 0`))
	hidden := `document.getElementById("pace").hidden`
	decided := func() int {
		return eval[int](b, `Number([...document.querySelectorAll(".meter")].find((e) => e.title.includes("labels")).title.split(" ")[0])`)
	}
	for k := 1; decided() < 10; k++ {
		if !eval[bool](b, hidden) {
			t.Fatalf("a pace is told after %d labels", decided())
		}
		minutes := 1
		if k == 2 {
			minutes = 600 // a night, which counts as two minutes
		}
		b.run(evaluateVoid(fmt.Sprintf(`window.late += %d * 60000`, minutes)))
		b.keys("a")
		b.saved(k)
		if decided() >= 10 {
			b.until("a pace", "!"+hidden)
			// k edits take k minutes, and one more if the night was among them.
			took := k + min(1, k/2)
			hourly := eval[int](b, `parseInt(document.getElementById("pace").textContent)`)
			if want := decided() * 60 / took; hourly > want+1 || 10*hourly < 9*want { // the test's own seconds count, too
				t.Errorf("%d labels an hour, want about %d", hourly, want)
			}
		}
	}
	if text := b.text("#pace"); !strings.HasSuffix(text, " min left") {
		t.Errorf("the pace is %q, want the minutes that are left", text)
	}
	b.readable("light-1280-pace")
	b.run(chromedp.Reload())
	b.until("the page is ready again", `document.body && document.body.dataset.ready === "yes"`)
	b.until("the pace is kept", "!"+hidden)
	b.clean()
}

// While one page confirms a proposal, another decides some of its labels otherwise: those
// stand, the first page says so, and no label is decided twice.
func TestBrowserConfirmsWhatOthersLeave(t *testing.T) {
	dir := namedProject(t)
	log := filepath.Join(dir, "edits.jsonl")
	s := serveIn(t, dir, "--port", freePort(t))
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, "R")
	b.restSays("12 of 23 open labels would be proposed")
	begin := lastEdit(t, log).Seq
	b.keys("a")
	b.saved(begin + 1)
	b.restSays("12 labels proposed")
	proposed := lastEdit(t, log).Parts
	other := b.tab()
	other.open(s.next())
	other.keys(kb.Escape, "R")
	other.restSays("12 labels proposed")
	moved, withdrawn := other.cards()[0], other.cards()[1]
	other.keys("m")
	other.take("elsewhere")
	other.saved(begin + 2)
	other.keys("0")
	other.saved(begin + 3)
	b.restSays("2 of 12 drawn labels checked: 0 right, 2 wrong")
	b.keys("a")
	b.saved(begin + 4)
	other.restSays("open labels would be proposed") // nothing is left to check
	confirmed := lastEdit(t, log)
	if confirmed.Op != curate.Confirm || members(confirmed) != 10 {
		t.Errorf("%s of %d labels, want the 10 that the other page left", confirmed.Op, members(confirmed))
	}
	s.stop()
	runHgld(t, dir, "curate", "apply")
	h, err := labels.OpenHierarchy(filepath.Join(dir, "hierarchy.json"))
	if err != nil {
		t.Fatal(err)
	}
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
	b.clean()
	other.clean()
}

// parentName is the class above a tag, "" if it has none.
func parentName(h *labels.Hierarchy, c labels.Class) string {
	if c.Parent < 0 {
		return ""
	}
	return h.Levels[1].Classes[c.Parent].Name
}
