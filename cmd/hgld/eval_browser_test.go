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
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/browser"
	"hgld/internal/testing/program"
)

// drawnEvaluation writes 48 small images of 12 classes in 3 groups, and two files with vectors of
// them, a.npy and b.npy, with their labels.
func drawnEvaluation(t *testing.T) string {
	t.Helper()
	const n, cols = 48, 6
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "photos"), 0o755); err != nil {
		t.Fatal(err)
	}
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
		f, err := os.Create(filepath.Join(dir, "photos", fmt.Sprintf("%02d.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, picture); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
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
		f, err := os.Create(filepath.Join(dir, name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		if err := tensorfile.WriteNPY(f, tensorfile.NewF32("", []int{n, cols}, values[of])); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".csv"), []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The pages of eval run, eval compare and search violate no rule of axe and no contrast limit of
// WCAG, in both colour schemes, wide and narrow. No page is wider than the window.
func TestBrowserEvaluationPagesAreReadable(t *testing.T) {
	dir := drawnEvaluation(t)
	program.Run(t, dir, "eval", "run", "--embeddings", "a.npy", "--report", "eval.html", "--images", "photos")
	program.Run(t, dir, "eval", "export", "--embeddings", "a.npy", "left")
	program.Run(t, dir, "eval", "export", "--embeddings", "b.npy", "right")
	program.Run(t, dir, "eval", "compare", "--report", "compare.html", "--images", "photos", "left.json", "right.json")
	program.Run(t, dir, "search", "--index", "a.npy", "--id", "07.png", "--report", "search.html", "--images", "photos")
	for _, page := range []string{"eval", "compare", "search"} {
		for _, width := range []int{1280, 390} {
			for _, dark := range []bool{false, true} {
				name := fmt.Sprintf("evaluation-%s-%d-dark-%v", page, width, dark)
				b := browser.New(t, width, 1000, dark)
				b.Run(chromedp.Navigate("file://" + filepath.Join(dir, page+".html")))
				b.Until("the page is there", `document.readyState === "complete" && document.querySelector("table")`)
				if width > 1000 {
					b.Readable(name)
				} else { // tables scroll in their own boxes, so that the audit would call headings cut off
					b.Accessible(name)
					b.Shot(name)
				}
				b.Exec(`scrollTo(0, document.body.scrollHeight)`)
				b.Shot(name + "-end")
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
		if text, err := os.ReadFile(filepath.Join(dir, page+".html")); err != nil || !strings.Contains(string(text), "<img") {
			t.Errorf("%s has no pictures: %v", page, err)
		}
	}
}
