//go:build browser

package browsertest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
	"hgld/internal/testing/program"
	"hgld/internal/testing/tagdata"
	"hgld/labels"

	"github.com/chromedp/chromedp/kb"
)

// groupScreen is what the page shows of a group. A card shows a label and its variants.
type groupScreen struct {
	Heading string
	Seen    []string // labels by the text of the cards
	Titles  []string // labels by the titles of the cards
	Clicked []string // label that a click marks first, by card
	First   []string // label that is shown first, by card
	Tree    string   // current row of the tree
	At      string   // label in the panel
}

const readGroup = `(() => { const cards = [...document.querySelectorAll("#grid .card")], all = (of) => cards.flatMap(of).map((s) => s.replaceAll("␣", " "));
	return {Heading: document.querySelector("#head h2 .name").textContent, Seen: all((e) => e.querySelector(".label").textContent.split(" · ")), Titles: all((e) => e.title.split("\n")),
		Clicked: all((e) => window.names[e.dataset.tag]), First: all((e) => e.querySelector(".label").firstChild.textContent),
		Tree: document.querySelector("#tree .row.current").title, At: document.querySelector("#side .whole").textContent.replaceAll("␣", " ")}; })()`

// check compares a screen with the members of the draft.
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

// Whichever way a group is reached, by key or by click, forwards or backwards, its heading, its
// cards, the tree and the edit that accepts it are those of this group. In a draft of real
// labels many groups have the same size, and in the demo's draft some do.
func TestScreensShowTheLabelsOfTheirGroup(t *testing.T) {
	t.Run("real labels", func(t *testing.T) {
		dir, draft := t.TempDir(), tagdata.Draft(t, tagdata.Records(t))
		writeDraft(t, dir, draft)
		walkGroups(t, dir, draft)
	})
	t.Run("demo", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "demo")
		program.Run(t, filepath.Dir(dir), "demo", "--out", dir, "--steps", "1")
		draft := must.Get(labels.OpenDraft(filepath.Join(dir, "draft.json")))(t)
		walkGroups(t, dir, draft)
	})
	t.Run("groups by name", func(t *testing.T) {
		dir := smallProject(t)
		writeGroupNames(t, dir)
		program.Run(t, dir, "cluster", "run", "--groups", "groups.txt",
			"--k", "9", "--replace", "--quiet")
		draft := must.Get(labels.OpenDraft(filepath.Join(dir, "draft.json")))(t)
		walkGroups(t, dir, draft)
	})
}

// walkGroups visits all groups of a draft by j and up to 40 in each other way, and then accepts as many one after
// the other.
func walkGroups(t *testing.T, dir string, draft *labels.Draft) {
	t.Helper()
	members := membersOf(draft)
	s := startServer(t, dir, "--by", "Anna", "--log", "walk.jsonl")
	b := newPage(t, 1280, 6000, false) // all rows and all cards are in sight
	b.Open(s.url)
	b.Keys(kb.Escape)
	b.Exec(`const pass = JSON.parse(sessionStorage.getItem("hgld pass"));
		fetch("/api/state", {headers: {"X-Hgld-Token": pass.token}}).then((r) => r.json()).then((s) => { window.names = s.names; })`)
	b.Until("the names", "window.names")
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
		b.Keys("j")
	}
	if len(seen) != len(members) {
		t.Errorf("j leads to %d groups, want %d", len(seen), len(members))
	}
	many := len(members)
	if !effort.Long() {
		many = min(many, 40)
	}
	for range many {
		b.Keys("k")
		visit("by k")
	}
	for _, way := range []string{"by click, forwards", "by click, backwards"} {
		for i := range many {
			if way == "by click, backwards" {
				i = len(members) - 1 - i
			}
			b.Exec(fmt.Sprintf(`document.querySelectorAll("#tree .row")[%d].click()`, i))
			visit(way)
		}
	}
	var accepted []groupScreen
	for k := range many {
		accepted = append(accepted, visit("by a"))
		b.Keys("a")
		b.saved(k + 1)
	}
	s.stop()
	edits := s.edits()
	for k, screen := range accepted {
		from := names(edits[k])
		if edits[k].To != screen.Heading || !slices.Equal(from, screen.Seen) {
			if wrong["accepted"]++; wrong["accepted"] <= 3 {
				t.Errorf("accepting %q with %q on the screen wrote %q of %q", screen.Heading, screen.Seen, from, edits[k].To)
			}
		}
	}
	for _, way := range slices.Sorted(maps.Keys(wrong)) {
		t.Errorf("%s: %d of %d screens are wrong", way, wrong[way], len(members))
	}
}
