//go:build browser

package browser

import (
	"context"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Keys types into the focused element. Package kb has the special keys.
func (b *Tab) Keys(text ...string) {
	b.TB.Helper()
	b.typeKeys(strings.Join(text, ""))
}

// Ctrl types a letter with the control key.
func (b *Tab) Ctrl(letter string) {
	b.TB.Helper()
	b.typeKeys(letter, kb.ModifierCtrl)
}

// typeKeys types as a keyboard does: a key whose default the page prevents enters no letter.
func (b *Tab) typeKeys(text string, modifiers ...kb.Modifier) {
	b.TB.Helper()
	b.Run(chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		for _, r := range text {
			events := kb.Encode(r)
			for _, e := range events {
				for _, m := range modifiers {
					e.Modifiers |= int64(m)
				}
			}
			if len(events) == 3 { // down, letter, up
				if events[0].Type = kb.KeyDown; len(modifiers) > 0 {
					events[0].Text = ""
				} else {
					events[0].Text = events[1].Text
				}
				events = []*input.DispatchKeyEventParams{events[0], events[2]}
			}
			for _, e := range events {
				if _, err := cdp.Call(ctx, tab, input.DispatchKeyEvent, *e); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// Click clicks the first element that a CSS selector finds.
func (b *Tab) Click(selector string) {
	b.TB.Helper()
	b.Run(chromedp.Click(chromedp.CSS(selector)))
}

// Focus gives the focus to the first element that a CSS selector finds.
func (b *Tab) Focus(selector string) {
	b.TB.Helper()
	b.Run(chromedp.Focus(chromedp.CSS(selector)))
}

// Mouse sends one event of the mouse at a point of the viewport. buttons is 1 while the left
// button is down, and 0 otherwise.
func (b *Tab) Mouse(kind input.DispatchMouseEventType, at [2]float64, buttons int64) {
	b.TB.Helper()
	e := input.DispatchMouseEventParams{Type: kind, X: at[0], Y: at[1], Button: input.MouseButtonLeft, Buttons: buttons,
		ClickCount: 1}
	if _, err := chromedp.Call(b.ctx, input.DispatchMouseEvent, e); err != nil {
		b.TB.Fatal(err)
	}
}

// Box is the left, the top, the width and the height of an element in the viewport.
func (b *Tab) Box(selector string) [4]float64 {
	b.TB.Helper()
	return Eval[[4]float64](b, fmt.Sprintf(
		`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; })()`,
		selector))
}

// Centre is the point in the middle of an element.
func (b *Tab) Centre(selector string) [2]float64 {
	b.TB.Helper()
	box := b.Box(selector)
	return [2]float64{box[0] + box[2]/2, box[1] + box[3]/2}
}
