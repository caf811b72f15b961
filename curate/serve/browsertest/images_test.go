//go:build browser

package browsertest

import (
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hgld/internal/atomicfile"
	"hgld/internal/testing/must"
	"hgld/internal/testing/sketch"
	"hgld/labels"

	"github.com/chromedp/cdproto/input"
)

func writePicture(t testing.TB, path string, seed int) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	err := atomicfile.Write(path, func(w io.Writer) error {
		return png.Encode(w, sketch.Picture(seed%len(sketch.Forms), seed, 0, 76))
	})
	must.Do(t, err)
}

// Three images of a landmark fit the panel. They change with the current label, and an image of
// one label is never shown for another.
func TestImagesFitThePanelAndFollowTheLabel(t *testing.T) {
	dir := smallProject(t)
	for landmark := 1; landmark < 400; landmark++ {
		for n := range 3 {
			writePicture(t, filepath.Join(dir, "images", fmt.Sprint(landmark), fmt.Sprintf("%d.png", n)), landmark+n)
		}
	}
	_, b := openPage(t, dir, "--by", "Anna", "--images", "images")
	b.Keys("i")
	const shown = `document.querySelectorAll(".pictures img").length > 3 && [...document.querySelectorAll(".pictures img")].every((e) => e.complete || e.loading === "lazy")`
	b.Until("images", shown)
	if out := eval[[]string](b, `(() => { const edge = document.querySelector("#side section").getBoundingClientRect().right; return [...document.querySelectorAll(".pictures img")].filter((e) => e.getBoundingClientRect().right > edge + 1).map((e) => e.src); })()`); len(out) > 0 {
		t.Errorf("%d pictures reach out of the panel", len(out))
	}
	first := eval[string](b, `document.querySelector(".pictures img").src`)
	b.Exec(`window.firstPicture = document.querySelector(".pictures img")`)
	b.Keys("l")
	b.Until("those of the next label", fmt.Sprintf(`document.querySelector(".pictures img").src !== %q`, first))
	if eval[bool](b, `window.firstPicture.isConnected`) {
		t.Error("the image element of one label was used again for another: it shows the old image " +
			"until the new one is loaded")
	}
	b.Shot("light-pictures")
	// The image under the pointer is shown large, and with a key that of the current label.
	// A picture that is still loading moves those below it away from the pointer, so the pointer follows.
	const isLarge = `document.querySelector(".enlarged:not([hidden]) img")?.complete && document.querySelector(".enlarged").clientWidth >= 200`
	for tries := 0; tries < 100 && !eval[bool](b, `!!(`+isLarge+`)`); tries++ {
		box := b.Box(".pictures img")
		b.Mouse(input.DispatchMouseEventTypeMouseMoved, [2]float64{box[0] + 5 + float64(tries%2), box[1] + 5}, 0)
		time.Sleep(50 * time.Millisecond)
	}
	b.Until("it is large", isLarge)
	if !awaited[bool](b, `new Promise((done) => {
		for (let i = 0; i < 2; i++) document.getElementById("openonly").click(); // the page draws the same again
		requestAnimationFrame(() => requestAnimationFrame(() => done(!document.querySelector(".enlarged").hidden)));
	})`) {
		t.Error("it is gone when the page draws, with the pointer on it")
	}
	b.Mouse(input.DispatchMouseEventTypeMouseMoved, [2]float64{5, 5}, 0)
	b.Until("it is gone", `document.querySelector(".enlarged").hidden`)
	b.Keys("I")
	const large = `document.querySelector(".enlarged:not([hidden]) img")`
	b.Until("that of the current label", large)
	b.Shot("light-enlarged")
	was := eval[string](b, large+".src")
	b.Keys("l")
	b.Until("that of the next label", fmt.Sprintf(`%s && %s.src !== %q`, large, large, was))
	b.Keys("I")
	b.Until("none", `document.querySelector(".enlarged").hidden`)
	b.Keys("i")
	b.Until("no images", `!document.querySelector(".pictures")`)
}

// A row of a group shows a small image of a landmark that carries its label. It never shows an
// image of another label, and it is no higher than a row without images.
func TestRowsShowImagesOfTheirOwnLabels(t *testing.T) {
	dir := smallProject(t)
	f := must.Get(os.Open(filepath.Join(dir, "tags.jsonl")))(t)
	defer f.Close()
	_, records, err := labels.ReadTags(f, f.Name())
	must.Do(t, err)
	tagOf := map[string]string{}
	for _, r := range records {
		tagOf[fmt.Sprintf("%s-%d-0", r.Split, r.Landmark)] = r.Tag
		writePicture(t, filepath.Join(dir, "images", fmt.Sprint(r.Landmark), "0.png"), int(r.Landmark))
	}
	_, b := openPage(t, dir, "--by", "Anna", "--images", "images")
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
		b.Until("an image on each row", rows+`.length > 0 && `+rows+`.every((e) => e.querySelector(".thumbnail img")?.naturalHeight === 52)`)
		right()
		if group == 0 {
			b.Readable("light-1280-thumbnails")
			if high := eval[int](b, rows+`[0].offsetHeight`); high != 28 {
				t.Errorf("a row with an image is %d pixels high, want 28 as without", high)
			}
		}
		b.Exec(`window.lastImage = document.querySelector("#grid .thumbnail img")`)
		b.Keys("j")
		b.Until("another group's rows", `!window.lastImage.isConnected`)
	}
}
