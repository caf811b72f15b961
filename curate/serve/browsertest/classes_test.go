//go:build browser

package browsertest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
	"hgld/internal/testing/must"
	"hgld/internal/testing/program"
	"hgld/internal/testing/tagdata"
)

// words are the lines of the class screen, with the labels of each.
func (b *page) words() []string {
	b.TB.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("#grid .words")].map(e => e.textContent)`)
}

// Open labels are read class by class, a line for each head word: one key takes a screen, a wrong label or line goes by
// one key, and what was decided stays at its place until the screen is left.
func TestClassesAreReadScreenByScreen(t *testing.T) {
	dir := namedProject(t)
	s := startServer(t, dir)
	b := newPage(t, 1280, 800, false)
	b.Open(s.url)
	b.Keys("q")
	b.proposalsSay("are open")
	begin := s.lastEdit().Seq
	b.Until("choices", `document.querySelectorAll("#side .suggestion").length > 0`)
	for _, size := range [][2]int{{390, 844}, {640, 400}, {1280, 800}} { // a phone, 200 % zoom
		b.Resize(size[0], size[1])
		b.Until("every name is whole", `[...document.querySelectorAll("#grid .part")].every((e) => e.getBoundingClientRect().right <= innerWidth)`)
		b.fits()
		b.Readable(fmt.Sprintf("light-%d-classes", size[0]))
	}
	shown, line := b.words(), eval[int](b, `document.querySelectorAll("#grid .words.at .part").length`)
	to := eval[string](b, `document.querySelector("#side .suggestion .name").innerText`)
	b.Keys("1") // all of the line
	b.saved(begin + 1)
	if e := s.lastEdit(); e.Op != curate.Move || e.To != to || len(e.From) < line {
		t.Errorf("1 made %s of %v to %q, want the %d names of the line moved to %q", e.Op, e.From, e.To, line, to)
	}
	if now := b.words(); len(now) != len(shown) || !strings.HasPrefix(now[0], shown[0][:3]) {
		t.Errorf("after a digit the screen has %q, want %q", now, shown)
	}
	b.Exec(`{ const open = [...document.querySelectorAll("#grid .part:not(.decided)")][1]; window.wrong = open.title.split("\n")[0];
		open.dispatchEvent(new PointerEvent("pointermove", {bubbles: true})); }`)
	b.Keys("x") // the label under the pointer alone
	b.Until("it asks for a reason", `document.querySelector("dialog[open] input")`)
	b.Keys(kb.Enter)
	b.saved(begin + 2)
	if e, wrong := s.lastEdit(), eval[string](b, `window.wrong`); e.Op != curate.Drop || e.From[0].Name != wrong {
		t.Errorf("x made %s of %v, want %q dropped", e.Op, e.From, wrong)
	}
	b.Keys("l", "x") // the label at the cursor, without a question now
	b.saved(begin + 3)
	if e := s.lastEdit(); e.Op != curate.Drop {
		t.Errorf("x made %s, want the label at the cursor dropped", e.Op)
	}
	left := eval[[]string](b, `[...document.querySelectorAll("#grid .part:not(.decided)")].flatMap((e) => e.title.split("\n"))`)
	b.Keys("a")
	b.saved(begin + 4)
	confirmed := curate.Refs(s.lastEdit().Parts)
	if e := s.lastEdit(); e.Op != curate.Confirm || e.Note == "" || len(confirmed) != len(left) {
		t.Errorf("a made %s of %d tags with the note %q, want the %d of the screen confirmed", e.Op, len(confirmed), e.Note,
			len(left))
	}
	s.stop()
}

// A head word that is in several classes is divided by the word before it, where five names share both, so that one
// key on a line decides the fire stations and no other stations.
func TestWordsOfSeveralClassesAreDividedByTheWordBefore(t *testing.T) {
	dir := t.TempDir()
	groups := map[string]string{"old fire station": "transport", "rural fire station": "transport",
		"fire stations (ruin)": "transport", "naval fire station": "transport", "new fire station": "transport",
		"bus station": "transport", "tram station": "transport", "weather station": "science",
		"polling station": "science", "stone road bridge": "transport", "wooden road bridge": "transport",
		"wide road bridge": "transport", "new road bridge": "transport",
		"long road bridge": "transport", "rope bridge": "transport"}
	tagdata.Write(t, filepath.Join(dir, "tags.jsonl"), slices.Sorted(maps.Keys(groups)))
	program.Run(t, dir, "cluster", "run", "--k", "1", "--quiet")
	must.Do(t, os.WriteFile(filepath.Join(dir, "groups.txt"), []byte("transport\nscience\n"), 0o644))
	program.Run(t, dir, "curate", "import", "groups.txt")
	suggest(t, dir, "edits.jsonl", groups)
	s := startServer(t, dir)
	b := newPage(t, 1280, 800, false)
	b.Open(s.url)
	b.Keys("q")
	b.proposalsSay("are open")
	got := eval[[]string](b, `[...new Set([...document.querySelectorAll("#grid .words")].flatMap((e) =>
		[...e.querySelectorAll(".part")].map((p) => e.querySelector(".word").innerText + ": " + p.title)))].sort()`)
	want := []string{"bridge: long road bridge", "bridge: new road bridge", "bridge: rope bridge",
		"bridge: stone road bridge", "bridge: wide road bridge", "bridge: wooden road bridge",
		"fire station: fire stations (ruin)",
		"fire station: naval fire station", "fire station: new fire station", "fire station: old fire station",
		"fire station: rural fire station", "station: bus station", "station: polling station", "station: tram station",
		"station: weather station"}
	if !slices.Equal(got, want) {
		t.Errorf("the words and their names are\n%q, want\n%q", got, want)
	}
	s.stop()
}

// A group that is proposed to be dropped is a class like any other.
func TestDropsAreProposedAndConfirmed(t *testing.T) {
	dir := namedProject(t)
	text := `{"tag":"hill","group":null,"score":0.9}` + "\n" + `{"tag":"bridge","group":null,"score":0.8}` + "\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "s.jsonl"), []byte(text), 0o644))
	program.Run(t, dir, "curate", "import", "--on-conflict", "skip", "s.jsonl")
	s := startServer(t, dir)
	b := newPage(t, 1280, 800, false)
	b.Open(s.url)
	b.Keys("q")
	const drops = `[...document.querySelectorAll("#grid .break")].some((e) => e.innerText.startsWith("drop"))`
	for range 20 {
		b.Until("the classes", `document.querySelector("#grid .part")`)
		if eval[bool](b, drops) {
			break
		}
		line := b.words()[0]
		b.Keys("j")
		b.Until("other classes", fmt.Sprintf(`document.querySelector("#grid .words").textContent !== %q`, line))
	}
	begin := s.lastEdit().Seq
	b.Keys("a")
	b.saved(begin + 1)
	drop := func(p curate.Part) bool { return p.To == "" }
	if e := s.lastEdit(); e.Op != curate.Confirm || !slices.ContainsFunc(e.Parts, drop) {
		t.Errorf("a made %s of %v, want the drops confirmed", e.Op, e.Parts)
	}
	s.stop()
}

// Sections of proposals keep their order while their labels go, and the cursor its section: x never drops a label of
// another group than the one that is read.
func TestSectionsStayWhileTheyAreRead(t *testing.T) {
	dir := t.TempDir()
	var tags []string
	var text strings.Builder
	for k := range 26 {
		for _, group := range []string{"lake", "island"} {
			name := fmt.Sprintf("%s in %c", group, 'a'+k)
			tags = append(tags, name)
			fmt.Fprintf(&text, "{\"tag\":%q,\"group\":%q,\"score\":0.9}\n", name, group)
		}
	}
	tagdata.Write(t, filepath.Join(dir, "tags.jsonl"), tags)
	program.Run(t, dir, "cluster", "run", "--k", "2", "--quiet")
	must.Do(t, os.WriteFile(filepath.Join(dir, "groups.txt"), []byte("lake\nisland\n"), 0o644))
	must.Do(t, os.WriteFile(filepath.Join(dir, "s.jsonl"), []byte(text.String()), 0o644))
	program.Run(t, dir, "curate", "import", "groups.txt")
	program.Run(t, dir, "curate", "import", "s.jsonl")
	s := startServer(t, dir)
	b := newPage(t, 1280, 800, false)
	b.Open(s.url)
	b.Until("ready", `document.body.dataset.ready === "yes"`)
	b.Keys(kb.Escape, "R")
	b.proposalsSay("52 tags proposed")
	b.Keys("}")
	headings := func() []string {
		return eval[[]string](b, `[...document.querySelectorAll("#grid .break span")].map((e) => e.innerText.split(" · ")[0])`)
	}
	b.Until("three sections", `document.querySelectorAll("#grid .break").length === 3`)
	before, begin := headings(), s.lastEdit().Seq
	b.Exec(`{ const cards = [...document.querySelectorAll("#grid .space > *")], at = cards.findIndex((e) => e.innerText.startsWith("` + before[1] + ` ·"));
		cards[at + 1].click(); cards[at + 1].click(); }`) // marked, and the mark removed: the cursor is there
	b.Keys("x")
	b.Until("the reason", `document.querySelector("dialog[open] input")`)
	b.Keys(kb.Enter)
	for k := range 8 { // the section is smaller than the next one by now
		b.saved(begin + k + 1)
		if k < 7 {
			b.Keys("x")
		}
	}
	if after := headings(); !slices.Equal(after, before) {
		t.Errorf("the sections are %q, want %q as before", after, before)
	}
	for _, e := range s.edits()[begin:] {
		if e.Op != curate.Drop || len(e.From) != 1 || !strings.HasPrefix(e.From[0].Name, before[1]) {
			t.Errorf("x made %s of %v, want labels of %s dropped", e.Op, e.From, before[1])
		}
	}
	s.stop()
}

// Edits that wait for the server are sent in the order in which they were made, even if the clock steps back between
// them.
func TestUnsavedEditsKeepTheirOrder(t *testing.T) {
	dir := t.TempDir()
	writeDraft(t, dir, oneCluster("house", "barn"))
	s, b := openPage(t, dir)
	s.kill()
	b.alarms("server is gone")
	b.moveTo("lake")
	b.unsaved(1)
	b.Exec(`const now = Date.now.bind(Date); Date.now = () => now() - 3600000; 0`)
	label := eval[string](b, `location.hash`)
	b.Exec(`location.hash = "#group/lake"`)
	b.Until("the group", fmt.Sprintf(`location.hash !== %q`, label))
	b.at("the moved label", "lake")
	b.moveTo("church")
	b.unsaved(2)
	s.start()
	b.openHere(s.url)
	b.saved(2)
	s.stop()
	if e := s.edits(); len(e) != 2 || e[0].To != "lake" || e[1].To != "church" {
		t.Errorf("the log has %+v, want lake and then church", e)
	}
}
