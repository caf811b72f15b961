//go:build browser

package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/curate"
)

// dragAround draws a lasso around most of the map.
func dragAround(ctx context.Context, tab *chromedp.Target) error {
	box, err := chromedp.Evaluate[[]float64](`(() => { const r = document.querySelector("canvas").getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()`)(ctx, tab)
	if err != nil {
		return err
	}
	corners := [][2]float64{{0.02, 0.02}, {0.98, 0.02}, {0.98, 0.98}, {0.5, 0.98}, {0.02, 0.98}, {0.02, 0.05}}
	for i, c := range corners {
		kind := input.DispatchMouseEventTypeMouseMoved
		switch i {
		case 0:
			kind = input.DispatchMouseEventTypeMousePressed
		case len(corners) - 1:
			kind = input.DispatchMouseEventTypeMouseReleased
		}
		e := input.DispatchMouseEventParams{Type: kind, X: box[0] + c[0]*box[2], Y: box[1] + c[1]*box[3],
			Button: input.MouseButtonLeft, ClickCount: 1}
		if _, err := cdp.Call(ctx, tab, input.DispatchMouseEvent, e); err != nil {
			return err
		}
	}
	return nil
}

// freePort finds a port that a server can be started on again.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

func TestBrowserLosesNothingWhenReloadedDoubledAndLeftAlone(t *testing.T) {
	dir := smallProject(t)
	s := serveIn(t, dir, "--port", freePort(t), "--by", "Anna")
	b := newBrowser(t, 1280, 800, false)
	b.open(s.url)
	b.keys(kb.Escape)
	b.keys("l", "m")
	b.take("one")
	b.saved(1)

	// Reloading and going back.
	b.keys("j")
	second := b.text("#head h2 .name")
	b.run(chromedp.Reload())
	b.until("reloaded where it was", fmt.Sprintf(`document.body.dataset.ready === "yes" && document.querySelector("#head h2 .name").innerText === %q`, second))
	b.saved(1)
	b.keys("k")
	first := b.text("#head h2 .name")
	b.keys("j")
	b.run(chromedp.Evaluate[chromedp.Void](`history.back()`))
	b.until("back", fmt.Sprintf(`document.querySelector("#head h2 .name").innerText === %q`, first))

	// Two tabs: what one does, the other shows; an edit made on an older state is
	// done if it touches nothing that changed.
	other := b.tab()
	other.open(s.next())
	other.keys("m")
	other.take("two")
	other.saved(2)
	b.until("the first tab knows", `[...document.querySelectorAll("#tree .row .name")].some(e => e.textContent === "two")`)
	b.keys("j", "m")
	b.take("three")
	b.saved(3)

	// An address that was damaged on its way is no reason to fail.
	other.run(chromedp.Evaluate[chromedp.Void](`location.hash = "#group/%"`))
	other.until("a group is open", `document.querySelector("#head h2 .name").textContent !== ""`)

	// The server is gone: loudly, and nothing is lost.
	s.kill()
	b.until("the alarm", `!document.getElementById("alarm").hidden && document.getElementById("alarm").textContent.includes("server is gone")`)
	b.keys("m")
	b.take("four")
	b.keys("m")
	b.take("five")
	b.until("two wait", `document.getElementById("saved").textContent === "NOT SAVED: 2 edits"`)
	b.shot("light-lost")
	s.start()
	b.until("the server has ended, and its page knows",
		`document.getElementById("alarm").textContent.includes("has ended. 2 edits are not saved yet")`)
	b.openHere(s.url)
	b.saved(5)
	b.until("calm again", `document.getElementById("alarm").hidden`)
	b.clean()
	other.clean()
	s.stop()
	c, err := curate.ReadLog(filepath.Join(dir, "edits.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var to []string
	for _, e := range c.Edits {
		to = append(to, e.To)
	}
	if fmt.Sprint(to) != "[one two three four five]" {
		t.Errorf("the log has %v", to)
	}
}
