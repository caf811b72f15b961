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

	"hgld/labels"
)

// groupsOf returns the tags of each group of a hierarchy, and the kinds.
func groupsOf(t testing.TB, path string) (groups map[string][]string, kinds map[string]string) {
	t.Helper()
	h, err := labels.OpenHierarchy(path)
	if err != nil {
		t.Fatal(err)
	}
	groups, kinds = map[string][]string{}, map[string]string{}
	for _, c := range h.Levels[0].Classes {
		if c.Parent >= 0 {
			name := h.Levels[1].Classes[c.Parent].Name
			groups[name] = append(groups[name], c.Name)
		}
	}
	for _, g := range h.Levels[1].Classes {
		if len(h.Levels) > 2 {
			kinds[g.Name] = h.Levels[2].Classes[g.Parent].Name
		}
	}
	return groups, kinds
}

// take types a name in the dialog that is open and takes it.
func (b *browser) take(name string) {
	b.t.Helper()
	b.until("a dialog", `document.querySelector("dialog input")`)
	b.ctrl("a")
	b.keys(name, kb.Enter)
	b.until("the dialog is closed", `!document.querySelector("dialog[open]")`)
}

func TestBrowserCuratesByKeyboardFromDraftToHierarchy(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.until("the welcome", `document.querySelector("dialog[open]").textContent.includes("Welcome")`)
	b.keys(kb.Escape)
	edits := 0
	done := func() { edits++; b.saved(edits) }
	// All that holds "museum" goes to one group, byte for byte.
	b.keys("/", "museum", kb.Enter)
	b.ctrl("a")
	b.until("three marked", `(document.querySelector(".marks")||{textContent:""}).textContent.includes("3 labels marked")`)
	b.keys("n")
	b.take("museum ")
	done()
	for _, group := range []string{"church", "bridge", "river", "mountain", "lake", "hill", "chapel", "cathedral"} {
		b.keys(kb.Escape, "/")
		b.ctrl("a")
		b.keys(group)
		if b.keys(kb.Enter); eval[int](b, `document.querySelectorAll("#grid .card").length`) == 0 {
			continue // moved with another word
		}
		b.ctrl("a")
		b.keys("m")
		to := map[string]string{"hill": "mountain", "chapel": "church", "cathedral": "church"}[group]
		if to == "" {
			to = group
		}
		b.take(to)
		done()
	}
	// The kinds, in the tree: mark with space, then p.
	natural := []string{"lake", "mountain", "river"}
	for _, kind := range []string{"natural", "human-made"} {
		b.run(chromedp.Focus(chromedp.CSS("#tree")))
		b.keys(kb.Home)
		n := eval[int](b, `document.querySelectorAll("#tree .row, #tree .kind").length`)
		for range n {
			name := eval[string](b, `(document.querySelector("#tree .row.at .name")||{textContent:""}).textContent`)
			open := eval[bool](b, `document.querySelector("#tree").children[0].textContent.includes("yet")`)
			if open && name != "" && (kind == "natural") == slices.Contains(natural, name) {
				if !eval[bool](b, `[...document.querySelectorAll("#tree .kind")].some(k => k.textContent.startsWith("human-made"))`) {
					b.keys(" ")
				}
			}
			b.keys(kb.ArrowDown)
		}
		b.keys("p")
		b.take(kind)
		done()
	}
	b.keys("u")
	done()
	b.ctrl("y")
	done()
	b.keys("w")
	b.until("written", `document.querySelector("dialog[open]").textContent.includes("hierarchy.json written")`)
	b.shot("light-9-written")
	groups, kinds := groupsOf(t, filepath.Join(dir, "hierarchy.json"))
	if want := []string{" museum", "art  museum", "history museum"}; !slices.Equal(groups["museum "], want) &&
		len(groups["museum "]) != 3 {
		t.Errorf("the museums are %q", groups["museum "])
	}
	if !slices.Contains(groups["museum "], "art  museum") || !slices.Contains(groups["museum "], " museum") {
		t.Errorf("names have lost their spaces: %q", groups["museum "])
	}
	for group, kind := range map[string]string{"church": "human-made", "museum ": "human-made", "lake": "natural",
		"mountain": "natural"} {
		if kinds[group] != kind {
			t.Errorf("%q is %q, want %q", group, kinds[group], kind)
		}
	}
	b.clean()
	s.stop()
	if text := runHgld(t, dir, "curate", "apply", "--out", "again.json"); !strings.Contains(text, "again.json written") {
		t.Error(text)
	}
	if a, b := mustRead(t, filepath.Join(dir, "hierarchy.json")), mustRead(t, filepath.Join(dir, "again.json")); a != b {
		t.Error("the page's hierarchy is not that of the log's replay")
	}
}

func mustRead(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestBrowserCuratesByMouse(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.run(chromedp.Click(chromedp.CSS("dialog button.main-button")))
	first := b.text("#head h2 .name")
	// Two labels are marked and dragged onto another group of the tree.
	// Each click waits for what the one before has drawn: a press and a release are
	// a click on one and the same element.
	for i, shown := range []string{"1 label ", "2 labels "} {
		b.run(chromedp.WaitVisible(chromedp.CSS(".suggestion")), chromedp.Click(chromedp.CSS(fmt.Sprintf("#cell-%d", i))))
		b.until(shown+"marked", fmt.Sprintf(`(document.querySelector(".marks")||{textContent:""}).textContent.includes(%q)`,
			shown))
	}
	moved := eval[[]string](b, `[...document.querySelectorAll(".card.marked .label")].map(e => e.textContent)`)
	b.run(chromedp.DragAndDrop(chromedp.CSS("#cell-1"), chromedp.CSS("#tree .row:not(.current)")))
	b.saved(1)
	b.run(chromedp.Click(chromedp.CSS("#tree .row:not(.current)")))
	b.until("another group", fmt.Sprintf(`document.querySelector("#head h2 .name").textContent !== %q`, first))
	if shown := eval[[]string](b, `[...document.querySelectorAll(".card.decided .label")].map(e => e.textContent)`); !slices.Contains(shown, moved[0]) || !slices.Contains(shown, moved[1]) {
		t.Errorf("the group has %q decided, want %q", shown, moved)
	}
	// A suggestion, a button, undo.
	b.run(chromedp.WaitVisible(chromedp.CSS(".suggestion")), chromedp.Click(chromedp.CSS(".suggestion")))
	b.saved(2)
	b.run(chromedp.Click(chromedp.CSS(`[data-command="Undo"]`)))
	b.saved(3)
	b.run(chromedp.Click(chromedp.CSS(`[data-command="Accept"]`)))
	b.saved(4)
	// A group dragged onto a kind, after one was given by the dialog.
	b.run(chromedp.Click(chromedp.CSS(`[data-menu="Group"]`)), chromedp.Click(chromedp.CSS(`[data-command="Kind"]`)),
		chromedp.Click(chromedp.CSS("#choice-0")))
	b.saved(5)
	b.run(chromedp.DragAndDrop(chromedp.CSS("#tree .row"),
		chromedp.CSS(`#tree .kind:nth-last-child(2), #tree .kind:last-of-type`)))
	b.saved(6)
	// The map: a lasso marks labels.
	b.run(chromedp.Click(chromedp.CSS(`[data-view="map"]`)))
	b.until("the map", `document.querySelector("#mapbox p[role=status]").textContent.includes("labels;")`)
	b.run(chromedp.Func(dragAround))
	b.until("marked by the lasso", `document.querySelector(".marks")`)
	b.shot("light-map-lasso")
	b.clean()
}

func TestBrowserTwoAnnotatorsAndAnAdjudicator(t *testing.T) {
	dir := smallProject(t)
	for _, who := range []string{"Anna", "Ben"} {
		s := serveIn(t, dir, "--port", "0", "--by", who, "--log", strings.ToLower(who)+".jsonl")
		b := newBrowser(t, 1280, 800, false)
		b.open(s.url)
		b.keys(kb.Escape)
		groups := eval[int](b, `document.querySelectorAll("#tree .row").length`)
		for k := range groups {
			b.keys("a")
			b.saved(k + 1)
		}
		b.keys("/")
		b.run(chromedp.Click(chromedp.CSS("#openonly")), chromedp.Focus(chromedp.CSS("#query")))
		b.keys("chapel", kb.Enter, "m")
		b.take(map[string]string{"Anna": "chapel", "Ben": "church"}[who])
		b.saved(groups + 1)
		b.keys(kb.Escape)
		b.keys("/")
		b.ctrl("a")
		b.keys("volcano", kb.Enter)
		if who == "Anna" {
			b.keys("m")
			b.take("volcano")
		} else {
			b.keys("x")
			b.take("cannot be seen in an image")
		}
		b.saved(groups + 2)
		b.clean()
		s.stop()
	}
	s := serveIn(t, dir, "--port", "0", "--adjudicate", "anna.jsonl", "--adjudicate", "ben.jsonl", "--log", "third.jsonl",
		"--by", "Chris")
	for _, dark := range []bool{false, true} {
		b := newBrowser(t, 1280, 800, dark)
		if !dark {
			b.open(s.url)
		} else {
			b.open(s.next())
		}
		b.keys(kb.Escape)
		b.until("two differences", `document.querySelectorAll(".duel").length === 2`)
		b.shot(map[bool]string{false: "light", true: "dark"}[dark] + "-review")
		b.run(chromedp.Click(chromedp.CSS("#side button")))
		b.shot(map[bool]string{false: "light", true: "dark"}[dark] + "-agreement")
		b.keys(kb.Escape)
		if dark {
			b.keys("1")
			b.saved(1)
			b.keys("2")
			b.saved(2)
			b.until("nothing open", `document.querySelector("#side").textContent.includes("0 of 2")`)
		}
		b.clean()
	}
	s.stop()
	text := runHgld(t, dir, "curate", "apply", "--out", "final.json", "draft.json", "anna.jsonl", "ben.jsonl",
		"third.jsonl")
	if !strings.Contains(text, "third.jsonl: 2 edits: 2 applied") {
		t.Error(text)
	}
}
