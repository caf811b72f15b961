//go:build browser

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/internal/testing/goldens"
)

// clusterPage makes the page of `hgld cluster report` for tags of these names and
// returns its address.
func clusterPage(t *testing.T, names []string, k int) string {
	t.Helper()
	dir := t.TempDir()
	writeTags(t, filepath.Join(dir, "tags.jsonl"), names)
	runHgld(t, dir, "cluster", "run", "--encoder", "hashing", "--k", strconv.Itoa(k), "--n-init", "1", "--max-iter", "5",
		"--quiet")
	runHgld(t, dir, "cluster", "report", "--map", "pca", "--quiet")
	return "file://" + filepath.Join(dir, "clusters.html")
}

func plainNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("tag %d", i))
	}
	return names
}

// Every name goes through the tooltip, the lists, the open cluster and the search,
// and none runs: no dialog, no error, nothing for the content policy to refuse. As
// markup the same names do run, so the test would see it.
func TestBrowserMapRunsNoTag(t *testing.T) {
	var names []string
	goldens.ReadJSON(t, filepath.Join(goldens.Root(), "cluster", "report", "testdata", "attacks.json"), &names)
	b := newBrowser(t, 1280, 900, false)
	b.open(clusterPage(t, names, 12))
	for id := range 12 {
		b.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = "#cluster-%d"`, id)))
		b.until("the cluster is open", `document.querySelectorAll("#detail [data-tag]").length > 0`)
		b.run(chromedp.Focus("#map"))
		b.keys(kb.ArrowRight, "n", "p", kb.ArrowUp)
	}
	for _, name := range names {
		text, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		b.run(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`{ const s = document.getElementById("search"); s.value = %s; s.dispatchEvent(new Event("input")); }`, text)))
		b.until("the tag is found", `document.querySelectorAll("#found [data-tag]").length > 0`)
		b.run(chromedp.Evaluate[chromedp.Void](`document.getElementById("found").replaceChildren()`))
	}
	b.clean()

	naive := filepath.Join(t.TempDir(), "naive.html")
	text := "<!DOCTYPE html><body data-ready=yes><script>window.ran = 0; function hgldRan() { window.ran++; }</script>\n" +
		strings.Join(names[10:20], "\n")
	if err := os.WriteFile(naive, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	b.open("file://" + naive)
	b.until("names run as markup", "window.ran > 0")
}

func TestBrowserMapIsReadByKeyboard(t *testing.T) {
	b := newBrowser(t, 1280, 900, false)
	url := clusterPage(t, plainNames(60), 6)
	b.open(url)
	b.run(chromedp.Focus("#map"))
	b.keys(kb.ArrowRight)
	first := eval[string](b, `document.getElementById("said").textContent`)
	for _, want := range []string{"tag ", "; cluster ", "; distance 0.", " landmark"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first tag is announced as %q, without %q", first, want)
		}
	}
	name, _, _ := strings.Cut(first, ";")
	if tip := b.text("#tip"); !strings.HasPrefix(tip, name) {
		t.Errorf("the tooltip says %q, the announcement %q", tip, first)
	}
	b.keys("n")
	if next := eval[string](b, `document.getElementById("said").textContent`); next == first ||
		strings.Split(next, ";")[1] != strings.Split(first, ";")[1] {
		t.Errorf("n goes to %q, want another tag of the cluster of %q", next, first)
	}
	b.keys(kb.Enter)
	for _, want := range []string{"Nearest clusters", "Tags by distance"} {
		if detail := b.text("#detail"); !strings.Contains(detail, want) {
			t.Errorf("the open cluster shows %q, without %q", detail, want)
		}
	}
	b.keys("+", "+", "0", kb.Escape)
	if detail := b.text("#detail"); !strings.Contains(detail, "Most used clusters") {
		t.Errorf("behind Esc the panel shows %q", detail)
	}
	b.run(chromedp.Focus("#search"))
	b.keys("tag 37")
	b.until("one tag is found", `document.getElementById("found").textContent.includes("1 tag, ")`)
	b.keys(kb.Enter)
	b.until("its cluster is open", `document.getElementById("detail").textContent.includes("tag 37")`)
	// Every control can be reached by Tab, and shows that it has the focus.
	reached := map[string]bool{}
	b.open(url + "?again")
	for range 40 {
		b.keys(kb.Tab)
		at := eval[string](b, `document.activeElement.id || document.activeElement.tagName`)
		reached[at] = true
		if outline := eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`); at != "BODY" &&
			at != "HTML" && outline == "none" {
			t.Errorf("%s has the focus and does not show it", at)
		}
	}
	for _, want := range []string{"zoom-in", "zoom-out", "whole", "names", "odd", "map", "search"} {
		if !reached[want] {
			t.Errorf("Tab never reaches %s: %v", want, reached)
		}
	}
	b.clean()
}

// With 5,700 tags the page is drawn in both colour schemes at both widths, and a
// frame of moving and zooming takes what is printed here.
func TestBrowserMapDrawsAsManyTagsAsThereAre(t *testing.T) {
	url := clusterPage(t, plainNames(5700), 150)
	for _, width := range []int{1280, 1920} {
		for _, dark := range []bool{false, true} {
			b := newBrowser(t, width, 1000, dark)
			b.open(url)
			b.shot(fmt.Sprintf("map-%d-dark-%v", width, dark))
			if wide := eval[int](b, "document.documentElement.scrollWidth"); wide > width {
				t.Errorf("at %d px the page is %d px wide", width, wide)
			}
			drawn := eval[int](b, `(() => { const c = document.getElementById("map"), p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
				for (let i = 0; i < p.length; i += 4) if (p[i + 3] > 200) seen.add(p[i] << 16 | p[i + 1] << 8 | p[i + 2]); return seen.size })()`)
			if drawn < 12 {
				t.Errorf("the map has %d colours", drawn)
			}
			if width == 1280 && !dark {
				for what, times := range evaluated(b, chromedp.Evaluate[map[string][]float64](frames, chromedp.EvalAwaitPromise)) {
					slices.Sort(times)
					t.Logf("%s of 5,700 tags: least %.1f ms, median %.1f ms, 95 %% %.1f ms", what, times[0], times[len(times)/2],
						times[len(times)*95/100])
				}
			}
			b.clean()
		}
	}
}

// frames moves and zooms the map and measures the script's share of each frame,
// and the time from one frame to the next.
const frames = `(async () => {
	const map = document.getElementById("map"), script = [], frame = [], raf = window.requestAnimationFrame.bind(window);
	window.requestAnimationFrame = (draw) => raf((at) => { const from = performance.now(); draw(at); script.push(performance.now() - from); });
	map.focus();
	for (let i = 0; i < 60; i++) {
		map.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "+" : "ArrowLeft", shiftKey: i % 2 === 0 }));
		if (i % 20 === 19) map.dispatchEvent(new KeyboardEvent("keydown", { key: "0" }));
		const from = performance.now();
		await new Promise((done) => raf(() => setTimeout(done)));
		frame.push(performance.now() - from);
	}
	return { script, frame };
})()`
