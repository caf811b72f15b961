//go:build browser

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
	"hgld/internal/atomicfile"
	"hgld/labels"
)

// longName is a name of n letters, some words of which are long.
func longName(what string, n int) string {
	return (strings.Repeat(what+" of the "+strings.Repeat("very", 6)+"long administrative subdivision, ", n) + what)[:n]
}

// writeCuration writes a draft and a log of edits by a curator.
func writeCuration(t testing.TB, dir string, d *labels.Draft, log string, edits ...curate.Edit) {
	t.Helper()
	draft := filepath.Join(dir, "draft.json")
	if err := atomicfile.Write(draft, func(w io.Writer) error { return labels.WriteDraft(w, d) }); err != nil {
		t.Fatal(err)
	}
	sum, err := sha256File(draft)
	if err != nil {
		t.Fatal(err)
	}
	by := strings.TrimSuffix(log, ".jsonl")
	if err := curate.CreateLog(filepath.Join(dir, log),
		curate.Header{By: by, Draft: "draft.json", DraftSHA256: sum}); err != nil {
		t.Fatal(err)
	}
	l, _, err := curate.OpenLog(filepath.Join(dir, log))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	session, err := curate.NewSession(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		e.Base, e.By = session.Version(), by
		if _, err := session.Apply(e, l.Append); err != nil {
			t.Fatal(err)
		}
	}
}

// overflowing lists elements whose content is larger than they are.
const overflowing = `((what) => [...document.querySelectorAll(what)].filter((e) => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1).map((e) => e.className + " " + e.textContent.slice(0, 60)))`

// Long names are read whole: the choices of an adjudicator, and the history, whose
// buttons stay on one line; headings stand over what they head.
func TestBrowserShowsLongNamesWhole(t *testing.T) {
	dir := t.TempDir()
	d := &labels.Draft{Version: labels.DraftVersion, Clusters: []labels.Cluster{{Name: "all"}}}
	var refs []curate.Ref
	for i, what := range []string{"palace", "fortress", "lake", "bridge"} {
		d.Tags = append(d.Tags, labels.DraftTag{Tag: labels.Tag{Name: longName(what, 40*(i+1))}, Landmarks: 5 - i})
		d.Clusters[0].Members = append(d.Clusters[0].Members, labels.Member{Tag: i})
		refs = append(refs, curate.Ref{Name: d.Tags[i].Name})
	}
	move := func(i int, to string) curate.Edit { return curate.Edit{Op: curate.Move, From: refs[i : i+1], To: to} }
	writeCuration(t, dir, d, "anna.jsonl", move(0, "short"), move(1, longName("castle", 150)), move(2, "lake"),
		move(3, strings.Repeat("unbroken", 20)))
	writeCuration(t, dir, d, "ben.jsonl", move(0, longName("house", 120)), move(1, "fort"), move(2, "lake"),
		move(3, "bridge"))
	s := serveIn(t, dir, "--port", freePort(t), "--adjudicate", "anna.jsonl", "--adjudicate", "ben.jsonl", "--log",
		"third.jsonl", "--by", "Chris")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	b.until("three differences", `document.querySelectorAll(".duel").length === 3`)
	for _, width := range []int64{1280, 1920, 320} {
		b.run(chromedp.EmulateViewport(width, 800))
		b.until("drawn", fmt.Sprintf(`innerWidth === %d`, width))
		b.run(chromedp.Evaluate[chromedp.Void](`document.querySelector("#grid").scrollTop = 0`))
		if width != 320 { // on a phone the longest are read in the panel
			for _, what := range eval[[]string](b, overflowing+`(".duel, .duel .side, .duel .label")`) {
				t.Errorf("%d: cut off: %s", width, what)
			}
		}
		b.readable(fmt.Sprintf("light-%d-review-long", width))
	}
	b.run(chromedp.EmulateViewport(1280, 800))
	b.until("the panel has the whole names",
		fmt.Sprintf(`document.querySelector("#side").textContent.includes(%q)`, longName("house", 120)))
	b.run(chromedp.Click(chromedp.CSS("#side button")))
	b.until("the agreement", `document.querySelector("dialog[open] th")`)
	if off := eval[[]string](b, `[...document.querySelectorAll("dialog table")].flatMap((t) => [...t.querySelectorAll("th")].filter((th, n) => getComputedStyle(th).textAlign.replace("start", "left") !== getComputedStyle(t.querySelectorAll("tbody tr:first-child td")[n]).textAlign.replace("start", "left"))).map((e) => e.textContent)`); len(off) > 0 {
		t.Errorf("headings that do not stand over their columns: %q", off)
	}
	b.readable("light-1280-agreement-long")
	b.keys(kb.Escape, "1")
	b.saved(1)
	b.keys("2")
	b.saved(2)
	b.keys("e")
	b.until("the history", `document.querySelectorAll("dialog[open] td button").length === 2`)
	if tall := eval[[]float64](b, `[...document.querySelectorAll("dialog td button, dialog td:nth-child(2)")].map((e) => e.getClientRects().length + (e.offsetHeight > 60 && e.tagName === "BUTTON" ? 9 : 0))`); fmt.Sprint(tall) != "[1 1 1 1]" {
		t.Errorf("buttons and times of the history are broken: %v", tall)
	}
	for _, what := range eval[[]string](b, overflowing+`("dialog td, dialog table")`) {
		t.Errorf("history: cut off: %s", what)
	}
	b.readable("light-1280-history-long")
	b.clean()
}

// Three pictures of a landmark fit the panel, follow the keyboard from label to
// label, and are never those of another one.
func TestBrowserShowsPicturesThatFit(t *testing.T) {
	dir := smallProject(t)
	for landmark := 1; landmark < 400; landmark++ {
		for n := range 3 {
			writePicture(t, filepath.Join(dir, "images", fmt.Sprint(landmark), fmt.Sprintf("%d.png", n)), landmark+n)
		}
	}
	s := serveIn(t, dir, "--port", "0", "--by", "Anna", "--images", "images")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, "i")
	const shown = `document.querySelectorAll(".pictures img").length > 3 && [...document.querySelectorAll(".pictures img")].every((e) => e.complete || e.loading === "lazy")`
	b.until("images", shown)
	if out := eval[[]string](b, `(() => { const edge = document.querySelector("#side section").getBoundingClientRect().right; return [...document.querySelectorAll(".pictures img")].filter((e) => e.getBoundingClientRect().right > edge + 1).map((e) => e.src); })()`); len(out) > 0 {
		t.Errorf("%d pictures reach out of the panel", len(out))
	}
	first := eval[string](b, `document.querySelector(".pictures img").src`)
	b.run(evaluateVoid(`window.firstPicture = document.querySelector(".pictures img")`))
	b.keys("l")
	b.until("those of the next label", fmt.Sprintf(`document.querySelector(".pictures img").src !== %q`, first))
	if eval[bool](b, `window.firstPicture.isConnected`) {
		t.Error("the element of one label's picture was taken for another's: it shows the old one until the new one is there")
	}
	b.shot("light-pictures")
	b.keys("i")
	b.until("no images", `!document.querySelector(".pictures")`)
	b.clean()
}

// A row of a group has a small image of a landmark that carries its label, from the first
// moment on none of another label, and is no higher for it.
func TestBrowserRowsShowImagesOfTheirOwnLabels(t *testing.T) {
	dir := smallProject(t)
	f, err := os.Open(filepath.Join(dir, "tags.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, records, err := labels.ReadTags(f, f.Name())
	if err != nil {
		t.Fatal(err)
	}
	tagOf := map[string]string{}
	for _, r := range records {
		tagOf[fmt.Sprintf("%s-%d-0", r.Split, r.Landmark)] = r.Tag
		writePicture(t, filepath.Join(dir, "images", fmt.Sprint(r.Landmark), "0.png"), int(r.Landmark))
	}
	s := serveIn(t, dir, "--port", "0", "--by", "Anna", "--images", "images")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	const rows = `[...document.querySelectorAll("#grid .card")]`
	right := func() {
		t.Helper()
		for _, row := range eval[[][2]string](b, rows+`.map((e) => [e.title.split("\n")[0], decodeURIComponent(e.querySelector("img")?.src || "")])`) {
			if row[1] == "" {
				continue
			}
			name := strings.TrimSuffix(row[1][strings.LastIndex(row[1], "/")+1:], "?small")
			if tag := tagOf[name[32:]]; tag != row[0] {
				t.Errorf("the row of %q shows an image of %q", row[0], tag)
			}
		}
	}
	for group := range 8 {
		right()
		b.until("an image on each row", rows+`.length > 0 && `+rows+`.every((e) => e.querySelector(".thumbnail img")?.naturalHeight === 52)`)
		right()
		if group == 0 {
			b.readable("light-1280-thumbnails")
			if high := eval[int](b, rows+`[0].offsetHeight`); high != 28 {
				t.Errorf("a row with an image is %d pixels high, want 28 as without", high)
			}
		}
		b.run(evaluateVoid(`window.lastImage = document.querySelector("#grid .thumbnail img")`))
		b.keys("j")
		b.until("another group's rows", `!window.lastImage.isConnected`)
	}
	b.clean()
}

// What keeps a hierarchy from being written is told in the page's words, once, and
// the groups that lack a kind can be opened.
func TestBrowserSaysOnceWhyNothingIsWritten(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", "0", "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape, "w")
	b.until("nothing is decided", `document.querySelector("dialog[open] .body").innerText.trim() === "No label is decided yet: accept, move or drop some first."`)
	b.keys(kb.Escape)
	order := b.rows()
	b.keys("a")
	b.saved(1)
	b.keys("a")
	b.saved(2)
	b.keys("k", "p")
	b.take("natural")
	b.saved(3)
	b.keys("w")
	b.until("why not", `document.querySelector("dialog[open] h2").textContent === "Not written yet"`)
	text := b.text("dialog .body")
	if strings.Contains(text, "curate:") || strings.Contains(text, "level") || strings.Count(text, order[0]) != 1 {
		t.Errorf("the page says %q; want %q once, and no error of the program", text, order[0])
	}
	b.shot("light-not-written")
	b.run(chromedp.Click(chromedp.CSS("dialog .link")))
	b.at("the group without a kind", order[0])
	if _, err := os.Stat(filepath.Join(dir, "hierarchy.json")); err == nil {
		t.Error("hierarchy.json was written")
	}
	b.clean()
}
