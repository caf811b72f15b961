//go:build browser

package main

import (
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/internal/atomicfile"
	"hgld/internal/sketch"
	"hgld/labels"
)

// audit lists what of the page is hard to read: text with less contrast than WCAG
// 2.2 AA asks for (4.5:1; 3:1 where it is large), buttons and headings that are cut
// off, and what reaches out of the window sideways.
const audit = `(() => {
	const bad = [], wide = document.documentElement.clientWidth;
	const rgba = (c) => { const m = c.match(/[\d.]+/g).map(Number); return [m[0], m[1], m[2], m.length > 3 ? m[3] : 1]; };
	const over = (a, b) => a.slice(0, 3).map((x, i) => x * a[3] + b[i] * (1 - a[3])).concat(1);
	const light = (c) => { const [r, g, b] = c.map((x) => (x /= 255) <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const ground = (e) => { const layers = []; for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); layers.push(c); if (c[3] === 1) break; } return layers.reverse().reduce((b, c) => over(c, b), [255, 255, 255, 1]); };
	const open = document.querySelector("dialog[open]");
	for (const e of (open || document.body).querySelectorAll("*")) {
		const box = e.getBoundingClientRect();
		if (!e.checkVisibility({opacityProperty: true}) || !box.width || box.bottom < 0 || box.top > innerHeight || e.closest("noscript")) continue;
		const name = e.tagName + "." + e.className + " " + e.textContent.slice(0, 40);
		if (/^(BUTTON|H1|H2|H3|SELECT|INPUT|DT|TH)$/.test(e.tagName) && (box.left < -1 || box.right > wide + 1 || (e.tagName !== "INPUT" && e.scrollWidth > e.clientWidth + 1))) bad.push("cut off: " + name);
		if (![...e.childNodes].some((c) => c.nodeType === 3 && c.data.trim()) || e.closest(":disabled") || e.closest(".stale")) continue;
		const style = getComputedStyle(e), under = ground(e);
		const a = light(over(rgba(style.color), under)), b = light(under);
		const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size = parseFloat(style.fontSize);
		if (contrast < (size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5)) bad.push("contrast " + contrast.toFixed(2) + ": " + name);
	}
	if (document.documentElement.scrollWidth > wide) bad.push("the window scrolls sideways");
	return bad;
})()`

// readable checks what is on the screen, by audit and by axe, and takes a picture
// of it.
func (b *browser) readable(name string) {
	b.t.Helper()
	for _, what := range eval[[]string](b, audit) {
		b.t.Errorf("%s: %s", name, what)
	}
	if !strings.Contains(name, "-1920-") { // the same elements as at 1280
		b.accessible(name)
	}
	b.shot(name)
}

// realProject is a draft of labels of Wikimedia Commons, with a picture for every
// landmark that carries one.
func realProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	tags := strings.Builder{}
	tags.WriteString(`{"hgld_tags":1}` + "\n")
	for i, r := range realRecords(t) {
		if i%100 == 0 && r.Outcome == labels.OK { // a name whose white space cannot be seen
			r.Tag += " "
		}
		fmt.Fprintf(&tags, `{"landmark_id":%d,"split":%q,"category":%s,"outcome":%q,"tag":%s}`+"\n", r.Landmark, r.Split,
			quoteJSON(t, r.Category), r.Outcome, quoteJSON(t, r.Tag))
		writePicture(t, filepath.Join(dir, "images", fmt.Sprint(r.Landmark), "1.png"), i)
	}
	if err := os.WriteFile(filepath.Join(dir, "tags.jsonl"), []byte(tags.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	runHgld(t, dir, "cluster", "run", "--encoder", "hashing", "--k", "30", "--quiet")
	return dir
}

func writePicture(t testing.TB, path string, seed int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.Write(path, func(w io.Writer) error {
		return png.Encode(w,
			sketch.Picture(seed%len(sketch.Forms), seed, 0, 76))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every screen and every dialog can be read, in both schemes and at the sizes that
// people have; a narrow window and one at 200 % lose nothing.
func TestBrowserShowsEveryScreenReadably(t *testing.T) {
	dir := realProject(t)
	for _, dark := range []bool{false, true} {
		scheme := map[bool]string{false: "light", true: "dark"}[dark]
		s := serveIn(t, dir, "--port", freePort(t), "--by", "Anna", "--log", scheme+".jsonl", "--images", "images")
		b := newBrowser(t, 1280, 800, dark)
		b.open(s.url)
		b.until("the welcome", `document.querySelector("dialog[open]")`)
		b.readable(scheme + "-1280-welcome")
		b.keys(kb.Escape, "a")
		b.saved(1)
		for i, e := range []struct{ key, text string }{{"x", "too generic"}, {"f", "is this a place?"},
			{"t", "see the talk page"}, {"p", "human-made"}} {
			b.keys("l", e.key)
			b.take(e.text)
			b.saved(i + 2)
		}
		b.run(evaluateVoid(`location.hash = "#group/museum"`))
		b.until("the museums", `document.querySelector("#head h2 .name").textContent === "museum"`)
		for _, size := range [][2]int64{{1280, 800}, {1920, 1080}} {
			b.run(chromedp.EmulateViewport(size[0], size[1]))
			b.visitScreens(fmt.Sprintf("%s-%d", scheme, size[0]))
		}
		b.run(chromedp.EmulateViewport(320, 640))
		b.readable(scheme + "-320-group")
		b.keys("m")
		b.until("a dialog", `document.querySelector("dialog[open]")`)
		b.readable(scheme + "-320-move")
		b.keys(kb.Escape)
		b.run(chromedp.EmulateViewport(1280/2, 800/2, chromedp.EmulateScale(2)))
		b.readable(scheme + "-zoom200")
		b.run(chromedp.EmulateViewport(1280, 800))
		s.kill()
		b.until("the alarm", `!document.getElementById("alarm").hidden`)
		b.keys("m")
		b.take("church")
		b.until("it waits", `document.getElementById("saved").textContent === "NOT SAVED: 1 edit"`)
		b.readable(scheme + "-1280-gone")
		b.clean()
	}
}

// visitScreens goes through all screens and dialogs by the keyboard.
func (b *browser) visitScreens(prefix string) {
	b.t.Helper()
	b.keys("k", "j", "l", " ", "l", " ")
	b.until("suggestions", `document.querySelectorAll(".near:not(.stale) .suggestion").length === 5`)
	b.readable(prefix + "-group")
	b.keys(kb.Escape, kb.Home, "i")
	b.until("images", `document.querySelector(".pictures img")?.complete`)
	b.readable(prefix + "-images")
	b.keys("c")
	b.until("close by", `document.querySelector("#head h2").textContent.startsWith("Close to")`)
	b.readable(prefix + "-near")
	b.keys("/", "church", kb.Enter)
	b.ctrl("a")
	b.until("found and marked", `document.querySelector(".marks")`)
	b.readable(prefix + "-search")
	for _, d := range []struct{ key, name string }{{"m", "move"}, {"n", "new"}, {"x", "drop"}, {"f", "flag"},
		{"t", "note"}} {
		b.dialog(d.key, prefix+"-"+d.name)
	}
	b.keys(kb.Escape, kb.Escape)
	for _, d := range []struct{ key, name string }{{"r", "rename"}, {"g", "merge"}, {"s", "divide"}, {"p", "kind"},
		{"N", "declare"}, {"e", "history"}, {"w", "write"}, {"?", "help"}} {
		b.dialog(d.key, prefix+"-"+d.name)
	}
	for _, menu := range []string{"Labels", "Group"} {
		b.run(chromedp.Focus(chromedp.CSS(`[data-menu="` + menu + `"]`)))
		b.keys(kb.Enter)
		b.until("the menu", `document.activeElement.getAttribute("role") === "menuitem"`)
		b.keys(kb.ArrowDown)
		b.readable(prefix + "-menu-" + strings.ToLower(menu))
		b.keys(kb.Escape)
		b.until("the focus is back", `document.activeElement.dataset.menu === "`+menu+`"`)
	}
	for _, view := range []string{"dropped", "flagged"} {
		b.run(chromedp.Click(chromedp.CSS(`[data-view="` + view + `"]`)))
		b.until("one label", `document.querySelectorAll("#grid .card").length === 1`)
		b.readable(prefix + "-" + view)
	}
	b.keys("v")
	b.until("the map", `document.querySelector("#mapbox p[role=status]").textContent.includes("labels;")`)
	b.run(chromedp.Func(dragAround))
	b.until("marked by the lasso", `document.querySelector(".marks")`)
	b.readable(prefix + "-map")
	b.keys(kb.Escape, kb.Escape)
	b.run(chromedp.Focus(chromedp.CSS("#tree")))
	b.keys(kb.Home, kb.ArrowDown, " ", kb.ArrowDown, " ", kb.ArrowDown)
	b.readable(prefix + "-tree")
	b.keys(kb.Escape)
	b.run(chromedp.Focus(chromedp.CSS("#grid")))
	b.keys("i") // no images again
}

// dialog opens a dialog by its key, looks at it, leaves it, and finds the focus where
// it was.
func (b *browser) dialog(key, name string) {
	b.t.Helper()
	before := eval[string](b, `document.activeElement.id`)
	b.keys(key)
	b.until("the dialog", `document.querySelector("dialog[open] button, dialog[open] .choice") && !/dividing…/.test(document.querySelector("dialog[open]").textContent)`)
	b.readable(name)
	b.keys(kb.Escape)
	b.until("the dialog is closed", `!document.querySelector("dialog[open]")`)
	if after := eval[string](b, `document.activeElement.id`); after != before {
		b.t.Errorf("%s: the focus was on %q and is on %q", name, before, after)
	}
}
