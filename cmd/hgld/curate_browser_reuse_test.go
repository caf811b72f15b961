//go:build browser

package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
	"hgld/internal/atomicfile"
	"hgld/labels"
)

// groupScreen is what the page shows of a group: its heading, the labels on the
// cards by what is seen and clicked, and the row of the tree that is current. A card
// shows a label and its variants.
type groupScreen struct {
	Heading string
	Seen    []string
	Titles  []string
	Clicked []string // labels that a click would mark first, by card
	First   []string // labels that are seen first, by card
	Tree    string
	At      string // label in the panel
}

const readGroup = `(() => { const cards = [...document.querySelectorAll("#grid .card")], all = (of) => cards.flatMap(of).map((s) => s.replaceAll("␣", " "));
	return {Heading: document.querySelector("#head h2 .name").textContent, Seen: all((e) => e.querySelector(".label").textContent.split(" · ")), Titles: all((e) => e.title.split("\n")),
		Clicked: all((e) => window.names[e.dataset.tag]), First: all((e) => e.querySelector(".label").firstChild.textContent),
		Tree: document.querySelector("#tree .row.current").title, At: document.querySelector("#side .whole").textContent.replaceAll("␣", " ")}; })()`

// check compares a screen with the members that the draft has.
func (s groupScreen) check(members map[string][]string) error {
	want, known := members[s.Heading]
	if !known {
		return fmt.Errorf("the heading is %q, which no group is called", s.Heading)
	}
	if s.Tree != s.Heading {
		return fmt.Errorf("%q: the tree is on %q", s.Heading, s.Tree)
	}
	if len(s.Seen) == 0 || s.At != s.Seen[0] {
		return fmt.Errorf("%q: the panel is of %q, the first card of %q", s.Heading, s.At, s.Seen)
	}
	for i, name := range s.Seen {
		if s.Titles[i] != name {
			return fmt.Errorf("%q: a card shows %q as its name %d, and its title is %q", s.Heading, name, i, s.Titles[i])
		}
	}
	if !slices.Equal(s.First, s.Clicked) {
		return fmt.Errorf("%q: the cards show %q, and clicks mark %q", s.Heading, s.First, s.Clicked)
	}
	if got := slices.Sorted(slices.Values(s.Seen)); !slices.Equal(got, want) {
		return fmt.Errorf("%q shows %q, want %q", s.Heading, got, want)
	}
	return nil
}

// membersOf returns the labels of each cluster of a draft, by its name, sorted.
func membersOf(d *labels.Draft) map[string][]string {
	members := map[string][]string{}
	for _, c := range d.Clusters {
		for _, m := range c.Members {
			members[c.Name] = append(members[c.Name], d.Tags[m.Tag].Name)
		}
		slices.Sort(members[c.Name])
	}
	return members
}

// Whichever way a group is reached, by key or by click, forwards or backwards: its
// heading, its cards, the tree, and what accepting it sends are of that group. In a
// draft of real labels many groups are of one size, and in the demo's some.
func TestBrowserShowsTheLabelsOfTheGroupItNames(t *testing.T) {
	t.Run("real labels", func(t *testing.T) {
		dir, draft := t.TempDir(), realDraft(t, realRecords(t))
		err := atomicfile.Write(filepath.Join(dir, "draft.json"),
			func(w io.Writer) error { return labels.WriteDraft(w, draft) })
		if err != nil {
			t.Fatal(err)
		}
		walkGroups(t, dir, draft)
	})
	t.Run("demo", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "demo")
		runHgld(t, filepath.Dir(dir), "demo", "--out", dir, "--steps", "1")
		draft, err := labels.OpenDraft(filepath.Join(dir, "draft.json"))
		if err != nil {
			t.Fatal(err)
		}
		walkGroups(t, dir, draft)
	})
	t.Run("groups by name", func(t *testing.T) {
		dir := smallProject(t)
		names := "church\nmountain\nriver\nlake\nbridge\nmuseum\n"
		if err := os.WriteFile(filepath.Join(dir, "names.txt"), []byte(names), 0o644); err != nil {
			t.Fatal(err)
		}
		runHgld(t, dir, "cluster", "run", "--encoder", "hashing", "--groups", "names.txt", "--k", "9", "--replace", "--quiet")
		draft, err := labels.OpenDraft(filepath.Join(dir, "draft.json"))
		if err != nil {
			t.Fatal(err)
		}
		walkGroups(t, dir, draft)
	})
}

// walkGroups goes through all groups of a draft in a folder, in every way, and then
// accepts them one after the other.
func walkGroups(t *testing.T, dir string, draft *labels.Draft) {
	t.Helper()
	members := membersOf(draft)
	s := serveIn(t, dir, "--port", "0", "--by", "Anna", "--log", "walk.jsonl")
	b := newBrowser(t, 1280, 6000, false) // all rows and all cards are in sight
	b.open(s.url)
	b.keys(kb.Escape)
	b.run(evaluateVoid(`const pass = JSON.parse(sessionStorage.getItem("hgld pass"));
		fetch("/api/state", {headers: {"X-Hgld-Token": pass.token}}).then((r) => r.json()).then((s) => { window.names = s.names; })`))
	b.until("the names", "window.names")
	wrong := map[string]int{}
	visit := func(way string) groupScreen {
		screen := eval[groupScreen](b, readGroup)
		if err := screen.check(members); err != nil {
			if wrong[way]++; wrong[way] <= 3 {
				t.Errorf("%s: %v", way, err)
			}
		}
		return screen
	}
	seen := map[string]bool{}
	for range members {
		seen[visit("by j").Heading] = true
		b.keys("j")
	}
	if len(seen) != len(members) {
		t.Errorf("j leads to %d groups, want %d", len(seen), len(members))
	}
	for range members {
		b.keys("k")
		visit("by k")
	}
	for _, way := range []string{"by click, forwards", "by click, backwards"} {
		for i := range len(members) {
			if way == "by click, backwards" {
				i = len(members) - 1 - i
			}
			b.run(evaluateVoid(fmt.Sprintf(`document.querySelectorAll("#tree .row")[%d].click()`, i)))
			visit(way)
		}
	}
	var accepted []groupScreen
	for k := range len(members) {
		accepted = append(accepted, visit("by a"))
		b.keys("a")
		b.saved(k + 1)
	}
	b.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "walk.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for k, screen := range accepted {
		var from []string
		for _, r := range c.Edits[k].From {
			from = append(from, r.Name)
		}
		if c.Edits[k].To != screen.Heading || !slices.Equal(from, screen.Seen) {
			if wrong["accepted"]++; wrong["accepted"] <= 3 {
				t.Errorf("accepting %q with %q on the screen wrote %q of %q", screen.Heading, screen.Seen, from, c.Edits[k].To)
			}
		}
	}
	for _, way := range slices.Sorted(maps.Keys(wrong)) {
		t.Errorf("%s: %d of %d screens are wrong", way, wrong[way], len(members))
	}
}

// A label that differs is a card of its group like any other when the adjudicator goes
// there from the list of differences: the row of that list does not become the card.
func TestBrowserShowsCardsAfterDifferences(t *testing.T) {
	dir := t.TempDir()
	d := &labels.Draft{Version: labels.DraftVersion, Clusters: []labels.Cluster{{Name: "all"}}}
	var refs []curate.Ref
	for i, name := range []string{"palace", "fortress", "lake"} {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: name}, Landmarks: 5 - i})
		d.Clusters[0].Members = append(d.Clusters[0].Members, labels.Member{Tag: i})
		refs = append(refs, curate.Ref{Name: name})
	}
	for _, to := range []string{"castle", "house"} {
		writeCuration(t, dir, d, to+".jsonl", curate.Edit{Op: curate.Move, From: refs, To: to})
	}
	s := serveIn(t, dir, "--port", "0", "--adjudicate", "castle.jsonl", "--adjudicate", "house.jsonl", "--log",
		"third.jsonl", "--by", "Chris")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	b.until("three differences", `document.querySelectorAll(".duel").length === 3`)
	b.run(evaluateVoid(`document.querySelector("#tree .row").click()`))
	b.until("three cards", `document.querySelectorAll("#grid .card").length === 3`)
	for _, text := range eval[[]string](b, `[...document.querySelectorAll("#grid .cell")].map((e) => e.innerText.replace(/\s+/g, " "))`) {
		if strings.Contains(text, "castle") || strings.Contains(text, "house") {
			t.Errorf("a card of the group shows %q", text)
		}
	}
	b.run(evaluateVoid(`document.querySelector('[data-view="review"]').click()`))
	b.until("three differences again", `document.querySelectorAll("#grid .duel .side").length === 6`)
	b.clean()
}
