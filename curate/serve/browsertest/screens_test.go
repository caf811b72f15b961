//go:build browser

package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/internal/testing/program"
	"hgld/internal/testing/tagdata"
	"hgld/labels"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// realProject is a draft of labels of Wikimedia Commons, with an image of every landmark that
// carries one.
func realProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	tags := strings.Builder{}
	tags.WriteString(`{"hgld_tags":1}` + "\n")
	for i, r := range tagdata.Records(t) {
		if i%100 == 0 && r.Outcome == labels.OK { // a name with white space at its end
			r.Tag += " "
		}
		fmt.Fprintf(&tags, `{"landmark_id":%d,"split":%q,"category":%s,"outcome":%q,"tag":%s}`+"\n", r.Landmark, r.Split,
			quoteJSON(t, r.Category), r.Outcome, quoteJSON(t, r.Tag))
		writePicture(t, filepath.Join(dir, "images", fmt.Sprint(r.Landmark), "1.png"), i)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "tags.jsonl"), []byte(tags.String()), 0o644))
	program.Run(t, dir, "cluster", "run", "--k", "30", "--quiet")
	return dir
}

// Every screen and every dialog is readable, in both colour schemes and at common sizes. Nothing
// is cut off in a narrow window or at 200 % zoom.
func TestEveryScreenIsReadable(t *testing.T) {
	dir := realProject(t)
	for _, dark := range []bool{false, true} {
		scheme := map[bool]string{false: "light", true: "dark"}[dark]
		s := startServer(t, dir, "--by", "Anna", "--log", scheme+".jsonl", "--images", "images")
		b := newPage(t, 1280, 800, dark)
		b.Open(s.url)
		b.Until("the welcome", `document.querySelector("dialog[open]")`)
		b.Readable(scheme + "-1280-welcome")
		b.Keys(kb.Escape, "a")
		b.saved(1)
		for i, e := range []struct{ key, text string }{{"x", "too generic"}, {"f", "is this a place?"},
			{"t", "see the talk page"}, {"p", "human-made"}} {
			b.Keys("l", e.key)
			b.take(e.text)
			b.saved(i + 2)
		}
		b.Exec(`location.hash = "#group/museum"`)
		b.at("the museums", "museum")
		sizes := [][2]int{{1280, 800}, {1920, 1080}}
		if dark {
			sizes = sizes[:1] // the schemes differ in colours, the sizes in places
		}
		for _, size := range sizes {
			b.Resize(size[0], size[1])
			b.visitScreens(fmt.Sprintf("%s-%d", scheme, size[0]))
		}
		b.Resize(320, 640)
		b.Readable(scheme + "-320-group")
		for _, d := range []struct{ key, name string }{{"m", "move"}, {"e", "history"}, {"E", "statistics"}} {
			b.dialog(d.key, scheme+"-320-"+d.name)
		}
		b.Run(chromedp.EmulateViewport(1280/2, 800/2, chromedp.EmulateScale(2)))
		b.Readable(scheme + "-zoom200")
		b.Resize(1280, 800)
		s.kill()
		b.alarms("server is gone")
		b.moveTo("church")
		b.unsaved(1)
		b.Readable(scheme + "-1280-gone")
	}
}

// visitScreens goes through all screens and dialogs by the keyboard.
func (b *page) visitScreens(prefix string) {
	b.TB.Helper()
	b.Keys("k", "j", "l", " ", "l", " ")
	b.Until("suggestions", `document.querySelectorAll(".near:not(.stale) .suggestion").length === 5`)
	b.Readable(prefix + "-group")
	b.Keys(kb.Escape, kb.Home, "i")
	b.Until("images", `document.querySelector(".pictures img")?.complete`)
	b.Readable(prefix + "-images")
	b.Keys("c")
	b.Until("close by", `document.querySelector("#head h2").textContent.startsWith("Near")`)
	b.Readable(prefix + "-near")
	b.Keys("/", "church", kb.Enter)
	b.Ctrl("a")
	b.Until("found and marked", `document.querySelector(".marks")`)
	b.Readable(prefix + "-search")
	for _, d := range []struct{ key, name string }{{"m", "move"}, {"n", "new"}, {"X", "drop"}, {"f", "flag"},
		{"t", "note"}} {
		b.dialog(d.key, prefix+"-"+d.name)
	}
	b.Keys(kb.Escape, kb.Escape)
	for _, d := range []struct{ key, name string }{{"r", "rename"}, {"g", "merge"}, {"s", "split"}, {"p", "kind"},
		{"N", "declare"}, {"e", "history"}, {"E", "statistics"}, {"w", "write"}, {"?", "help"}} {
		b.dialog(d.key, prefix+"-"+d.name)
	}
	for _, menu := range []string{"Tags", "Group", "More"} {
		b.Focus(`[data-menu="` + menu + `"]`)
		b.Keys(kb.Enter)
		b.Until("the menu", `document.activeElement.getAttribute("role") === "menuitem"`)
		b.Keys(kb.ArrowDown)
		b.Readable(prefix + "-menu-" + strings.ToLower(menu))
		b.Keys(kb.Escape)
		b.Until("the focus is back", `document.activeElement.dataset.menu === "`+menu+`"`)
	}
	for _, view := range []string{"dropped", "flagged"} {
		b.screen(view)
		b.Until("one label", `document.querySelectorAll("#grid .card").length === 1`)
		b.Readable(prefix + "-" + view)
	}
	b.Keys("v")
	b.Until("the map", `document.querySelector("#mapbox p[role=status]").textContent.includes("tags;")`)
	b.lasso()
	b.Readable(prefix + "-map")
	b.Keys(kb.Escape, kb.Escape)
	b.Focus("#tree")
	b.Keys(kb.Home, kb.ArrowDown, " ", kb.ArrowDown, " ", kb.ArrowDown)
	b.Readable(prefix + "-tree")
	b.Keys(kb.Escape)
	b.Focus("#grid")
	b.Keys("i") // no images again
}

// dialog opens a dialog by its key, checks it and closes it. The focus must then be where it was.
func (b *page) dialog(key, name string) {
	b.TB.Helper()
	before := eval[string](b, `document.activeElement.id`)
	b.Keys(key)
	b.Until("the dialog", `document.querySelector("dialog[open] button, dialog[open] .choice") && !/splitting…/.test(document.querySelector("dialog[open]").textContent)`)
	b.Readable(name)
	b.Keys(kb.Escape)
	b.Until("the dialog is closed", `!document.querySelector("dialog[open]")`)
	if after := eval[string](b, `document.activeElement.id`); after != before {
		b.TB.Errorf("%s: the focus was on %q and is on %q", name, before, after)
	}
}
