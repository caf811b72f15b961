//go:build browser

package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/curate"
	"hgld/internal/testing/must"
	"hgld/internal/testing/program"

	"github.com/chromedp/chromedp/kb"
)

// choose chooses a value of a facet as a person does: the values are listed when it is opened.
func (b *page) choose(facet, value string) {
	b.TB.Helper()
	b.Focus("#facet-" + facet)
	b.Until("the value "+value, fmt.Sprintf(`[...document.getElementById("facet-" + %q).options].some((o) => o.value === %q)`, facet, value))
	b.Exec(fmt.Sprintf(`{ const e = document.getElementById("facet-" + %q); e.value = %q; e.dispatchEvent(new Event("change")); }`, facet, value))
}

// found waits until Find shows these labels.
func (b *page) found(what string, names ...string) {
	b.TB.Helper()
	b.Until(what, fmt.Sprintf(`JSON.stringify([...document.querySelectorAll("#grid .card")].map((e) => e.title)) === JSON.stringify(%s)`, quoteJSON(b.TB, names)))
}

// After an import of names, the page offers to merge clusters into the groups of the same name: one
// edit, which one undo takes back.
func TestNamesakesAreMergedFromAList(t *testing.T) {
	dir := smallProject(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "names.txt"), []byte("Church\nLakes\nHill\nmuseum\n"), 0o644))
	program.Run(t, dir, "curate", "import", "names.txt")
	s := startServer(t, dir)
	b := newPage(t, 1280, 800, false)
	b.Open(s.url)
	b.Until("the list", `document.querySelectorAll("dialog[open] .checks li").length === 3`)
	b.Readable("light-1280-namesakes")
	edits := len(s.edits())
	b.Until("the cursor is in it", `document.activeElement.type === "checkbox"`)
	second := eval[string](b, `document.querySelectorAll("dialog[open] .checks .name")[1].textContent`)
	b.Keys(kb.ArrowDown, " ")
	b.Until("two are left", `document.querySelector("dialog[open] .main-button").textContent.startsWith("Merge 2")`)
	b.Keys(kb.Enter)
	b.saved(edits + 1)
	e := s.lastEdit()
	if e.Op != curate.Merge || len(e.Parts) != 2 || slices.ContainsFunc(e.Parts, func(p curate.Part) bool {
		return strings.HasSuffix(second, p.To)
	}) {
		t.Errorf("without %q, the edit is %+v", second, e)
	}
	b.says("Merged")
	b.Keys("u")
	b.saved(edits + 2)
	b.Keys("G")
	b.Until("all are there again", `document.querySelectorAll("dialog[open] .checks li").length === 3`)
	b.Keys(kb.Escape)
	s.stop()
}

// Find searches by a regular expression and by facets with counts, and sorts by the date of decisions.
// Labels that are like one come from all groups.
func TestFindIsAWorkbench(t *testing.T) {
	dir := smallProject(t)
	s, b := openPage(t, dir)
	b.Keys("/", "church")
	b.Keys(kb.Enter, "x")
	b.take("too generic")
	b.saved(1)
	b.Keys("/")
	b.Ctrl("a")
	b.Keys("/^(hill|lake)$")
	b.found("a regular expression", "hill", "lake")
	b.Keys("(")
	b.Until("it says so", `document.getElementById("counted").innerText.startsWith("not a regular")`)
	b.Ctrl("a")
	b.Keys(kb.Backspace)
	b.Focus("#facet-by")
	b.Until("curators with counts", `[...document.querySelectorAll("#facet-by option")].some((e) => e.textContent === "Anna (1)")`)
	b.choose("by", "Anna")
	b.Until("the decided one is offered", `document.querySelector("#head .under .link")?.textContent === "show the 1 decided"`)
	b.Readable("light-1280-find-facets")
	b.Click("#head .under .link")
	b.found("of Anna", "church")
	b.Until("who decided it", `document.getElementById("side").innerText.includes("Anna · ")`)
	b.choose("by", "")
	b.choose("state", "open")
	b.Focus("#grid")
	b.Keys("S", "S", "S")
	b.Until("by name", `document.querySelector("#grid .card").title === " museum"`)
	b.Reload()
	b.Until("the facets outlive a reload", `document.getElementById("facet-state").value === "open" && document.querySelectorAll("#grid .card").length === 22`)
	b.Focus("#grid")
	b.Keys(kb.Home, "C")
	b.Until("like it", `document.querySelector("#head h2").textContent === "More like “␣museum”" && document.querySelectorAll("#grid .card").length > 5`)
	if first := b.cards()[0]; first != "history museum" && first != "art  museum" {
		t.Errorf("most like a museum is %q", first)
	}
	b.Readable("light-1280-like")
	b.moveTo("museums")
	b.saved(2)
	if e := s.lastEdit(); e.Op != curate.Move || e.To != "museums" {
		t.Errorf("the edit is %+v", e)
	}
	s.stop()
}

// An expression in Find becomes a rule by one key: it decides the open tags that it finds, and the history tells it.
func TestAnExpressionBecomesARule(t *testing.T) {
	s, b := openPage(t, smallProject(t), "--log", "edits.jsonl")
	b.Keys("/", "/ (church|bridge)$", kb.Enter)
	b.Until("found", `document.getElementById("counted").textContent === "5 open, 0 decided"`)
	b.Keys("K")
	b.Until("the rule", `document.querySelector("dialog[open]").innerText.includes("/ (church|bridge)$/ also decides new tags")`)
	b.take("drop")
	b.saved(1)
	if e := s.lastEdit(); e.Op != curate.Drop || e.Rule != " (church|bridge)$" || len(e.From) != 5 {
		t.Errorf("K made %+v, want the five dropped by the rule", e)
	}
	b.Keys("e")
	b.Until("the history", `document.querySelector("dialog[open] td:nth-child(3)").innerText.includes("by the rule / (church|bridge)$/")`)
	s.stop()
}

// A proposal of another program is shown with its score and reason, also after it was decided.
func TestImportedProposalsShowScoreAndReason(t *testing.T) {
	dir := smallProject(t)
	lines := `{"tag":"chapel","group":"worship","score":0.9,"reason":"<b>a small church</b>","source":"model a"}` + "\n" +
		`{"tag":"cathedral","group":"worship","score":0.4,"reason":"a bishop's church"}` + "\n"
	must.Do(t, os.WriteFile(filepath.Join(dir, "ranked.jsonl"), []byte(lines), 0o644))
	program.Run(t, dir, "curate", "import", "--new-groups", "ranked.jsonl")
	s, b := openPage(t, dir, "--log", "edits.jsonl")
	b.Exec(`location.hash = "#group/worship"`)
	b.at("the proposed group", "worship")
	b.Keys(kb.Home)
	side := func(what, text string) {
		t.Helper()
		b.Until(what, fmt.Sprintf(`document.getElementById("side").innerText.includes(%q)`, text))
	}
	for i := 0; b.card() != "chapel"; i++ {
		if i > 2 {
			t.Fatalf("the group has %q", b.cards())
		}
		b.Keys("l")
	}
	side("the score", "proposed → worship, score 0.900")
	side("the reason, as text", "<b>a small church</b>")
	b.Readable("light-1280-reason")
	b.Keys("b")
	b.saved(2)
	b.Exec(`location.hash = "#search"`)
	b.Focus("#query")
	b.Keys("/^chapel$")
	b.choose("state", "decided")
	b.Focus("#grid")
	side("who decided", "accepted → worship")
	side("and what was proposed", "score 0.900")
	s.stop()
}
