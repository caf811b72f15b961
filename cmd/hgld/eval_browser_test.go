//go:build browser

package main

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/browser"
	"hgld/internal/testing/must"
	"hgld/internal/testing/program"
)

// drawnEvaluation writes 48 small images of 12 classes in 3 groups, and two files with vectors of
// them, a.npy and b.npy, with their labels.
func drawnEvaluation(t *testing.T) string {
	t.Helper()
	const n, cols = 48, 6
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "photos"), 0o755))
	r := rand.New(rand.NewPCG(5, 5))
	table := "id,plant,family,kind\n"
	values := [2][]float32{}
	for i := range n {
		class := i % 12
		table += fmt.Sprintf("%02d.png,plant %d,family %d,kind %d\n", i, class, class%6, class%3)
		picture := image.NewRGBA(image.Rect(0, 0, 40, 40))
		for k := range 1600 {
			picture.Set(k%40, k/40, color.RGBA{uint8(20 * class), uint8(60 * (class % 3)), uint8(3 * (k % 40)), 255})
		}
		f := must.Get(os.Create(filepath.Join(dir, "photos", fmt.Sprintf("%02d.png", i))))(t)
		must.Do(t, png.Encode(f, picture))
		must.Do(t, f.Close())
		for of := range values {
			for k := range cols {
				x := 1.2 * float32(r.NormFloat64())
				if k == class%3 || k == 3+class%2+of%2 {
					x++
				}
				values[of] = append(values[of], x)
			}
		}
	}
	for of, name := range []string{"a", "b"} {
		f := must.Get(os.Create(filepath.Join(dir, name+".npy")))(t)
		must.Do(t, tensorfile.WriteNPY(f, tensorfile.NewF32("", []int{n, cols}, values[of])))
		must.Do(t, f.Close())
		must.Do(t, os.WriteFile(filepath.Join(dir, name+".csv"), []byte(table), 0o644))
	}
	return dir
}

// The pages of eval run, eval compare and search violate no rule of axe and no contrast limit of
// WCAG, in both colour schemes, wide and narrow. No page is wider than the window.
func TestBrowserEvaluationPagesAreReadable(t *testing.T) {
	dir := drawnEvaluation(t)
	program.Run(t, dir, "eval", "run", "--embeddings", "a.npy", "--report", "eval.html", "--images", "photos")
	program.Run(t, dir, "eval", "run", "--embeddings", "a.npy", "--export", "left")
	program.Run(t, dir, "eval", "run", "--embeddings", "b.npy", "--export", "right")
	program.Run(t, dir, "eval", "compare", "--report", "compare.html", "--images", "photos", "left.json", "right.json")
	program.Run(t, dir, "search", "--index", "a.npy", "--id", "07.png", "--report", "search.html", "--images", "photos")
	judgements := ""
	for i := range 48 {
		for k := range 48 {
			if k != i && k%12 == i%12 {
				judgements += fmt.Sprintf("%02d.png 0 %02d.png 1\n", i, k)
			}
		}
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "right.qrels"), []byte(judgements), 0o644))
	program.Run(t, dir, "eval", "run", "--embeddings", "a.npy", "--qrels", "right.qrels", "--report", "judged.html",
		"--images", "photos")
	must.Do(t, os.WriteFile(filepath.Join(dir, "gnd.json"), []byte(boxedTruth()), 0o644))
	program.Run(t, dir, "eval", "run", "--embeddings", "a.npy", "--qrels", "gnd.json", "-o", "qrels_usage=easy",
		"--report", "boxed.html", "--images", "photos")
	for _, page := range []string{"eval", "compare", "search", "judged", "boxed"} {
		for _, width := range []int{1280, 390} {
			for _, dark := range []bool{false, true} {
				name := fmt.Sprintf("evaluation-%s-%d-dark-%v", page, width, dark)
				b := browser.New(t, width, 1000, dark)
				b.Run(chromedp.Navigate("file://" + filepath.Join(dir, page+".html")))
				b.Until("the page is there", `document.readyState === "complete" && document.body.dataset.ready`)
				if asks := browser.Eval[bool](b, `document.getElementById("class").offsetWidth > 0`); asks == (page == "judged" || page == "boxed") {
					t.Errorf("%s: asks for a class: %v", name, asks)
				}
				if width > 1000 {
					b.Readable(name)
				} else { // tables scroll in their own boxes, so that the audit would call headings cut off
					b.Accessible(name)
					b.Shot(name)
				}
				b.Exec(`scrollTo(0, document.body.scrollHeight)`)
				b.Shot(name + "-end")
				b.Focus("#queries")
				b.Keys(kb.ArrowRight, kb.Enter)
				b.Until("the picture is large", `document.getElementById("view").open`)
				b.Accessible(name + "-large")
				b.Shot(name + "-large")
				if framed := browser.Eval[bool](b, queryIsFramed); framed != (page == "boxed") {
					t.Errorf("%s: the picture of the query has the frame of a box: %v", name, framed)
				}
				if page == "boxed" && !browser.Eval[bool](b, onlyQueriesHaveBoxes) {
					t.Errorf("%s: a query has no box, or an item of the gallery has one", name)
				}
				b.Keys(kb.ArrowLeft)
				if text := b.Text("#shown"); strings.Contains(text, "8, 6, 30, 34") != (page == "boxed") {
					t.Errorf("%s: the facts of the query are %q", name, text)
				}
				b.Keys(kb.Escape)
				if over := browser.Eval[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
					t.Errorf("%s: %d pixels wider than the window", name, over)
				}
				if broken := browser.Eval[int](b, `[...document.images].filter(i => i.complete && !i.naturalWidth).length`); broken > 0 {
					t.Errorf("%s: %d pictures are not shown", name, broken)
				}
			}
		}
	}
	for _, page := range []string{"eval", "compare", "search"} {
		if text, err := os.ReadFile(filepath.Join(dir, page+".html")); err != nil ||
			!strings.Contains(string(text), "data:image/jpeg") {
			t.Errorf("%s has no pictures: %v", page, err)
		}
	}
}

// boxedTruth is a ground truth in the form of Revisited Oxford for the images of drawnEvaluation: a query is the same
// box of each image.
func boxedTruth() string {
	var names, truths []string
	for i := range 48 {
		names = append(names, fmt.Sprintf("%q", fmt.Sprintf("%02d", i)))
		truths = append(truths, fmt.Sprintf(`{"bbx": [8, 6, 30, 34], "easy": [%d, %d], "hard": [], "junk": [%d]}`,
			(i+12)%48, (i+24)%48, i))
	}
	list := strings.Join(names, ", ")
	return fmt.Sprintf(`{"imlist": [%s], "qimlist": [%[1]s], "gnd": [%s]}`, list, strings.Join(truths, ", "))
}

// queryIsFramed tells whether the large picture of the query has the yellow of the frame, 255, 214, 0 before JPEG, at
// the left edge of the box of boxedTruth.
const queryIsFramed = `(() => {
	const image = document.querySelector("#view img"), canvas = document.createElement("canvas");
	[canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
	const drawing = canvas.getContext("2d");
	drawing.drawImage(image, 0, 0);
	const [r, g, b] = drawing.getImageData(10, 20, 1, 1).data;
	return r > 200 && g > 160 && b < 100;
})()`

// onlyQueriesHaveBoxes tells whether every query is a box and no place of a ranking is, though the images are equal.
const onlyQueriesHaveBoxes = `(() => {
	const {items, queries} = JSON.parse(document.getElementById("data").textContent);
	return queries.length === 48 && queries.every((q) => items[q.item].box && q.found.flat().every((i) => !items[i].box));
})()`

// The list holds 10,000 queries, and the page stays one file without pictures; the test logs how long keys take. A
// search leaves the map as it is, and finds the same after shorter and longer texts.
func TestBrowserEvaluationHolds10000Queries(t *testing.T) {
	const n, cols = 10000, 8
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(7, 7))
	values, table := make([]float32, 0, n*cols), "id,plant,kind\n"
	for i := range n {
		class := i % 500
		table += fmt.Sprintf("%05d,plant %d,kind %d\n", i, class, class%9)
		for k := range cols {
			values = append(values, float32(r.NormFloat64())+float32((class>>k)&1))
		}
	}
	f := must.Get(os.Create(filepath.Join(dir, "v.npy")))(t)
	must.Do(t, tensorfile.WriteNPY(f, tensorfile.NewF32("", []int{n, cols}, values)))
	must.Do(t, f.Close())
	must.Do(t, os.WriteFile(filepath.Join(dir, "v.csv"), []byte(table), 0o644))
	program.Run(t, dir, "eval", "run", "--embeddings", "v.npy", "--report", "eval.html", "-o", "intervals=false")
	b := browser.New(t, 1280, 1000, false)
	b.Open("file://" + filepath.Join(dir, "eval.html"))
	if listed := browser.Eval[int](b, queriesListed); listed != n {
		t.Fatalf("%d queries are listed", listed)
	}
	b.Focus("#queries")
	b.Keys(kb.End)
	b.Until("the last query is in sight", fmt.Sprintf(`document.querySelector("#current")?.closest(".line").getAttribute("aria-rowindex") === "%d"`, n))
	draws := `Number(document.querySelector("#mapbox canvas").dataset.draws)`
	drawn := browser.Eval[int](b, draws)
	measured := chromedp.Evaluate[map[string][]float64](keyTimes, chromedp.EvalAwaitPromise)
	for what, times := range browser.Evaluated(b, measured) {
		slices.Sort(times)
		t.Logf("%s of 10,000 queries: median %.1f ms, most %.1f ms", what, times[len(times)/2], times[len(times)-1])
	}
	b.Until("a search leaves 11 classes of 20", queriesListed+" === 220")
	for _, c := range []struct {
		id, value string
		want      int
	}{
		{"search", "plant 4", 2220}, {"search", "plant 49", 220}, {"search", "kind 3", 1120}, {"search", "kind", n},
		{"class", "plant 7", 20}, {"search", "kind 7", 20}, {"class", "", 1100}, {"search", "", n},
	} {
		b.Exec(fmt.Sprintf(`{ const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event("input")); }`,
			c.id, c.value))
		if listed := browser.Eval[int](b, queriesListed); listed != c.want {
			t.Errorf("%s %q leaves %d queries, want %d", c.id, c.value, listed, c.want)
		}
	}
	if now := browser.Eval[int](b, draws); now != drawn {
		t.Errorf("the map was drawn %d times, and %d times after searches", drawn, now)
	}
	b.Exec(`{ const e = document.getElementById("level"); e.value = 1; e.dispatchEvent(new Event("change")); }`)
	b.Until("the map shows another level", fmt.Sprintf("%s > %d", draws, drawn))
}

// keyTimes moves through the list, then searches, letter by letter. It measures the time until the next frame is drawn.
const keyTimes = `(async () => {
	const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
	const grid = document.getElementById("queries"), box = document.getElementById("search"), out = {moves: [], letters: []};
	const timed = async (list, act) => { const from = performance.now(); act(); await frame(); list.push(performance.now() - from); };
	for (let i = 0; i < 60; i++) {
		const key = ["PageUp", "ArrowRight", "ArrowUp", "PageUp", "x"][i % 5];
		await timed(out.moves, () => grid.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true})));
	}
	for (const text of ["p", "pl", "pla", "plan", "plant", "plant ", "plant 4", "plant 49"]) {
		await timed(out.letters, () => { box.value = text; box.dispatchEvent(new Event("input")); });
	}
	return out;
})()`

// queriesListed is the number of queries that the page lists, and said what it says of them.
const (
	queriesListed = `Number(document.getElementById("queries").getAttribute("aria-rowcount"))`
	said          = `document.getElementById("said").textContent`
)

// By keyboard alone: the filters, the cursor, a large picture with its file, suspected labels, and their file, which
// shards build --exclude and --labels read.
func TestBrowserEvaluationIsFilteredAndMarkedByKeyboard(t *testing.T) {
	dir := drawnEvaluation(t)
	program.Run(t, dir, "eval", "run", "--embeddings", "a.npy", "--report", "eval.html", "--images", "photos")
	b := browser.New(t, 1280, 1000, false)
	b.Open("file://" + filepath.Join(dir, "eval.html"))
	choose := func(id, value string) {
		b.Exec(fmt.Sprintf(`{ const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event("change")); }`, id, value))
	}
	values := `[...document.querySelectorAll(".line .head strong")].map((e) => Number(e.textContent))`
	if list := browser.Eval[[]float64](b, values); len(list) < 4 || !slices.IsSorted(list) {
		t.Errorf("the list begins with %v, want the worst first", list)
	}
	choose("kind", "wrong")
	wrong := browser.Eval[int](b, queriesListed)
	choose("kind", "right")
	if right := browser.Eval[int](b, queriesListed); wrong == 0 || right == 0 || wrong+right != 48 {
		t.Errorf("%d queries with a wrong first place and %d with a right one, of 48", wrong, right)
	}
	choose("level", "2")
	if coarse := browser.Eval[int](b, queriesListed); coarse <= 48-wrong {
		t.Errorf("%d first places are right at the coarsest level, %d at the finest", coarse, 48-wrong)
	}
	choose("kind", "all")
	choose("level", "0")
	b.Keys("/")
	b.Keys("07.png")
	b.Until("one query is found", queriesListed+" === 1")
	b.Exec(`{ const e = document.getElementById("search"); e.value = ""; e.dispatchEvent(new Event("input")); }`)
	b.Focus("#class")
	b.Keys("plant 3")
	b.Until("a class has its queries", queriesListed+" === 4")
	b.Exec(`{ const e = document.getElementById("class"); e.value = ""; e.dispatchEvent(new Event("input")); }`)

	b.Focus("#queries")
	b.Keys(kb.ArrowDown, kb.ArrowRight, kb.ArrowRight, kb.Enter)
	if text := b.Text("#shown"); !strings.Contains(text, "Place 2") || !strings.Contains(text, ".png") ||
		!strings.Contains(text, "plant ") || browser.Eval[int](b, `document.querySelectorAll("#shown img").length`) != 2 {
		t.Errorf("the large picture says %q", text)
	}
	b.Keys("x", kb.ArrowLeft, "x", kb.Escape)
	b.Until("two labels are suspected", said+`.includes("2 labels suspected")`)
	b.Reload()
	b.Until("they are kept", said+`.includes("2 labels suspected")`)
	b.Exec(`window.saved = ""; { const made = URL.createObjectURL; URL.createObjectURL = (b) => { b.text().then((t) => { window.saved = t; }); return made.call(URL, b); }; }`)
	b.Click("#save")
	b.Until("the list is saved", `window.saved.split("\n").length === 4`)
	text := browser.Eval[string](b, `window.saved`)
	if !strings.HasPrefix(text, "id,plant,family,kind\n") {
		t.Fatalf("the list is %q", text)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "suspects.csv"), []byte(text), 0o644))
	table := []string{"shards", "build", "-o", "columns.path=id", "--images", "photos", "--levels", "plant,family,kind"}
	for args, want := range map[string]string{"--input a.csv --exclude suspects.csv --out clean": "46 images",
		"--input suspects.csv --out suspected": "2 images"} {
		if out := program.Run(t, dir, append(table, strings.Fields(args)...)...); !strings.Contains(out, want) {
			t.Errorf("%s: %s, want %s", args, out, want)
		}
	}
}
