//go:build browser

package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// Marks, the cursor and the text of an open dialog survive a reload. One key lists the marked
// labels.
func TestReloadRestoresMarksCursorAndDialog(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	b.Keys(" ", "j", "l", " ", "l")
	group, label := b.heading(), b.card()
	b.Focus("#tree")
	b.Keys(" ")
	b.Focus("#grid")
	if same := eval[bool](b, `(() => { const ground = e => getComputedStyle(e).backgroundColor, row = document.querySelector("#tree .row.current"); return row.classList.contains("marked") && ground(row) === ground(document.querySelector("#grid .card.marked")); })()`); !same {
		t.Error("the row of the tree that is current and marked does not look marked")
	}
	b.Keys("m")
	b.Until("a dialog", `document.querySelector("dialog[open] input")`)
	b.Ctrl("a")
	b.Keys("half typ")
	b.Reload()
	b.Until("the dialog is back", `document.querySelector("dialog[open] input").value === "half typ"`)
	b.Keys("ed", kb.ArrowDown)
	b.Exec(`document.querySelector("dialog[open]").close()`)
	b.at("after the reload", group)
	if now := b.card(); now != label {
		t.Errorf("the keyboard was on %q and is on %q", label, now)
	}
	b.Until("the marks are back", `document.querySelector(".marks").textContent.includes("2 tags selected") && document.querySelectorAll("#tree .marked").length === 1`)
	b.Keys("M")
	b.Until("the list of marks", headingShown+` === "Selected" && document.querySelectorAll("#grid .card.marked").length === 2`)
	b.Shot("light-marked")
	b.Keys(" ")
	b.Until("one is taken out", `document.querySelectorAll("#grid .card").length === 1`)
}

// Names that were typed for the parts of a division survive a reload.
func TestReloadRestoresTheNamesOfADivision(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	b.Keys("s")
	b.Until("the parts", `document.querySelectorAll("dialog .part input").length === 2`)
	b.Focus("dialog .part input")
	b.Ctrl("a")
	b.Keys("the first half")
	b.Reload()
	b.Until("the name is back", `document.querySelector("dialog .part input").value === "the first half"`)
	b.Focus("dialog .part input")
	b.Keys(kb.Enter)
	b.saved(1)
	b.at("divided", "the first half")
}

// The address of a group that was renamed or merged leads to its successor. For a group that never
// existed, the page says so.
func TestAddressOfARenamedGroupLeadsToItsSuccessor(t *testing.T) {
	_, b := openPage(t, smallProject(t))
	order := b.rows()
	b.Keys("r")
	b.take("new name")
	b.saved(1)
	b.Reload()
	b.at("the address has the new name", "new name")
	b.Keys("j", "g")
	b.take("new name")
	b.saved(2)
	for i, address := range []string{order[0], order[1]} {
		b.Keys("j")
		b.Exec(fmt.Sprintf(`location.hash = "#group/" + encodeURIComponent(%q)`, address))
		b.at("an old address", "new name")
		b.says(fmt.Sprintf("“%s” has become “new name”.", order[i]))
	}
	b.Exec(`location.hash = "#group/never"`)
	b.says("No group is called “never”, and none was.")
}
