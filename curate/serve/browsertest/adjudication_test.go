//go:build browser

package browsertest

import (
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

// Two annotators decide the same draft, and a third adjudicates the two differences.
func TestTwoAnnotatorsAndAnAdjudicator(t *testing.T) {
	dir := smallProject(t)
	for _, who := range []string{"Anna", "Ben"} {
		s, b := openPage(t, dir, "--by", who, "--log", strings.ToLower(who)+".jsonl")
		groups := eval[int](b, `document.querySelectorAll("#tree .row").length`)
		for k := range groups {
			b.Keys("a")
			b.saved(k + 1)
		}
		b.findAll("chapel")
		b.Keys(kb.Enter)
		b.moveTo(map[string]string{"Anna": "chapel", "Ben": "church"}[who])
		b.saved(groups + 1)
		b.Keys(kb.Escape)
		b.Keys("/")
		b.Ctrl("a")
		b.Keys("volcano", kb.Enter)
		if who == "Anna" {
			b.moveTo("volcano")
		} else {
			b.Keys("x")
			b.take("cannot be seen in an image")
		}
		b.saved(groups + 2)
		s.stop()
	}
	s := startServer(t, dir, adjudicating("anna.jsonl", "ben.jsonl")...)
	for _, dark := range []bool{false, true} {
		b := newPage(t, 1280, 800, dark)
		if !dark {
			b.Open(s.url)
		} else {
			b.Open(s.nextLink())
		}
		b.Keys(kb.Escape)
		b.Until("two differences", `document.querySelectorAll(".duel").length === 2`)
		scheme := map[bool]string{false: "light", true: "dark"}[dark]
		b.Shot(scheme + "-review")
		b.Click("#side button")
		b.Shot(scheme + "-agreement")
		b.Keys(kb.Escape)
		if dark {
			b.Keys("1")
			b.saved(1)
			b.Keys("2")
			b.saved(2)
			b.Until("nothing open", `document.querySelector("#side").textContent.includes("0 of 2")`)
		}
	}
	s.stop()
	text := program.Run(t, dir, "curate", "apply", "--out", "final.json", "draft.json", "anna.jsonl", "ben.jsonl",
		"third.jsonl")
	if !strings.Contains(text, "third.jsonl: 2 edits: 2 applied") {
		t.Error(text)
	}
	writesOverTheAdjudicated(t, dir)
}

// writesOverTheAdjudicated writes Anna's log over final.json. The page first says what it replaces.
func writesOverTheAdjudicated(t *testing.T, dir string) {
	t.Helper()
	final := filepath.Join(dir, "final.json")
	before := mustRead(t, final)
	s := startServer(t, dir, "--log", "anna.jsonl", "--out", "final.json")
	b := newPage(t, 1280, 800, false)
	b.Open(s.url)
	for _, replace := range []bool{false, true} {
		b.Keys("w")
		b.Until("it asks", `document.querySelector("dialog[open]").textContent.includes("final.json was made from anna.jsonl, ben.jsonl, third.jsonl. 1 of 23 tags would be in another group")`)
		b.Readable("light-1280-replaces-others")
		if mustRead(t, final) != before {
			t.Error("the adjudicated hierarchy was replaced before the curator agreed")
		}
		if !replace {
			b.Keys(kb.Enter) // keep it
			continue
		}
		b.Click("dialog[open] .buttons button:nth-child(2)")
		b.Until("written", `document.querySelector("dialog[open]").textContent.includes("final.json written")`)
		if mustRead(t, final) == before {
			t.Error("the hierarchy was not written")
		}
	}
}

// Differences between the same two groups are listed together, and one key decides all open ones
// of a pair by one edit.
func TestOneKeyDecidesAllDifferencesOfAPair(t *testing.T) {
	dir := t.TempDir()
	d := oneCluster("palace", "fortress", "lake", "citadel", "manor")
	curator := func(log string, groups ...string) {
		var edits []curate.Edit
		for i, to := range groups {
			edits = append(edits, move(d.Tags[i].Name, to))
		}
		writeCuration(t, dir, d, log, edits...)
	}
	curator("anna.jsonl", "house", "castle", "water", "castle", "castle")
	curator("ben.jsonl", "castle", "fort", "lake", "fort", "fort")
	s, b := openPage(t, dir, adjudicating("anna.jsonl", "ben.jsonl")...)
	b.Until("five differences", `document.querySelectorAll(".duel").length === 5`)
	titles := eval[[]string](b, `[...document.querySelectorAll("#grid .break")].map((e) => e.textContent)`)
	if want := []string{"castle or fort · 3 tags", "other pairs of groups · 2"}; !slices.Equal(titles, want) {
		t.Errorf("the headings are %q, want %q", titles, want)
	}
	b.Readable("light-1280-pairs")
	b.Keys("l", "1") // citadel
	b.saved(1)
	b.Keys(kb.Home, "4")
	b.saved(2)
	b.Until("it stands on the next open one", `document.querySelector("#grid .cell.at .label").textContent.startsWith("palace")`)
	b.Keys(kb.Home, "3")
	b.says("All of this pair is decided.")
	s.stop()
	edits := s.edits()
	for i, want := range []struct {
		to   string
		from []string
	}{{"castle", []string{"citadel"}}, {"fort", []string{"fortress", "manor"}}} {
		if e := edits[i]; e.Op != curate.Move || e.To != want.to || !slices.Equal(names(e), want.from) {
			t.Errorf("edit %d is %s %q to %q; want %q to %q", i+1, e.Op, names(e), e.To, want.from, want.to)
		}
	}
}

// Of three curators, the answer of two is offered first, and one key gives it to all labels of the
// case. When the adjudicator goes from the list of differences to a group, a label that differs is an
// ordinary card there: the row of the list is not used again as the card.
func TestThreeCuratorsAndCardsInPlaceOfTheRowsOfDifferences(t *testing.T) {
	dir := t.TempDir()
	labels := []string{"palace", "fortress", "lake"}
	for by, groups := range map[string][]string{"ann": {"castle", "castle", "castle"}, "ben": {"house", "house", "house"},
		"cid": {"house", "house", "water"}} {
		var edits []curate.Edit
		for i, to := range groups {
			edits = append(edits, move(labels[i], to))
		}
		writeCuration(t, dir, oneCluster(labels...), by+".jsonl", edits...)
	}
	s, b := openPage(t, dir, adjudicating("ann.jsonl", "ben.jsonl", "cid.jsonl")...)
	b.Until("three differences", `document.querySelectorAll(".duel").length === 3`)
	rows := eval[[]string](b, `[...document.querySelectorAll(".duel")].map((e) => [...e.querySelectorAll(".side")].map((x) => x.textContent).join("|"))`)
	if want := []string{"1 ben, cid house|2 ann castle", "1 ben, cid house|2 ann castle",
		"1 ann castle|2 ben house|3 cid water"}; !slices.Equal(rows, want) {
		t.Errorf("the answers are %q, want %q", rows, want)
	}
	// Of nine pairs of curators and labels, two agree: ben and cid on palace and fortress.
	b.Until("the agreement", `document.querySelector("#side").textContent.includes("two agree0.222") && document.querySelector("#side").textContent.includes("ben, cid0.667 · κ 0.000")`)
	b.Until("the keys", `document.querySelector("#head").textContent.endsWith(" · 1 … 3 choose an answer, 4 … 6 apply it to all tags with these answers")`)
	b.Readable("light-1280-three-curators")
	b.Exec(`document.querySelector("#tree .row").click()`)
	b.Until("three cards", `document.querySelectorAll("#grid .card").length === 3`)
	for _, text := range eval[[]string](b, `[...document.querySelectorAll("#grid .cell")].map((e) => e.innerText.replace(/\s+/g, " "))`) {
		if strings.Contains(text, "castle") || strings.Contains(text, "house") {
			t.Errorf("a card of the group shows %q", text)
		}
	}
	b.Exec(`document.querySelector('[data-view="review"]').click()`)
	b.Until("three differences again", `document.querySelectorAll("#grid .duel .side").length === 7`)
	b.Keys(kb.Home, "4")
	b.saved(1)
	b.Keys("3")
	b.saved(2)
	s.stop()
	edits := s.edits()
	if got := edits[0]; got.To != "house" || !slices.Equal(names(got), labels[:2]) {
		t.Errorf("the first edit moves %q to %q; want palace and fortress to house", names(got), got.To)
	}
	if got := edits[1]; got.To != "water" || !slices.Equal(names(got), labels[2:]) {
		t.Errorf("the second edit moves %q to %q; want lake to water", names(got), got.To)
	}
}

// The page asks before it replaces a hierarchy that somebody has changed by hand.
func TestWriteKeepsAChangedHierarchy(t *testing.T) {
	dir := smallProject(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "hgld.yaml"), []byte("hgld: 1\n"), 0o644))
	s, b := openPage(t, dir)
	path := filepath.Join(dir, "hierarchy.json")
	b.Keys("a")
	b.saved(1)
	b.Keys("w")
	b.Until("written", `document.querySelector("dialog[open]")?.textContent.includes("hierarchy.json written")`)
	b.Keys(kb.Escape, "a")
	b.saved(2)
	changed := strings.Replace(mustRead(t, path), "{", "{ ", 1)
	must.Do(t, os.WriteFile(path, []byte(changed), 0o644))
	for _, replace := range []bool{false, true} {
		b.Keys("w")
		b.Until("it asks", `document.querySelector("dialog[open]")?.textContent.includes("hierarchy.json is a file that was changed since it was written on")`)
		if !replace {
			b.Keys(kb.Enter)
			b.Until("it is kept", `!document.querySelector("dialog[open]")`)
			if mustRead(t, path) != changed {
				t.Error("the changed hierarchy was replaced")
			}
			continue
		}
		b.Click("dialog[open] .buttons button:nth-child(2)")
		b.Until("written", `document.querySelector("dialog[open]")?.textContent.includes("hierarchy.json written")`)
	}
	if text := mustRead(t, path); strings.HasPrefix(text, "{ ") {
		t.Error("the hierarchy was not replaced")
	}
	s.stop()
}
