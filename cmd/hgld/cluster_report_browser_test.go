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

	"hgld/internal/testing/browser"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
	"hgld/internal/testing/program"
	"hgld/internal/testing/tagdata"
)

// clusterPage makes the page of `hgld cluster show --report` for tags with these names and returns its
// address.
func clusterPage(t *testing.T, names []string, k int) string {
	t.Helper()
	dir := t.TempDir()
	tagdata.Write(t, filepath.Join(dir, "tags.jsonl"), names)
	program.Run(t, dir, "cluster", "run", "--k", strconv.Itoa(k), "--n-init", "1",
		"-o", "max_iter=5", "--quiet")
	program.Run(t, dir, "cluster", "show", "--report", "clusters.html", "--map", "pca", "--quiet")
	return "file://" + filepath.Join(dir, "clusters.html")
}

func plainNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("tag %d", i))
	}
	return names
}

// Every name passes through the tooltip, the lists, the open cluster and the search, and none
// runs: there is no dialog, no error and no violation of the content policy. As markup the same
// names do run, so the test would notice it.
func TestBrowserClusterMapNeverRunsTags(t *testing.T) {
	var names []string
	goldens.ReadJSON(t, filepath.Join(goldens.Root(), "cluster", "report", "testdata", "attacks.json"), &names)
	b := browser.New(t, 1280, 900, false)
	b.Open(clusterPage(t, names, 12))
	for id := range 12 {
		b.Exec(fmt.Sprintf(`location.hash = "#cluster-%d"`, id))
		b.Until("the cluster is open", `document.querySelectorAll("#detail [data-tag]").length > 0`)
		b.Focus("#map")
		b.Keys(kb.ArrowRight, "n", "p", kb.ArrowUp)
	}
	for _, name := range names {
		text := must.Get(json.Marshal(name))(t)
		b.Exec(fmt.Sprintf(`{ const s = document.getElementById("search"); s.value = %s; s.dispatchEvent(new Event("input")); }`, text))
		b.Until("the tag is found", `document.querySelectorAll("#found [data-tag]").length > 0`)
		b.Exec(`document.getElementById("found").replaceChildren()`)
	}

	naive := filepath.Join(t.TempDir(), "naive.html")
	text := "<!DOCTYPE html><body data-ready=yes><script>window.ran = 0; function hgldRan() { window.ran++; }</script>\n" +
		strings.Join(names[10:20], "\n")
	must.Do(t, os.WriteFile(naive, []byte(text), 0o644))
	b.IgnoreTrouble()
	b.Open("file://" + naive)
	b.Until("names run as markup", "window.ran > 0")
}

func TestBrowserClusterMapIsReadByKeyboard(t *testing.T) {
	b := browser.New(t, 1280, 900, false)
	url := clusterPage(t, plainNames(60), 6)
	b.Open(url)
	b.Focus("#map")
	b.Keys(kb.ArrowRight)
	first := browser.Eval[string](b, `document.getElementById("said").textContent`)
	for _, want := range []string{"tag ", "; cluster ", "; distance 0.", " landmark"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first tag is announced as %q, without %q", first, want)
		}
	}
	name, _, _ := strings.Cut(first, ";")
	if tip := b.Text("#tip"); !strings.HasPrefix(tip, name) {
		t.Errorf("the tooltip says %q, the announcement %q", tip, first)
	}
	b.Keys("n")
	if next := browser.Eval[string](b, `document.getElementById("said").textContent`); next == first ||
		strings.Split(next, ";")[1] != strings.Split(first, ";")[1] {
		t.Errorf("n goes to %q, want another tag of the cluster of %q", next, first)
	}
	b.Keys(kb.Enter)
	for _, want := range []string{"Nearest clusters", "Tags by distance"} {
		if detail := b.Text("#detail"); !strings.Contains(detail, want) {
			t.Errorf("the open cluster shows %q, without %q", detail, want)
		}
	}
	b.Keys("+", "+", "0", kb.Escape)
	if detail := b.Text("#detail"); !strings.Contains(detail, "Most used clusters") {
		t.Errorf("after Esc the panel shows %q", detail)
	}
	b.Focus("#search")
	b.Keys("tag 37")
	b.Until("one tag is found", `document.getElementById("found").textContent.includes("1 tag, ")`)
	b.Keys(kb.Enter)
	b.Until("its cluster is open", `document.getElementById("detail").textContent.includes("tag 37")`)
	// Every control can be reached by Tab, and shows that it has the focus.
	reached := map[string]bool{}
	b.Open(url + "?again")
	for range 40 {
		b.Keys(kb.Tab)
		at := browser.Eval[string](b, `document.activeElement.id || document.activeElement.tagName`)
		reached[at] = true
		if outline := browser.Eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`); at != "BODY" &&
			at != "HTML" && outline == "none" {
			t.Errorf("%s has the focus and does not show it", at)
		}
	}
	for _, want := range []string{"zoom-in", "zoom-out", "whole", "names", "odd", "map", "search"} {
		if !reached[want] {
			t.Errorf("Tab never reaches %s: %v", want, reached)
		}
	}
}

// The page draws 5,700 tags in both colour schemes at both widths. The test logs the times of
// frames while the map moves and zooms.
func TestBrowserClusterMapDraws5700Tags(t *testing.T) {
	url := clusterPage(t, plainNames(5700), 150)
	for _, width := range []int{1280, 1920} {
		for _, dark := range []bool{false, true} {
			b := browser.New(t, width, 1000, dark)
			b.Open(url)
			b.Until("the map is drawn", `(c => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some(v => v))(document.getElementById("map"))`)
			b.Shot(fmt.Sprintf("map-%d-dark-%v", width, dark))
			if wide := browser.Eval[int](b, "document.documentElement.scrollWidth"); wide > width {
				t.Errorf("at %d px the page is %d px wide", width, wide)
			}
			drawn := browser.Eval[int](b, `(() => { const c = document.getElementById("map"), p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
				for (let i = 0; i < p.length; i += 4) if (p[i + 3] > 200) seen.add(p[i] << 16 | p[i + 1] << 8 | p[i + 2]); return seen.size })()`)
			if drawn < 12 {
				t.Errorf("the map has %d colours", drawn)
			}
			if width == 1280 && !dark {
				measured := chromedp.Evaluate[map[string][]float64](frames, chromedp.EvalAwaitPromise)
				for what, times := range browser.Evaluated(b, measured) {
					slices.Sort(times)
					t.Logf("%s of 5,700 tags: least %.1f ms, median %.1f ms, 95 %% %.1f ms", what, times[0], times[len(times)/2],
						times[len(times)*95/100])
				}
			}
		}
	}
}

// frames moves and zooms the map. It measures the script's share of each frame and the time from
// one frame to the next.
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
