//go:build browser

package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"hgld/curate"

	"github.com/chromedp/chromedp/kb"
)

// After an edit of a group, the group stays in view and j continues with the group after it.
func TestEditsOfAGroupKeepTheOrderOfTheWalk(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	order := b.rows()
	b.Keys("p")
	b.take("natural")
	b.saved(1)
	b.at("after a kind", order[0])
	b.Keys("j")
	b.at("j after a kind", order[1])
	b.Keys("r")
	b.take("renamed")
	b.saved(2)
	b.at("after renaming", "renamed")
	b.Keys("j")
	b.at("j after renaming", order[2])
	b.Keys("k")
	b.at("k after renaming", "renamed")

	// The first part of a division takes the place of the group, and the others follow it.
	b.Keys("s")
	b.Until("two parts", `document.querySelectorAll("dialog .part input").length === 2`)
	parts := eval[[]string](b, `[...document.querySelectorAll("dialog .part input")].map(e => e.value)`)
	b.Keys(kb.Enter)
	b.saved(3)
	b.at("after dividing", parts[0])
	b.Keys("j")
	b.at("j after dividing", parts[1])
	b.Keys("j")
	b.at("j after the parts", order[2])

	// After a merge the target is shown, and j continues from the place of the merged group.
	b.Keys("g")
	b.take(parts[0])
	b.saved(4)
	b.at("after merging", parts[0])
	b.Keys("j")
	b.at("j after merging", order[3])
}

// Accepting and walking continue at the top, as long as labels are open there.
func TestWalkWrapsAroundToOpenGroups(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	order := b.rows()
	b.Keys("a")
	b.saved(1)
	for range len(order) - 2 {
		b.Keys("j")
	}
	b.at("the last", order[len(order)-1])
	b.Keys("j") // beyond the last: the first group is decided, the second is open
	b.at("j beyond the last", order[1])
	b.Keys("k", "k") // the first, and the last that is open
	b.at("k beyond the first", order[len(order)-1])
	b.Keys("a")
	b.saved(2)
	b.at("a beyond the last", order[1])
	for k := range len(order) - 2 {
		b.at("the next open one", order[1+k])
		b.Keys("a")
		b.saved(3 + k)
	}
	b.Keys("a")
	b.says("Everything is decided.")
	b.Keys(strings.Repeat("j", len(order)))
	b.says("everything is decided")
}

// A key that is pressed before the browser's close event of a dialog acts on the group that the
// dialog leads to, and not on the one before.
func TestKeyAfterADialogActsOnItsResult(t *testing.T) {
	s, b := openPage(t, smallProject(t))
	to := b.rows()[3]
	b.Ctrl("k")
	b.Until("a dialog", `document.querySelector("dialog[open] input")`)
	b.Keys(to)
	// No task runs between the two keys, so neither does the event of the closed dialog.
	b.Exec(`(async () => {
		const press = (on, key) => on.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
		press(document.querySelector("dialog[open] input"), "Enter");
		for (let n = 0; n < 20; n++) await null;
		press(document.getElementById("grid"), "a");
	})()`)
	b.saved(1)
	if e := s.lastEdit(); e.Op != curate.Accept || e.To != to {
		t.Errorf("the key made %s into %q, want %s into %q", e.Op, e.To, curate.Accept, to)
	}
}

// Find counts the open and the decided labels. A decided label shows its group, and Enter goes
// there.
func TestFindLeadsToDecidedLabels(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	label := b.card()
	b.moveTo("elsewhere")
	b.saved(1)
	b.Keys("j", "x")
	dropped := b.card()
	b.take("too generic")
	b.saved(2)
	b.findAll(label)
	b.Until("counted", `/^\d+ open, 1 decided$/.test(document.getElementById("counted").textContent)`)
	b.Until("below a break", `document.querySelector("#grid .break").textContent === "decided · 1"`)
	b.Shot("light-find-decided")
	b.Keys(kb.Enter, kb.End)
	b.Until("it says where", `document.querySelector("#grid .cell.at .facts").textContent.endsWith("in elsewhere")`)
	b.Keys(kb.Enter)
	b.at("where it went", "elsewhere")
	if now := b.card(); now != label {
		t.Errorf("the keyboard is on %q, want %q", now, label)
	}
	b.Keys("/")
	b.Ctrl("a")
	b.Keys(dropped, kb.Enter, kb.End)
	b.Until("it stands there", `document.querySelector("#side dl").textContent.includes("dropped")`)
	b.Click("#side .link")
	b.at("what was dropped", "Dropped")
}

// The palette goes to a group or a label, or runs a command, by its name.
func TestPaletteGoesToGroupsLabelsAndCommands(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	order := b.rows()
	to := func(name string) {
		b.Ctrl("k")
		b.take(name)
	}
	to(order[3])
	b.at("a group", order[3])
	to("volcano")
	if now := b.card(); now != "volcano mountain" {
		t.Errorf("the keyboard is on %q, want the label that was named", now)
	}
	b.Ctrl("k")
	b.Until("the palette", `document.querySelector("dialog[open] input")`)
	b.Keys("museum")
	b.Until("labels say where they are",
		`[...document.querySelectorAll(".choice .soft")].some(e => e.textContent.startsWith("tag · open, in "))`)
	b.Shot("light-palette")
	b.Keys(kb.Escape)
	b.Ctrl("k")
	b.Keys("rename")
	b.Until("the palette has it", `document.querySelector(".choice.at .name").textContent === "Rename"`)
	b.Keys(kb.Enter)
	b.Until("the command's dialog", `document.querySelector("dialog[open]").getAttribute("aria-label").startsWith("Rename “")`)
	b.Keys(kb.Escape)
}

// The page says what a move, a merge or an undo did and to which labels, and o goes there.
func TestMessageOfAnEditLeadsToItsObject(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	order := b.rows()
	label := b.card()
	b.Keys(" ", "l", " ")
	b.moveTo("new group")
	b.saved(1)
	b.says(fmt.Sprintf("Moved “%s” and 1 more to “new group”.", label))
	b.Shot("light-told")
	b.Keys("o")
	b.at("o after a move", "new group")
	if now := b.card(); now != label {
		t.Errorf("o leads to %q, want %q", now, label)
	}
	b.Keys("u")
	b.saved(2)
	b.says(fmt.Sprintf("Took back the move of “%s” and 1 more (new group).", label))
	b.Keys("o")
	b.at("o after an undo", order[0])
	b.Ctrl("y")
	b.saved(3)
	b.says(fmt.Sprintf("Done again: Moved “%s” and 1 more to “new group”.", label))
	b.Keys("j", "g")
	merged := b.heading()
	b.take("new group")
	b.saved(4)
	b.says(fmt.Sprintf("Merged “%s” into “new group”.", merged))
	b.at("what it was merged into is in view", "new group")
	b.Keys("j", "x")
	b.take("too generic")
	b.saved(5)
	b.says("too generic")
	b.Click("#toast button")
	b.at("the button after a drop", "Dropped")
}
