//go:build browser

package browsertest

import (
	"fmt"
	"testing"
)

// press sends a key of which a keyboard says more than its letter, given as fields of a KeyboardEvent,
// to the focused element.
func (b *page) press(fields string) {
	b.TB.Helper()
	b.Exec(fmt.Sprintf(
		`(document.activeElement || document.body).dispatchEvent(new KeyboardEvent("keydown", {bubbles: true, cancelable: true, %s})); 0`,
		fields))
}

// A key that is held down moves the cursor and edits nothing. Letters have their meaning on other
// layouts, with Caps Lock, and with the command key of a Mac.
func TestKeysOfOtherLayoutsAndHeldKeys(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	group := b.heading()
	for _, key := range []string{"a", "A", "b", "x", "m", "u", "1", " "} {
		b.press(fmt.Sprintf(`key: %q, repeat: true`, key))
	}
	b.Exec(`document.querySelector('[data-command="Accept"]').focus(); 0`)
	if taken := eval[bool](b, `!document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {bubbles: true, cancelable: true, key: "Enter", repeat: true}))`); !taken {
		t.Error("a button that has the focus is pressed again while Enter is held")
	}
	b.Focus("#grid")
	first := b.card()
	b.press(`key: "l", repeat: true`)
	if b.card() == first || b.heading() != group || eval[bool](b, `!!document.querySelector("dialog[open], .marks")`) {
		t.Errorf("after held keys the page shows %q of %q", b.card(), b.heading())
	}
	b.saved(0)
	for n, fields := range []string{
		`key: "ф", code: "KeyA"`,                                // a on a Russian keyboard
		`key: "A", code: "KeyA", modifierCapsLock: true`,        // accepts the group, not its core
		`key: "z", code: "KeyZ", metaKey: true`,                 // undo on a Mac
		`key: "Z", code: "KeyZ", metaKey: true, shiftKey: true`, // and redo
	} {
		b.press(fields)
		b.saved(n + 1)
	}
	b.press(`key: "a", metaKey: true`)
	b.marked("selected")
	s.stop()
	edits := s.edits()
	if edits[0].Op != "accept" || edits[1].Op != "accept" || edits[2].Of != 2 || edits[3].Of != 3 {
		t.Errorf("the log has %v", edits)
	}
}

// Enter that ends a composition takes no dialog.
func TestEnterOfAnInputMethodIsNotTheDialogs(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	for _, key := range []string{"m", "n"} {
		b.Keys(key)
		b.Until("a dialog", `document.querySelector("dialog[open] input")`)
		b.Exec(`document.activeElement.value = "きょうかい"; document.activeElement.dispatchEvent(new Event("input")); 0`)
		b.press(`key: "Enter", isComposing: true`)
		b.press(`key: "Enter", repeat: true`)
		if !eval[bool](b, `!!document.querySelector("dialog[open]")`) {
			t.Errorf("the dialog of %s is taken by the Enter that ends a composition", key)
		}
		b.Exec(`document.querySelector("dialog[open]").close(); 0`) // the last one may still be there, closed
		b.Until("closed", `!document.querySelector("dialog[open]")`)
	}
	b.saved(0)
	s.stop()
}
