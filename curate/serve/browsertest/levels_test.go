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
	"hgld/labels"

	"github.com/chromedp/chromedp/kb"
)

// In a log of four levels the tree shows all of them, and kinds get a parent and a new name as
// groups do.
func TestEveryLevelOfTheLogIsEdited(t *testing.T) {
	dir := smallProject(t)
	createLog(t, dir, "edits.jsonl", curate.Header{By: "Anna", Levels: []string{"tag", "group", "kind", "realm"}})
	s, b := openPage(t, dir)
	// The default classes are those of the coarsest level.
	choices := `[...document.querySelectorAll("#choices .name")].map(e => e.textContent)`
	b.Keys("p")
	if offered := eval[[]string](b, choices); len(offered) > 0 {
		t.Errorf("a group of four levels is offered %q as its kind", offered)
	}
	b.take("natural")
	b.saved(1)
	b.Keys("j", "p")
	b.take("built")
	b.saved(2)
	// onto moves the tree's cursor to a class above the groups.
	onto := func(name string) {
		b.Focus("#tree")
		b.Keys(kb.Home)
		for range 40 {
			if eval[string](b, `(document.querySelector("#tree .kind.at .name")||{textContent:""}).textContent`) == name {
				return
			}
			b.Keys(kb.ArrowDown)
		}
		t.Fatalf("the tree does not lead to %q", name)
	}
	onto("built")
	b.Keys("p")
	if offered := eval[[]string](b, choices); !slices.Equal(offered, curate.Kinds) {
		t.Errorf("a kind is offered %q, want %q", offered, curate.Kinds)
	}
	b.take("culture")
	b.saved(3)
	onto("built")
	b.Keys("r")
	b.take("human-made")
	b.saved(4)
	b.Until("all levels in the tree", `[...document.querySelectorAll("#tree [aria-level]")].some(e => e.getAttribute("aria-level") === "3" && e.classList.contains("row"))`)
	b.Until("all levels in the head", `document.querySelector("#head h2 .kind").textContent === "human-made · culture"`)
	onto("natural")
	b.Keys("p")
	b.take("nature")
	b.saved(5)
	onto("nature")
	b.Keys("p")
	b.Until("there is nothing above", `document.getElementById("toast").textContent === "There is no level above realm."`)
	b.Shot("light-levels")
	s.stop()
	edits := s.edits()
	var got []string
	for _, e := range edits[2:] {
		got = append(got, fmt.Sprintf("%s %d %s→%s", e.Op, e.Level, e.From[0].Name, e.To))
	}
	if want := []string{"set_parent 2 built→culture", "rename 2 built→human-made",
		"set_parent 2 natural→nature"}; !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
}

// The page shows a draft with all labels dropped, and a log of two levels. It writes by the
// settings of the project.
func TestPageOpensWithoutGroupsOrKinds(t *testing.T) {
	for _, c := range []struct {
		levels []string
		drop   bool
		want   string
	}{{curate.DefaultLevels, true, `document.querySelector("#head h2 .name").textContent === "Dropped"`},
		{[]string{"tag", "group"}, false, `document.querySelector("#tree .row.current") !== null`}} {
		dir := smallProject(t)
		path := createLog(t, dir, "edits.jsonl", curate.Header{By: "Anna", Levels: c.levels})
		if c.drop {
			dropAll(t, path, filepath.Join(dir, "draft.json"))
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, "hgld.yaml"), []byte("curate: {undecided: true}\n"), 0o644))
		_, b := openPage(t, dir)
		b.Until("shown", c.want)
		if !c.drop { // nothing is decided, and the project keeps undecided labels
			b.Keys("w")
			b.Until("written", `document.querySelector("dialog[open]").textContent.includes("hierarchy.json written")`)
		}
	}
}

// dropAll drops every tag of a draft.
func dropAll(t *testing.T, path, draft string) {
	t.Helper()
	d := must.Get(labels.OpenDraft(draft))(t)
	e := curate.Edit{Op: curate.Drop, Note: "too generic"}
	for _, tag := range d.Tags {
		e.From = append(e.From, curate.Ref{Name: tag.Name, QID: tag.QID})
	}
	appendEdits(t, path, "Anna", d, e)
}

// If no hierarchy can be written, the page says why, once and in its own words, and links to the
// groups without a kind.
func TestWriteDialogNamesTheGroupsWithoutAKind(t *testing.T) {
	dir := smallProject(t)
	_, b := openPage(t, dir)
	b.Keys("w")
	b.Until("nothing is decided", `document.querySelector("dialog[open] .body").innerText.trim() === "No tag is decided yet: accept, move or drop some first."`)
	b.Keys(kb.Escape)
	order := b.rows()
	b.Keys("a")
	b.saved(1)
	b.Keys("a")
	b.saved(2)
	b.Keys("k", "p")
	b.take("natural")
	b.saved(3)
	b.Keys("w")
	b.Until("why not", `document.querySelector("dialog[open] h2").textContent === "Not written yet"`)
	text := b.Text("dialog .body")
	if strings.Contains(text, "curate:") || strings.Contains(text, "level") || strings.Count(text, order[0]) != 1 {
		t.Errorf("the page says %q; want %q once, and no error of the program", text, order[0])
	}
	b.Shot("light-not-written")
	b.Click("dialog .link")
	b.at("the group without a kind", order[0])
	if _, err := os.Stat(filepath.Join(dir, "hierarchy.json")); err == nil {
		t.Error("hierarchy.json was written")
	}
}
