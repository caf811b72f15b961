//go:build browser

package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"hgld/internal/testing/browser"
)

// page is a tab that shows the curation page.
type page struct{ *browser.Tab }

func newPage(t testing.TB, width, height int, dark bool) *page {
	t.Helper()
	return &page{browser.New(t, width, height, dark)}
}

// openPage starts a server in a folder, by Anna if there are no arguments. It opens the page in a
// light window of 1280 by 800 pixels and closes the welcome.
func openPage(t testing.TB, dir string, args ...string) (*server, *page) {
	t.Helper()
	if len(args) == 0 {
		args = []string{"--by", "Anna"}
	}
	s := startServer(t, dir, args...)
	b := newPage(t, 1280, 800, false)
	b.Open(s.url)
	b.Keys(kb.Escape)
	return s, b
}

// anotherTab opens the page in another tab of the browser, by the next link.
func (b *page) anotherTab(s *server) *page {
	b.TB.Helper()
	other := &page{b.NewTab()}
	other.Open(s.nextLink())
	other.Keys(kb.Escape)
	return other
}

func eval[T any](b *page, expression string) T {
	b.TB.Helper()
	return browser.Eval[T](b.Tab, expression)
}

// awaited evaluates JavaScript whose value is a promise, and returns what it promises.
func awaited[T any](b *page, expression string) T {
	b.TB.Helper()
	return browser.Evaluated(b.Tab, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

const headingShown = `document.querySelector("#head h2 .name").textContent`

// heading is the name of the open group or screen.
func (b *page) heading() string {
	b.TB.Helper()
	return eval[string](b, headingShown)
}

// screen opens a screen by its button, which may be in the menu.
func (b *page) screen(name string) {
	b.TB.Helper()
	if eval[bool](b, fmt.Sprintf(`!!document.querySelector('.menu [data-view=%q]')`, name)) {
		b.Click(`[data-menu="More"]`)
	}
	b.Click(`[data-view="` + name + `"]`)
}

// rows are the groups of the tree, from the top.
func (b *page) rows() []string {
	b.TB.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("#tree .row")].map(e => e.title)`)
}

// at waits until a group or a screen is open.
func (b *page) at(what, group string) {
	b.TB.Helper()
	b.Until(fmt.Sprintf("%s: %q is open", what, group), fmt.Sprintf(`%s === %q`, headingShown, group))
}

// says waits until the page's message contains a text.
func (b *page) says(text string) {
	b.TB.Helper()
	b.Until(fmt.Sprintf("it says %q", text),
		fmt.Sprintf(`document.getElementById("toast").classList.contains("on") && document.getElementById("toast").innerText.includes(%q)`, text))
}

// alarms waits until the page's alarm contains a text.
func (b *page) alarms(text string) {
	b.TB.Helper()
	b.Until(fmt.Sprintf("the alarm says %q", text),
		fmt.Sprintf(`(e => !e.hidden && e.textContent.includes(%q))(document.getElementById("alarm"))`, text))
}

// calm waits until the page shows no alarm.
func (b *page) calm() {
	b.TB.Helper()
	b.Until("there is no alarm", `document.getElementById("alarm").hidden`)
}

// card is the label at the keyboard's cursor.
func (b *page) card() string {
	b.TB.Helper()
	return eval[string](b, `(document.querySelector("#grid .cell.at")||{title:""}).title`)
}

// cards are the labels on the screen, in order.
func (b *page) cards() []string {
	b.TB.Helper()
	return eval[[]string](b, `[...document.querySelectorAll("#grid .card")].map(e => e.title)`)
}

// take types a name in the open dialog and takes it.
func (b *page) take(name string) {
	b.TB.Helper()
	b.Until("a dialog", `document.querySelector("dialog[open] input")`)
	b.Ctrl("a")
	b.Keys(name, kb.Enter)
	b.Until("the dialog is closed", `!document.querySelector("dialog[open]")`)
}

// moveTo moves the marked labels, or the current one, to a group.
func (b *page) moveTo(group string) {
	b.TB.Helper()
	b.Keys("m")
	b.take(group)
}

// findAll opens Find, types a text, and has the decided labels shown below the open ones. The key
// changes the check box: its place moves when the labels are counted, and a click may miss it.
func (b *page) findAll(text string) {
	b.TB.Helper()
	b.Keys("/", text)
	b.Until("counted", `/^\d+ open/.test(document.getElementById("counted").textContent)`)
	b.Focus("#openonly")
	b.Keys(" ")
	b.Until("decided ones too", `!document.getElementById("openonly").checked`)
	b.Focus("#query")
}

// saved waits until the page says that edit n is on disk.
func (b *page) saved(n int) {
	b.TB.Helper()
	b.status(fmt.Sprintf("saved #%d", n))
}

// unsaved waits until the page says that n edits are not on disk.
func (b *page) unsaved(n int) {
	b.TB.Helper()
	b.status(fmt.Sprintf("NOT SAVED: %d edit%s", n, map[bool]string{true: "s"}[n > 1]))
}

// status waits until the page says a text about what is saved.
func (b *page) status(text string) {
	b.TB.Helper()
	b.Until(text, fmt.Sprintf(`document.getElementById("saved").textContent === %q`, text))
}

// openHere opens a link in a tab that shows the page. The page is not loaded again.
func (b *page) openHere(url string) {
	b.TB.Helper()
	b.Exec(fmt.Sprintf("location.href = %q", url))
}
