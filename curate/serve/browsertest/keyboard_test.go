//go:build browser

package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"hgld/internal/testing/must"
	"hgld/internal/testing/program"
	"hgld/labels"
)

// groupsOf returns the tags of each group of a hierarchy, and the kinds.
func groupsOf(t testing.TB, path string) (groups map[string][]string, kinds map[string]string) {
	t.Helper()
	h := must.Get(labels.OpenHierarchy(path))(t)
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

// The keyboard alone moves labels, sets kinds, undoes, redoes and writes. The hierarchy is that of
// the replayed log.
func TestKeyboardCuratesDraftToHierarchy(t *testing.T) {
	dir := smallProject(t)
	s := startServer(t, dir, "--by", "Anna")
	b := newPage(t, 1280, 800, false)
	b.Open(s.url)
	b.Until("the welcome", `document.querySelector("dialog[open]").textContent.includes("Welcome")`)
	b.Keys(kb.Escape)
	edits := 0
	done := func() { edits++; b.saved(edits) }
	// Move all labels with "museum" to a group whose name ends with a space.
	b.Keys("/", "museum", kb.Enter)
	b.Ctrl("a")
	b.Until("three marked", `(document.querySelector(".marks")||{textContent:""}).textContent.includes("3 tags selected")`)
	b.Keys("n")
	b.take("museum ")
	done()
	for _, group := range []string{"church", "bridge", "river", "mountain", "lake", "hill", "chapel", "cathedral"} {
		b.Keys(kb.Escape, "/")
		b.Ctrl("a")
		b.Keys(group)
		if b.Keys(kb.Enter); eval[int](b, `document.querySelectorAll("#grid .card").length`) == 0 {
			continue // moved with another word
		}
		b.Ctrl("a")
		b.Keys("m")
		to := map[string]string{"hill": "mountain", "chapel": "church", "cathedral": "church"}[group]
		if to == "" {
			to = group
		}
		b.take(to)
		done()
	}
	// Set the kinds in the tree: mark groups with Space, then press p.
	natural := []string{"lake", "mountain", "river"}
	for _, kind := range []string{"natural", "human-made"} {
		b.Focus("#tree")
		b.Keys(kb.Home)
		n, before := eval[int](b, `document.querySelectorAll("#tree .row, #tree .kind").length`), ""
		for range n {
			name := eval[string](b, `(document.querySelector("#tree .row.at .name")||{textContent:""}).textContent`)
			open := eval[bool](b, `document.querySelector("#tree").textContent.includes("yet")`)
			if name != "" && name == before { // the last row
				break
			}
			before = name
			if open && name != "" && (kind == "natural") == slices.Contains(natural, name) {
				if !eval[bool](b, `[...document.querySelectorAll("#tree .kind")].some(k => k.textContent.startsWith("human-made"))`) {
					b.Keys(" ")
				}
			}
			b.Keys(kb.ArrowDown)
		}
		b.Keys("p")
		b.take(kind)
		done()
	}
	b.Keys("u")
	done()
	b.Ctrl("y")
	done()
	b.nameExtra(done)
	b.Keys("w")
	b.Until("written", `document.querySelector("dialog[open]").textContent.includes("hierarchy.json written")`)
	want := "level,class,extra_parent,source\ntag,railway bridge,river,curated\nsupercategory,river,natural,curated\n" +
		"supercategory,bridge,natural,curated\n"
	if got := mustRead(t, filepath.Join(dir, "extra_parents.csv")); got != want {
		t.Errorf("extra_parents.csv is %q, want %q", got, want)
	}
	b.Shot("light-9-written")
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
	s.stop()
	text := program.Run(t, dir, "curate", "apply", "--out", "again.json")
	if !strings.Contains(text, "again.json written") {
		t.Error(text)
	}
	if a, b := mustRead(t, filepath.Join(dir, "hierarchy.json")), mustRead(t, filepath.Join(dir, "again.json")); a != b {
		t.Error("the hierarchy of the page differs from that of the replayed log")
	}
}

// nameExtra gives a label another group, and its group another kind, undone and done again in between. done waits
// for an edit to be saved.
func (b *page) nameExtra(done func()) {
	b.TB.Helper()
	b.Ctrl("k")
	b.take("railway bridge")
	b.at("the label's group", "bridge")
	extra := `[...document.querySelectorAll("#grid .card.at .extra")].map((e) => e.textContent).join()`
	for _, step := range []struct{ key, want string }{{"T", " + river"}, {"u", ""}, {"y", " + river"}} {
		switch step.key {
		case "T":
			b.Keys("T")
			b.take("river")
		case "u":
			b.Keys("u")
		default:
			b.Ctrl(step.key)
		}
		done()
		b.Until("its extra group", fmt.Sprintf("%s === %q", extra, step.want))
	}
	b.Readable("light-1280-extra")
	b.Focus("#tree")
	b.Keys("T")
	b.take("natural")
	done()
	b.Until("another kind in the head", `document.querySelector("#head h2 .kind").textContent === "human-made · also natural"`)
}

func mustRead(t testing.TB, path string) string {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return string(data)
}
